// Admin keys, and the role of each.

import { get, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, h, secret, show, tableCard, toast } from "./admin-dom.js";
import { dateTime } from "./admin-words.js";

const ROLES = [
  ["viewer", "Viewer: sees everything, changes nothing"],
  ["operator", "Operator: runs queues and acts on people"],
  ["admin", "Admin: also creates queues, keys and webhooks"],
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
      tableCard(
        "Keys",
        ["Name", "Role", "ID", "Created", ""],
        keys.map((key) => [
          h("span", {}, key.name || "–", key.id === page.staff.id ? " (yours)" : ""),
          badge({ label: key.role, tone: key.role === "admin" ? "warn" : key.role === "operator" ? "info" : "" }),
          h("code", {}, key.id),
          dateTime(key.created_at),
          h(
            "button",
            { type: "button", class: "button small quiet bad", "data-key": key.id, onclick: () => take(key) },
            "Revoke",
          ),
        ]),
        "There are no keys.",
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
    "Create",
    async (values) => {
      const created = await post("/keys", values);
      secret(
        `Key for ${created.name || created.id}`,
        created.key,
        "Pass it on safely. It is shown only once; the server keeps only a hash of it.",
      );
      load();
    },
  );
}

async function take(key) {
  const own = key.id === page.staff.id ? " You are signed in with this key, so you will be signed out." : "";
  if (
    !(await confirm(
      `Revoke the key of ${key.name || key.id}?`,
      `It stops working at once, and everyone signed in with it is signed out.${own}`,
      "Revoke",
    ))
  )
    return;
  try {
    await remove(`/keys/${encodeURIComponent(key.id)}`);
    toast("Revoked.");
    load();
  } catch (error) {
    toast(error.message, "bad");
  }
}
