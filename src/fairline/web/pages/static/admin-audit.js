// The audit log: what was done, and with which admin key.

import { get } from "./admin-api.js";
import { h, show, tableCard } from "./admin-dom.js";
import { dateTime, number, value } from "./admin-words.js";

const content = show("content");
const found = [];
let only = "";

export async function start() {
  const input = h("input", {
    type: "search",
    placeholder: "All queues",
    "aria-label": "Filter by queue ID",
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
      tableCard(
        "Audit log",
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
        "No entries yet.",
        cursor ? h("button", { type: "button", class: "button quiet", onclick: () => load(cursor) }, "Show more") : "",
      ),
    );
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

const ACTIONS = {
  "queue.set_up": "Created the queue",
  "queue.configured": "Changed settings",
  "queue.restored": "Restored earlier settings",
  "queue.deleted": "Removed the queue",
  "queue.created": "Put someone in line",
  "queue.called": "Called people",
  "queue.status_changed": "Changed a ticket",
  "queue.prioritised": "Moved someone up",
  "pass.issued": "Issued a priority pass",
  "pass.withdrawn": "Withdrew a priority pass",
  "key.created": "Created a key",
  "key.removed": "Revoked a key",
  "keys.rotated": "Rotated the signing keys",
  "queue.stepped_back": "Let others go first",
  "queue.transferred": "Transferred someone to another queue",
  "desk.opened": "Opened a desk",
  "desk.closed": "Closed a desk",
  "webhook.created": "Created a webhook",
  "webhook.changed": "Changed a webhook",
  "webhook.removed": "Removed a webhook",
  "webhook.tested": "Tested a webhook",
  "webhook.replayed": "Resent dead letters",
  "mail.tested": "Sent a test e-mail",
  "mail.replayed": "Resent undelivered e-mails",
  "queue.user_token_key": "Read the key for user tokens",
  "kiosk.created": "Created a kiosk link",
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
      ([name, listed]) => `${name.replaceAll("_", " ")}: ${Array.isArray(listed) ? listed.join(", ") : value(listed)}`,
    )
    .join(" · ");
