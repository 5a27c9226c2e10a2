// Webhooks and mail: who is told of what happens, what is on its way, and what did not arrive.

import { call, get, may, page, post, remove } from "./admin-api.js";
import { ask, badge, confirm, dialog, h, secret, show, table, toast } from "./admin-dom.js";
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
      button(hook.active ? "Pause" : "Go on", "admin", () => change(hook, { active: !hook.active })),
      button("Remove", "admin", () => take(hook), "bad"),
    ),
  ]);
  content.replaceChildren(
    h(
      "section",
      { class: "card", "aria-label": "Webhooks" },
      table(
        "Webhooks",
        ["Where to", "State", "To be sent", "Dead letters", ""],
        rows,
        "Nobody is told yet. A webhook posts what happens to an address of yours.",
      ),
    ),
    post_office(mail),
  );
  guard(content);
}

/** Notices by e-mail have one outbox for all queues. */
function post_office(mail) {
  if (!mail.set_up && !mail.pending && !mail.dead) return "";
  const row = [
    h(
      "div",
      {},
      h("p", {}, mail.sender || "E-mail"),
      h("p", { class: "note" }, "Notices to those who left an address"),
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
    table("E-mail", ["From", "State", "To be sent", "Dead letters", ""], [row], ""),
  );
}

function tryMail() {
  ask("Send a test letter", [{ name: "to", label: "To", kind: "email", required: true }], "Send", async ({ to }) =>
    told("letter", await post("/mail/test", { to })),
  );
}

const dead = (box, path, whom) =>
  box.dead ? h("button", { type: "button", class: "open", onclick: () => letters(path, whom) }, number(box.dead)) : "0";

const told = (what, { delivered, error, seconds }) =>
  toast(
    delivered ? `The ${what} was taken in ${number(seconds)} s.` : `The ${what} was not taken: ${error}`,
    delivered ? "" : "bad",
  );

const button = (label, needs, onclick, tone = "") =>
  h("button", { type: "button", class: `button small quiet ${tone}`, "data-needs": needs, onclick }, label);

function create() {
  ask(
    "New webhook",
    [
      { name: "url", label: "Address", kind: "url", required: true, value: "https://" },
      { name: "queue", label: "Queue, or empty for all" },
      {
        name: "events",
        label: "Events, or empty for all of them",
        note: `notice posts what people are told. With commas between: ${page.events.join(", ")}.`,
      },
      { name: "include_person", label: "Send name, phone, e-mail and user id too", kind: "check" },
    ],
    "Make it",
    async ({ url, queue, events, include_person }) => {
      const made = await post("/webhooks", {
        url,
        queue: queue.trim() || null,
        events: events
          .split(",")
          .map((each) => each.trim())
          .filter(Boolean),
        include_person,
      });
      secret("The signing secret", made.secret, "The receiver checks signatures with it. It is shown this once.");
      load();
    },
  );
}

async function ping(hook) {
  try {
    told("ping", await post(at(hook, "/test")));
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
      "Remove this webhook?",
      `${hook.url} is told nothing more, and what was still to be sent is gone.`,
      "Remove",
    ))
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

/** What was given up, to be sent again. */
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
      toast(`${number(replayed)} sent again.`);
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
      ["What", "When", "Tries", "Why", ""],
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
    cursor ? h("p", { class: "note" }, "And more.") : "",
    h(
      "div",
      { class: "tools" },
      h("button", { type: "button", class: "button quiet", onclick: close }, "Close"),
      may("operator")
        ? h("button", { type: "button", class: "button", onclick: again("/replay", close) }, "Send all again")
        : "",
    ),
  ]);
}
