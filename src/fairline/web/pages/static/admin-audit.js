// The audit log: what was done, and with which admin key.

import { get } from "./admin-api.js";
import { h, redraw, show, tableCard } from "./admin-dom.js";
import { known, number, t } from "./admin-text.js";
import { dateTime, value } from "./admin-words.js";

const content = show("content");
const found = [];
let only = "";

export async function start() {
  const input = h("input", {
    type: "search",
    placeholder: t("key_queues"),
    "aria-label": t("filter_by_queue"),
    onchange: () => {
      only = input.value.trim();
      found.length = 0;
      load();
    },
  });
  show("tools").append(input);
  load();
}

async function load(before) {
  try {
    const query = new URLSearchParams({ limit: "50", ...(only && { queue: only }), ...(before && { before }) });
    const { entries, cursor } = await get(`/audit?${query}`);
    found.push(...entries);
    redraw(
      content,
      tableCard(
        t("audit_log"),
        [t("when"), t("who"), t("what"), t("where"), t("details")],
        found.map((entry) => [
          dateTime(entry.at),
          h(
            "span",
            { title: entry.key.id },
            `${entry.key.name || entry.key.id} `,
            h("span", { class: "role" }, t(`role_${entry.key.role}`)),
          ),
          words(entry.action),
          where(entry),
          detail(entry.detail),
        ]),
        t("no_entries"),
        cursor
          ? h("button", { type: "button", class: "button quiet", onclick: () => load(cursor) }, t("show_more"))
          : "",
      ),
    );
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

/** What was done. Its name in the log has a dot, that of its words has none. */
const words = (action) => {
  const name = action.replaceAll(".", "_");
  return known(`did_${name}`) ? t(`did_${name}`) : name.replaceAll("_", " ");
};
const where = (entry) =>
  entry.queue
    ? h(
        "a",
        { href: `/admin/queues/${encodeURIComponent(entry.queue)}` },
        entry.queue,
        entry.ticket ? ` #${number(entry.ticket)}` : "",
      )
    : "–";
/** What more the log has; nothing of what is not set. */
const detail = (more) =>
  Object.entries(more)
    .filter(([name, found]) => name !== "version" && found !== null && found !== "")
    .map(([name, found]) => `${known(`audit_${name}`) ? t(`audit_${name}`) : name.replaceAll("_", " ")}: ${of(found)}`)
    .join(" · ");

/** A value in the log: the name of an action or a state has words. */
function of(found) {
  if (Array.isArray(found)) return found.join(", ");
  if (known(`audit_${found}`)) return t(`audit_${found}`);
  return known(`state_${found}`) ? t(`state_${found}`) : value(found);
}
