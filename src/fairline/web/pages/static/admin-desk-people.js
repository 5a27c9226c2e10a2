// Tickets as staff see them: a card for the person at my desk, a row for everyone else.

import { may } from "./admin-api.js";
import { badge, h, isolated, write } from "./admin-dom.js";
import { duration } from "./admin-words.js";

/** What staff can do: the label, the key on the keyboard, the path of the call, and what to say afterwards. */
export const ACTS = {
  call: { label: "Call", said: (t) => `${name(t)} was called to ${t.desk}.` },
  recall: { label: "Recall", key: "R", said: (t) => `${name(t)} was called again.` },
  start: { label: "Serve", key: "S", main: true, said: (t) => `${name(t)} is being served.` },
  complete: { label: "Done", key: "D", said: (t) => `${name(t)} is done.` },
  done_next: { label: "Done and next", key: "F", main: true },
  no_show: {
    label: "No-show",
    key: "X",
    path: "no-show",
    tone: "bad",
    said: (t) => `${name(t)} is a no-show. Press U to undo.`,
  },
  return: {
    label: "Return",
    key: "B",
    said: (t) => `${name(t)} is back at the old place${t.position ? `, number ${t.position} in line` : ""}.`,
  },
  hold: { label: "Hold", key: "H", said: (t) => `${name(t)} is on hold.` },
  release: {
    label: "Back in line",
    said: (t) => `${name(t)} is back in line${t.position ? `, at position ${t.position}` : ""}.`,
  },
  reinstate: {
    label: "Undo",
    key: "U",
    said: (t) => `${name(t)} came after all, and is called to ${t.desk ?? "the desk"} again.`,
  },
  step_back: {
    label: "Let next go first",
    path: "step-back",
    body: (t) => ({ places: 1, ...(t.position && { position: t.position }) }),
    said: (t) => `${name(t)} lets the next person go first, and is at position ${t.position}.`,
  },
  prioritise: { label: "Move up", said: (t) => `${name(t)} was moved up to position ${t.position}.` },
  transfer: {
    label: "Transfer",
    key: "T",
    said: (t) => `${name(t)} was transferred${newTicket(t.transferred_to)}.`,
  },
  cancel: { label: "Remove", tone: "bad", said: (t) => `${name(t)} was removed from the line.` },
};

const newTicket = (ticket) => (ticket ? ` to ${ticket.queue}, as ${ticket.label}` : "");

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
      "aria-label": `At my desk: ${name(ticket)}`,
    },
    h(
      "div",
      { class: "person-head" },
      badge(where === "called" ? { label: "Called", tone: "warn" } : { label: "Serving", tone: "good" }),
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
      ticket.name ? h("bdi", {}, ticket.name) : "No name",
    ),
    h(
      "p",
      { class: "note" },
      [
        about,
        ticket.party_size > 1 ? `${ticket.party_size} people` : "1 person",
        `waited ${duration(waited, true)}`,
        ticket.priority ? `level ${ticket.priority}` : null,
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
        "More",
        h("span", { class: "hidden" }, ` for ${name(ticket)}`),
      )
    : null;
  const facts = [
    about,
    ticket.party_size > 1 ? `${ticket.party_size} people` : null,
    ticket.priority ? `level ${ticket.priority}` : null,
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
          ? h("span", { class: "at" }, `${where === "called" ? "called to" : "served at"} ${ticket.desk ?? "no desk"}`)
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
    write(element, left > 0 ? `${watch(left)} left to come` : "Time is up: marked as a no-show in a moment");
    const percent = Math.min(100, Math.max(0, (100 * left) / claimSeconds));
    element.previousSibling.firstChild.style.width = `${percent.toFixed(1)}%`;
    element.parentElement.classList.toggle("late", left < Math.min(30, claimSeconds / 4));
  }
}

const span = (seconds) =>
  seconds < 60 ? "just now" : seconds < 3600 ? `${Math.floor(seconds / 60)} min` : duration(seconds, true);
