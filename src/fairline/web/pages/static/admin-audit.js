// The audit log: what was done with admin keys.

import { get } from "./admin-api.js";
import { h, show, table } from "./admin-dom.js";
import { dateTime, number, value } from "./admin-words.js";

const content = show("content");
const found = [];
let only = "";

export async function start() {
  const input = h("input", {
    type: "search",
    placeholder: "All queues",
    "aria-label": "Only this queue, by its id",
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
    content.replaceChildren(
      h(
        "section",
        { class: "card", "aria-label": "Audit log" },
        table(
          "What was done",
          ["When", "Who", "What", "Where", "More"],
          found.map((entry) => [
            dateTime(entry.at),
            h(
              "span",
              { title: entry.key.id },
              `${entry.key.name || entry.key.id} `,
              h("span", { class: "role" }, entry.key.role),
            ),
            words(entry.action),
            where(entry),
            detail(entry.detail),
          ]),
          "Nothing was done yet.",
        ),
        cursor ? h("button", { type: "button", class: "button quiet", onclick: () => load(cursor) }, "Show more") : "",
      ),
    );
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

const ACTIONS = {
  "queue.set_up": "Made the queue",
  "queue.configured": "Changed settings",
  "queue.restored": "Went back to earlier settings",
  "queue.deleted": "Removed the queue",
  "queue.created": "Put someone in line",
  "queue.called": "Called people",
  "queue.status_changed": "Acted on someone",
  "queue.prioritised": "Moved someone up",
  "pass.issued": "Issued a pass",
  "pass.withdrawn": "Withdrew a pass",
  "key.created": "Made a key",
  "key.removed": "Took a key away",
  "keys.rotated": "Rotated the signing keys",
  "queue.passed": "Let others go before someone",
  "queue.transferred": "Sent someone on to another queue",
  "desk.opened": "Opened a desk",
  "desk.closed": "Closed a desk",
  "webhook.created": "Made a webhook",
  "webhook.changed": "Changed a webhook",
  "webhook.removed": "Removed a webhook",
  "webhook.tested": "Tested a webhook",
  "webhook.replayed": "Sent dead letters again",
  "mail.tested": "Tested the mail",
  "mail.replayed": "Sent dead mail again",
  "queue.user_token_key": "Asked for the key of user tokens",
  "kiosk.created": "Made the link of a kiosk",
  "dashboard.signed_in": "Signed in to the dashboard",
};
const words = (action) => ACTIONS[action] ?? action.replaceAll(/[._]/g, " ");
const where = (entry) =>
  entry.queue
    ? h(
        "a",
        { href: `/admin/queues/${encodeURIComponent(entry.queue)}` },
        entry.queue,
        entry.ticket ? ` #${number(entry.ticket)}` : "",
      )
    : "–";
const detail = (more) =>
  Object.entries(more)
    .filter(([name]) => name !== "version")
    .map(
      ([name, found_]) => `${name.replaceAll("_", " ")}: ${Array.isArray(found_) ? found_.join(", ") : value(found_)}`,
    )
    .join(" · ");
