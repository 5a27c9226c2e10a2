// Tickets as staff see them: a card for the person at my desk, a row for everyone else.

import { may } from "./admin-api.js";
import { badge, h, isolated, write } from "./admin-dom.js";
import { count, number, t } from "./admin-text.js";
import { duration } from "./admin-words.js";

const at = (ticket) => ({ who: name(ticket), n: number(ticket.position) });
const inLine = (who) => (who.position ? t("said_released_at", at(who)) : t("said_released", { who: name(who) }));
/** Someone who was sent back to the line is called to the same desk again. */
const again = (_, before) => ({ act: "call", with: { desk: before.desk } });

/** What staff can do: the label, the key on the keyboard, the path of the call, what to say afterwards, and how it is
 *  undone. */
export const ACTS = {
  call: {
    label: t("call"),
    said: (who) => t("said_called_to", { who: name(who), desk: who.desk }),
    undo: () => ({ act: "return" }),
  },
  recall: { label: t("recall"), key: "R", said: (who) => t("said_recalled", { who: name(who) }) },
  start: { label: t("serve"), key: "S", main: true, said: (who) => t("said_served", { who: name(who) }) },
  complete: { label: t("done"), key: "D", said: (who) => t("said_done", { who: name(who) }) },
  done_next: { label: t("done_next"), key: "F", main: true },
  no_show: {
    label: t("no_show"),
    key: "X",
    path: "no-show",
    tone: "bad",
    said: (who) => t("said_no_show", { who: name(who) }),
    undo: () => ({ act: "reinstate" }),
  },
  return: {
    label: t("return"),
    key: "B",
    said: (who) => (who.position ? t("said_returned_at", at(who)) : t("said_returned", { who: name(who) })),
    undo: again,
  },
  hold: {
    label: t("hold"),
    key: "H",
    said: (who) => t("said_on_hold", { who: name(who) }),
    undo: () => ({ act: "release" }),
  },
  release: {
    label: t("back_in_line_button"),
    said: inLine,
    undo: () => ({ act: "hold" }),
  },
  reinstate: {
    label: t("undo"),
    key: "U",
    said: (who) =>
      who.desk ? t("said_reinstated_to", { who: name(who), desk: who.desk }) : t("said_reinstated", { who: name(who) }),
  },
  step_back: {
    label: t("let_next_first"),
    path: "step-back",
    body: (who) => ({ places: 1, ...(who.position && { position: who.position }) }),
    said: (who) => t("said_stepped_back", at(who)),
  },
  prioritise: { label: t("move_up"), said: (who) => t("said_moved_up", at(who)) },
  transfer: {
    label: t("transfer"),
    key: "T",
    said: (who) =>
      who.transferred_to
        ? t("said_transferred_to", { who: name(who), queue: who.transferred_to.queue, label: who.transferred_to.label })
        : t("said_transferred", { who: name(who) }),
  },
  cancel: {
    label: t("remove"),
    tone: "bad",
    said: (who) => t("said_removed", { who: name(who) }),
    undo: () => ({ act: "put_back" }),
  },
  put_back: { label: t("undo"), path: "put-back", said: inLine },
};

/** What can be done with a ticket, by where it is: buttons in the row, and those behind "More". */
const AT_HAND = { line: ["call"], on_hold: ["release"], missed: ["reinstate"], called: [], serving: [] };
const MORE = {
  line: ["hold", "step_back", "prioritise", "transfer", "cancel"],
  on_hold: ["transfer", "cancel"],
  missed: [],
  called: ["recall", "start", "no_show", "return", "hold", "transfer"],
  serving: ["complete", "transfer"],
};
const CARD = {
  called: ["start", "recall", "no_show", "return", "hold", "transfer"],
  serving: ["done_next", "complete", "transfer"],
};

/** The label and name of a person, as part of a sentence. */
export const name = (ticket) => [ticket.label, ticket.name].filter(Boolean).map(isolated).join(" ");
export const whereIs = (ticket) =>
  ticket.on_hold
    ? "on_hold"
    : { waiting: "line", admitted: "called", active: "serving", expired: "missed" }[ticket.status];
/** Minutes and seconds, as on a stopwatch. */
const watch = (seconds) =>
  `${Math.floor(Math.max(0, seconds) / 60)}:${String(Math.floor(Math.max(0, seconds)) % 60).padStart(2, "0")}`;

/** Everything of a ticket that a row or card shows, apart from the position, which `tick` writes. */
export const factsOf = (ticket) =>
  JSON.stringify([
    ticket.label,
    ticket.status,
    ticket.on_hold,
    ticket.reason,
    ticket.name,
    ticket.phone,
    ticket.party_size,
    ticket.priority,
    ticket.desk,
    ticket.joined_at,
    ticket.admitted_at,
    ticket.started_at,
    ticket.ended_at,
  ]);

function button(act, ticket, press, extra = "") {
  const { label, key, main, tone } = ACTS[act];
  const about = h("span", { class: "hidden" }, ` ${name(ticket)}`);
  return h(
    "button",
    {
      type: "button",
      class: `button ${main ? "" : "quiet"} ${tone ?? ""} ${extra}`,
      "data-act": act,
      "data-press": true,
      "data-needs": "operator",
      "aria-keyshortcuts": extra === "big" ? key : null,
      onclick: () => press(act, ticket),
    },
    label,
    about,
    extra === "big" && key ? h("kbd", { "aria-hidden": "true" }, key) : null,
  );
}

