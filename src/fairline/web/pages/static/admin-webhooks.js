// Webhooks and e-mail: where they go, what is still to be sent, and what could not be delivered.

import { call, get, may, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, dialog, h, redraw, secret, show, table, tableCard, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { count, number, t } from "./admin-text.js";
import { ago, dateTime } from "./admin-words.js";

const EVERY_SECONDS = 5;
const content = show("content");
const at = (hook, rest = "") => `/webhooks/${encodeURIComponent(hook.id)}${rest}`;

export function start() {
  show("tools").append(
    h(
      "button",
      { type: "button", class: "button", "data-do": "create-webhook", "data-needs": "admin", onclick: create },
      t("new_webhook"),
    ),
  );
  guard();
  load();
  setInterval(() => {
    if (!document.hidden && !document.querySelector("dialog[open]")) load();
  }, EVERY_SECONDS * 1000);
}

async function load() {
  try {
    const [{ webhooks }, mail] = await Promise.all([get("/webhooks"), get("/mail")]);
    draw(webhooks, mail);
  } catch (error) {
    content.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
  content.removeAttribute("aria-busy");
}

function draw(hooks, mail) {
  const facts = JSON.stringify([hooks, mail]);
  if (content.contains(document.activeElement) && content.dataset.facts === facts) return;
  content.dataset.facts = facts;
  const rows = hooks.map((hook) => [
    h(
      "div",
      {},
      h("p", {}, hook.url),
      h(
        "p",
        { class: "note" },
        hook.queue ? t("queue_named", { queue: hook.queue }) : t("key_queues"),
        " · ",
        hook.events.length ? hook.events.join(", ") : t("all_events"),
        hook.include_person ? ` · ${t("with_person")}` : "",
      ),
    ),
    badge(hook.active ? { label: t("on"), tone: "good" } : { label: t("status_paused"), tone: "warn" }),
    number(hook.pending),
    dead(hook, at(hook), hook.url),
    h(
      "div",
      { class: "row" },
      button(t("test"), "operator", () => ping(hook)),
      button(hook.active ? t("pause") : t("resume"), "admin", () => change(hook, { active: !hook.active })),
      button(t("remove"), "admin", () => take(hook), "bad"),
    ),
  ]);
  redraw(
    content,
    tableCard(
      t("page_webhooks"),
      [t("url"), t("column_state"), t("pending"), t("dead_letters"), ""],
      rows,
      t("no_webhooks"),
    ),
    mailCard(mail),
  );
  guard(content);
}

/** The card for e-mail. All queues share one outbox of e-mails. */
function mailCard(mail) {
  if (!mail.set_up && !mail.pending && !mail.dead) return "";
  const row = [
    h("div", {}, h("p", {}, mail.sender || t("email")), h("p", { class: "note" }, t("mail_about"))),
    badge(mail.set_up ? { label: t("on"), tone: "good" } : { label: t("not_set_up"), tone: "warn" }),
    number(mail.pending),
    dead(mail, "/mail", t("people_by_mail")),
    h("div", { class: "row" }, mail.set_up ? button(t("test"), "admin", tryMail) : ""),
  ];
  return h(
    "section",
    { class: "card", "aria-label": t("email") },
    h("h2", {}, t("email")),
    table(t("email"), [t("sender"), t("column_state"), t("pending"), t("dead_letters"), ""], [row], ""),
  );
}

function tryMail() {
  ask(t("test_mail"), [{ name: "to", label: t("mail_to"), kind: "email", required: true }], t("send"), async ({ to }) =>
    reportTest(await post("/mail/test", { to })),
  );
}

const dead = (box, path, whom) =>
  box.dead ? h("button", { type: "button", class: "open", onclick: () => letters(path, whom) }, number(box.dead)) : "0";

const reportTest = ({ delivered, error, seconds }) =>
  toast(
    delivered ? t("test_accepted", { n: number(seconds) }) : t("test_refused", { why: error }),
    delivered ? "" : "bad",
  );

const button = (label, needs, onclick, tone = "") =>
  h("button", { type: "button", class: `button small quiet ${tone}`, "data-needs": needs, onclick }, label);

function create() {
  ask(
    t("new_webhook"),
    [
      { name: "url", label: t("url"), kind: "url", required: true, value: "https://" },
      { name: "queue", label: t("webhook_queue") },
      {
        name: "events",
        label: t("webhook_events"),
        note: t("webhook_events_note", { events: page.events.join(", ") }),
      },
      { name: "include_person", label: t("webhook_person"), kind: "check" },
    ],
    t("create"),
    async ({ url, queue, events, include_person }) => {
      const created = await post("/webhooks", {
        url,
        queue: queue.trim() || null,
        events: events
          .split(",")
          .map((each) => each.trim())
          .filter(Boolean),
        include_person,
      });
      secret(t("signing_secret"), created.secret, t("secret_once"));
      load();
    },
  );
}

async function ping(hook) {
  try {
    reportTest(await post(at(hook, "/test")));
  } catch (error) {
    toast(error.message, "bad");
  }
}

async function change(hook, changes) {
  try {
    await call("PATCH", at(hook), changes);
    load();
  } catch (error) {
    toast(error.message, "bad");
  }
}

async function take(hook) {
  if (
    !(await confirm(
      t("remove_webhook_ask"),
      t("remove_webhook_text", { url: hook.url }),
      t("remove"),
      "bad",
      t("keep"),
    ))
  )
    return;
  try {
    await remove(at(hook));
    toast(t("webhook_removed"));
    load();
  } catch (error) {
    toast(error.message, "bad");
  }
}

/** The dead letters of a webhook or of e-mail, with buttons that send them again. */
async function letters(box, whom) {
  let deliveries, cursor;
  try {
    ({ deliveries, cursor } = await get(`${box}/deliveries?state=dead`));
  } catch (error) {
    toast(error.message, "bad");
    return;
  }
  const again = (path, close) => async () => {
    try {
      const { replayed } = await post(box + path);
      toast(count("resent", replayed));
      close();
      load();
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  dialog(t("dead_letters"), (close) => [
    h("h2", {}, t("dead_letters")),
    h("p", { class: "note" }, t("dead_letters_to", { whom })),
    table(
      t("dead_letters"),
      [t("event"), t("when"), t("attempts"), t("error"), ""],
      deliveries.map((each) => [
        `${each.notice ?? each.type}${each.ticket ? ` #${number(each.ticket)}` : ""}`,
        h("span", { title: dateTime(each.at) }, ago(each.at)),
        number(each.tries),
        each.error ?? "–",
        may("operator")
          ? h(
              "button",
              {
                type: "button",
                class: "button small quiet",
                onclick: again(`/deliveries/${encodeURIComponent(each.id)}/replay`, close),
              },
              t("send"),
            )
          : "",
      ]),
      t("no_dead_letters"),
    ),
    cursor ? h("p", { class: "note" }, t("there_are_more")) : "",
    h(
      "div",
      { class: "tools" },
      h("button", { type: "button", class: "button quiet", onclick: close }, t("close")),
      may("operator")
        ? h("button", { type: "button", class: "button", onclick: again("/replay", close) }, t("resend_all"))
        : "",
    ),
  ]);
}
