// Webhooks and e-mail: where they go, what is still to be sent, and what could not be delivered.

import { call, get, may, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, dialog, h, secret, show, table, tableCard, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { ago, dateTime, number } from "./admin-words.js";

const EVERY_SECONDS = 5;
const content = show("content");
const at = (hook, rest = "") => `/webhooks/${encodeURIComponent(hook.id)}${rest}`;

export function start() {
  show("tools").append(
    h(
      "button",
      { type: "button", class: "button", "data-do": "create-webhook", "data-needs": "admin", onclick: create },
      "New webhook",
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
        hook.queue ? `Queue ${hook.queue}` : "All queues",
        " · ",
        hook.events.length ? hook.events.join(", ") : "all events",
        hook.include_person ? " · with personal data" : "",
      ),
    ),
    badge(hook.active ? { label: "On", tone: "good" } : { label: "Paused", tone: "warn" }),
    number(hook.pending),
    dead(hook, at(hook), hook.url),
    h(
      "div",
      { class: "row" },
      button("Test", "operator", () => ping(hook)),
      button(hook.active ? "Pause" : "Resume", "admin", () => change(hook, { active: !hook.active })),
      button("Remove", "admin", () => take(hook), "bad"),
    ),
  ]);
  content.replaceChildren(
    tableCard(
      "Webhooks",
      ["URL", "State", "Pending", "Dead letters", ""],
      rows,
      "No webhooks yet. A webhook posts events to your own address.",
    ),
    mailCard(mail),
  );
  guard(content);
}

/** The card for e-mail. All queues share one outbox of e-mails. */
function mailCard(mail) {
  if (!mail.set_up && !mail.pending && !mail.dead) return "";
  const row = [
    h(
      "div",
      {},
      h("p", {}, mail.sender || "E-mail"),
      h("p", { class: "note" }, "Notices to people who gave an e-mail address"),
    ),
    badge(mail.set_up ? { label: "On", tone: "good" } : { label: "Not set up", tone: "warn" }),
    number(mail.pending),
    dead(mail, "/mail", "people by e-mail"),
    h("div", { class: "row" }, mail.set_up ? button("Test", "admin", tryMail) : ""),
  ];
  return h(
    "section",
    { class: "card", "aria-label": "E-mail" },
    h("h2", {}, "E-mail"),
    table("E-mail", ["From", "State", "Pending", "Dead letters", ""], [row], ""),
  );
}

function tryMail() {
  ask("Send a test e-mail", [{ name: "to", label: "To", kind: "email", required: true }], "Send", async ({ to }) =>
    reportTest("e-mail", await post("/mail/test", { to })),
  );
}

const dead = (box, path, whom) =>
  box.dead ? h("button", { type: "button", class: "open", onclick: () => letters(path, whom) }, number(box.dead)) : "0";

const reportTest = (what, { delivered, error, seconds }) =>
  toast(
    delivered ? `The ${what} was accepted in ${number(seconds)} s.` : `The ${what} was not accepted: ${error}`,
    delivered ? "" : "bad",
  );

const button = (label, needs, onclick, tone = "") =>
  h("button", { type: "button", class: `button small quiet ${tone}`, "data-needs": needs, onclick }, label);

function create() {
  ask(
    "New webhook",
    [
      { name: "url", label: "URL", kind: "url", required: true, value: "https://" },
      { name: "queue", label: "Queue (empty: all queues)" },
      {
        name: "events",
        label: "Events (empty: all events)",
        note: `Separate them with commas: ${page.events.join(", ")}. "notice" posts the messages that people get.`,
      },
      { name: "include_person", label: "Include name, phone, e-mail and user ID", kind: "check" },
    ],
    "Create",
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
      secret("The signing secret", created.secret, "The receiver checks signatures with it. It is shown only once.");
      load();
    },
  );
}

async function ping(hook) {
  try {
    reportTest("test event", await post(at(hook, "/test")));
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
    !(await confirm("Remove this webhook?", `${hook.url} gets no more events, and pending ones are dropped.`, "Remove"))
  )
    return;
  try {
    await remove(at(hook));
    toast("Removed.");
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
      toast(`${number(replayed)} resent.`);
      close();
      load();
    } catch (error) {
      toast(error.message, "bad");
    }
  };
  dialog("Dead letters", (close) => [
    h("h2", {}, "Dead letters"),
    h("p", { class: "note" }, `To ${whom}. They are kept for a week.`),
    table(
      "Dead letters",
      ["Event", "When", "Attempts", "Error", ""],
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
              "Send",
            )
          : "",
      ]),
      "None.",
    ),
    cursor ? h("p", { class: "note" }, "There are more.") : "",
    h(
      "div",
      { class: "tools" },
      h("button", { type: "button", class: "button quiet", onclick: close }, "Close"),
      may("operator")
        ? h("button", { type: "button", class: "button", onclick: again("/replay", close) }, "Resend all")
        : "",
    ),
  ]);
}