/** A label on one line: the longer, the smaller. */
function bigLabel(label) {
  const element = h("p", { class: "label-big" }, label);
  element.style.setProperty("--letters", String(label.length));
  return element;
}

/** The person at my desk: who it is, since when, the time left to come, and every action. */
export function card(ticket, about, press) {
  const where = whereIs(ticket),
    waited = (new Date(ticket.admitted_at) - new Date(ticket.joined_at)) / 1000;
  return h(
    "section",
    {
      class: `card person ${where}`,
      "data-ticket": ticket.ticket,
      "data-where": where,
      "aria-label": t("at_my_desk", { who: name(ticket) }),
    },
    h(
      "div",
      { class: "person-head" },
      badge(where === "called" ? { label: t("called"), tone: "warn" } : { label: t("serving"), tone: "good" }),
      h("span", { class: "clock", "data-since": where === "called" ? ticket.admitted_at : ticket.started_at }),
    ),
    bigLabel(ticket.label),
    h(
      "p",
      {
        class: "who-big clipped",
        title: ticket.name,
        onclick: (event) => event.currentTarget.classList.toggle("clipped"),
      },
      ticket.name ? h("bdi", {}, ticket.name) : t("no_name"),
    ),
    h(
      "p",
      { class: "note" },
      [
        about,
        count("people", ticket.party_size),
        t("waited", { span: duration(waited, true) }),
        ticket.priority ? t("level", { level: ticket.priority }) : null,
      ]
        .filter(Boolean)
        .join(" · "),
      ticket.phone ? " · " : null,
      ticket.phone ? h("a", { href: `tel:${ticket.phone}` }, ticket.phone) : null,
    ),
    where === "called"
      ? h(
          "div",
          { class: "claim" },
          h("div", { class: "meter", "aria-hidden": "true" }, h("span")),
          h("p", { class: "note", "data-left": true }),
        )
      : null,
    may("operator")
      ? h("div", { class: "acts-big" }, ...CARD[where].map((act) => button(act, ticket, press, "big")))
      : null,
  );
}

const atDesk = (where, desk) => (where === "called" ? t("called_to", { desk }) : t("served_at", { desk }));

/** A person in a list. The less common actions are behind "More". */
export function row(ticket, about, press, more) {
  const where = whereIs(ticket);
  const at = where === "missed" ? ticket.ended_at : ticket.joined_at;
  const acts = may("operator") ? AT_HAND[where] : [],
    rest = may("operator") ? MORE[where] : [];
  const extra = h(
    "div",
    { class: "extra", hidden: true, id: `more-${ticket.ticket}` },
    ...rest.map((act) => button(act, ticket, press)),
  );
  const toggle = rest.length
    ? h(
        "button",
        {
          type: "button",
          class: "button quiet more",
          "data-act": "more",
          "aria-expanded": "false",
          "aria-controls": extra.id,
          onclick: () => more(ticket.ticket),
        },
        t("more"),
        h("span", { class: "hidden" }, ` ${name(ticket)}`),
      )
    : null;
  const facts = [
    about,
    ticket.party_size > 1 ? count("people", ticket.party_size) : null,
    ticket.priority ? t("level", { level: ticket.priority }) : null,
  ]
    .filter(Boolean)
    .join(" · ");
  return h(
    "li",
    { "data-ticket": ticket.ticket, "data-where": where },
    h(
      "div",
      { class: "entry" },
      where === "line" ? h("span", { class: "rank", "data-rank": true }) : null,
      h(
        "div",
        { class: "who" },
        h("b", {}, ticket.label),
        " ",
        h("bdi", { class: "clipped", title: ticket.name }, ticket.name ?? ""),
        facts ? h("span", { class: "facts" }, facts) : null,
      ),
      h(
        "div",
        { class: "since" },
        where === "called" || where === "serving"
          ? h("span", { class: "at" }, atDesk(where, ticket.desk ?? t("no_desk")))
          : h("span", { "data-ago": at }),
      ),
      h("div", { class: "row-acts" }, ...acts.map((act) => button(act, ticket, press)), toggle),
    ),
    extra,
  );
}

/** Update what changes with time: positions, elapsed times, remaining times. `now` is by the server's clock. */
export function tick(root, now, positions, claimSeconds, deadlines) {
  for (const element of root.querySelectorAll("[data-rank]"))
    write(element, String(positions.get(Number(element.closest("[data-ticket]").dataset.ticket)) ?? ""));
  for (const element of root.querySelectorAll("[data-ago]"))
    write(element, span((now - new Date(element.dataset.ago)) / 1000));
  for (const element of root.querySelectorAll("[data-since]"))
    write(element, watch((now - new Date(element.dataset.since)) / 1000));
  for (const element of root.querySelectorAll("[data-left]")) {
    const due = deadlines.get(Number(element.closest("[data-ticket]").dataset.ticket));
    const left = (new Date(due) - now) / 1000;
    write(element, left > 0 ? t("left_to_come", { time: watch(left) }) : t("time_is_up"));
    const percent = Math.min(100, Math.max(0, (100 * left) / claimSeconds));
    element.previousSibling.firstChild.style.width = `${percent.toFixed(1)}%`;
    element.parentElement.classList.toggle("late", left < Math.min(30, claimSeconds / 4));
  }
}

const span = (seconds) =>
  seconds < 60
    ? t("just_now")
    : seconds < 3600
      ? t("span_min", { m: Math.floor(seconds / 60) })
      : duration(seconds, true);
