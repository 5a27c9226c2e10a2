// Admin keys, and the role of each.

import { get, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, h, redraw, secret, show, tableCard, toast } from "./admin-dom.js";
import { t } from "./admin-text.js";
import { dateTime } from "./admin-words.js";

const ROLES = [
  ["viewer", t("viewer_about")],
  ["operator", t("operator_about")],
  ["admin", t("admin_about")],
];
const content = show("content");

export function start() {
  show("tools").append(
    h("button", { type: "button", class: "button", "data-do": "create-key", onclick: create }, t("new_key")),
  );
  load();
}

async function load() {
  try {
    const { keys } = await get("/keys");
    redraw(
      content,
      tableCard(
        t("page_keys"),
        [t("form_name"), t("role"), t("id"), t("created_at"), ""],
        keys.map((key) => [
          h("span", {}, key.name || "–", key.id === page.staff.id ? ` (${t("your_key")})` : ""),
          badge({
            label: t(`role_${key.role}`),
            tone: key.role === "admin" ? "warn" : key.role === "operator" ? "info" : "",
          }),
          h("code", {}, key.id),
          dateTime(key.created_at),
          h(
            "button",
            { type: "button", class: "button small quiet bad", "data-key": key.id, onclick: () => take(key) },
            t("revoke"),
          ),
        ]),
        t("no_keys"),
      ),
    );
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

function create() {
  ask(
    t("new_key"),
    [
      { name: "name", label: t("key_for"), longest: 100, required: true },
      { name: "role", label: t("role"), choices: ROLES, value: "viewer" },
    ],
    t("create"),
    async (values) => {
      const created = await post("/keys", values);
      secret(t("key_of", { who: created.name || created.id }), created.key, t("key_once"));
      load();
    },
  );
}

async function take(key) {
  const own = key.id === page.staff.id ? ` ${t("own_key")}` : "";
  if (!(await confirm(t("revoke_key_ask", { who: key.name || key.id }), `${t("revoke_key_text")}${own}`, t("revoke"))))
    return;
  try {
    await remove(`/keys/${encodeURIComponent(key.id)}`);
    toast(t("revoked"));
    load();
  } catch (error) {
    toast(error.message, "bad");
  }
}
