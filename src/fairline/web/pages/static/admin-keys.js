// Admin keys: who may do what.

import { get, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, h, secret, show, table, toast } from "./admin-dom.js";
import { dateTime } from "./admin-words.js";

const ROLES = [
  ["viewer", "Viewer: sees everything, changes nothing"],
  ["operator", "Operator: runs queues and acts on people"],
  ["admin", "Admin: also makes queues, keys and webhooks"],
];
const content = show("content");

export function start() {
  show("tools").append(
    h("button", { type: "button", class: "button", "data-do": "create-key", onclick: create }, "New key"),
  );
  load();
}

async function load() {
  try {
    const { keys } = await get("/keys");
    content.replaceChildren(
      h(
        "section",
        { class: "card", "aria-label": "Keys" },
        table(
          "Keys",
          ["Name", "Role", "Id", "Made", ""],
          keys.map((key) => [
            h("span", {}, key.name || "–", key.id === page.staff.id ? " (yours)" : ""),
            badge({ label: key.role, tone: key.role === "admin" ? "warn" : key.role === "operator" ? "info" : "" }),
            h("code", {}, key.id),
            dateTime(key.created_at),
            h(
              "button",
              { type: "button", class: "button small quiet bad", "data-key": key.id, onclick: () => take(key) },
              "Take away",
            ),
          ]),
          "There are no keys.",
        ),
      ),
    );
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

function create() {
  ask(
    "New key",
    [
      { name: "name", label: "Who or what it is for", longest: 100, required: true },
      { name: "role", label: "Role", choices: ROLES, value: "viewer" },
    ],
    "Make it",
    async (values) => {
      const made = await post("/keys", values);
      secret(
        `The key of ${made.name || made.id}`,
        made.key,
        "Hand it over safely. It is shown this once, and kept only as a digest.",
      );
      load();
    },
  );
}

async function take(key) {
  const own = key.id === page.staff.id ? " It is the one you are signed in with: you will be signed out." : "";
  if (
    !(await confirm(
      `Take away the key of ${key.name || key.id}?`,
      `It is refused from the next call on, and everyone who signed in with it is signed out.${own}`,
      "Take away",
    ))
  )
    return;
  try {
    await remove(`/keys/${encodeURIComponent(key.id)}`);
    toast("Taken away.");
    load();
  } catch (error) {
    toast(error.message, "bad");
  }
}
