// The People tab: find a person, act on their ticket, call the next, put someone in line.

import { get, page, post } from "./admin-api.js";
import { ask, badge, confirm, debounce, dialog, h, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { joinBody, joinFields } from "./admin-join.js";
import { ago, dateTime, LEVELS, number, plural, REASON, STATE } from "./admin-words.js";

const PAGE = 50;
const STATES = [["", "Everyone"], ...Object.entries(STATE).map(([state, { label }]) => [state, label])];

/** What staff can do with a ticket, in the order shown. An action with `ends` ends the ticket: the page asks first. */
const ACTS = {
  call: { label: "Call", main: true, fields: [{ name: "desk", label: "Desk, for example Desk 2", longest: 60 }] },
  start: { label: "Has come in", main: true },
  complete: { label: "Done", main: true, ends: "The visit ends, and the next person can come in at once." },
  recall: { label: "Call again" },
  return: { label: "Back in line" },
  hold: { label: "Hold" },
  release: { label: "Back in line", main: true },
  reinstate: { label: "Came after all", main: true },
  prioritise: {
    label: "Move up",
    fields: [{ name: "level", label: "Level", choices: LEVELS, value: "1" }],
  },
  no_show: {
    label: "Did not show up",
    path: "no-show",
    ends: "The ticket ends, and the next person can come in.",
  },
  cancel: { label: "Remove from the line", ends: "The ticket ends, and the person loses their place." },
  terminate: { label: "End the session", ends: "The session ends now, and the next person can come in." },
  revoke: {
    label: "Revoke",
    ends: "The ticket and its session token stop working at once and for good.",
    fields: [{ name: "reason", label: "Reason, for the record", required: true, longest: 200 }],
  },
};

const ON_HOLD = { label: "On hold", tone: "warn" };
const stateOf = (ticket) => (ticket.on_hold ? ON_HOLD : STATE[ticket.status]);

/** Whether an action is possible for a ticket as it is now. The server checks again. */
const can = (ticket, name) =>
  page.actions[ticket.on_hold ? "on_hold" : ticket.status].includes(name) &&
  (name !== "reinstate" || page.reinstated.includes(ticket.reason));

export class People {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.search = h("input", {
      type: "search",
      id: "search",
      placeholder: "Ticket, name, phone or user ID",
      "aria-label": "Search for a person",
      oninput: debounce(0.25, () => this.load()),
    });
    this.state = h(
      "select",
      { "aria-label": "State", onchange: () => this.load() },
      ...STATES.map(([value, label]) => h("option", { value }, label)),
    );
    this.rows = h("tbody");
    this.summary = h("p", { class: "note", role: "status" });
    this.more = h(
      "button",
      { type: "button", class: "button quiet", hidden: true, onclick: () => this.load(this.cursor) },
      "Show more",
    );
    this.table = h(
      "table",
      { class: "table fold", "aria-label": "People" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...["Ticket", "State", "Position", "Name", "Joined", "Last seen", "Until"].map((name) =>
            h("th", { scope: "col" }, name),
          ),
        ),
      ),
      this.rows,
    );
    panel.append(
      h(
        "div",
        { class: "bar" },
        h("div", { class: "grow" }, this.search),
        this.state,
        h(
          "button",
          {
            type: "button",
            class: "button quiet",
            "data-do": "join",
            "data-needs": "operator",
            onclick: () => this.join(),
          },
          "Put someone in line",
        ),
        h(
          "button",
          {
            type: "button",
            class: "button",
            "data-do": "call-next",
            "data-needs": "operator",
            onclick: () => this.callNext(),
          },
          "Call next",
        ),
      ),
      h(
        "section",
        { class: "card", "aria-label": "People found" },
        this.summary,
        h("div", { class: "over" }, this.table),
        this.more,
      ),
    );
    this.refresh = debounce(1.2, () => !this.panel.hidden && !this.cursorUsed && this.load());
  }

  opened() {
    this.load();
  }

  update() {
    if (!this.panel.hidden && !document.hidden) this.refresh();
  }

  async load(cursor) {
    const request = {};
    this.request = request;
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (this.state.value) query.set("status", this.state.value);
    if (this.search.value.trim()) query.set("search", this.search.value.trim());
    if (cursor) query.set("cursor", cursor);
    try {
      const found = await get(this.queue.path(`/tickets?${query}`));
      if (request !== this.request) return; // a newer one was sent
      this.cursor = found.cursor;
      this.cursorUsed = Boolean(cursor);
      const rows = found.tickets.map((ticket) => this.row(ticket));
      if (cursor) this.rows.append(...rows);
      else this.rows.replaceChildren(...rows);
      this.more.hidden = !found.cursor;
      const many = this.rows.children.length;
      this.table.hidden = !many;
      this.summary.textContent = many
        ? `${plural(many, "person", "people")}${found.cursor ? ", and more" : ""}`
        : query.has("search")
          ? "No match. Try a ticket number, or part of a name, phone number or user ID."
          : "No people.";
    } catch (error) {
      this.summary.textContent = error.message;
    }
  }

  row(ticket) {
    const open = () => this.open(ticket.ticket);
    const cells = [
      [
        "Ticket",
        h(
          "button",
          {
            type: "button",
            class: "open",
            "data-ticket": ticket.ticket,
            onclick: (event) => {
              event.stopPropagation();
              open();
            },
          },
          ticket.label,
        ),
      ],
      ["State", badge(stateOf(ticket))],
      ["Position", ticket.position ? number(ticket.position) : "–"],
      ["Name", ticket.name ?? ticket.user_id ?? "–"],
      ["Joined", ago(ticket.joined_at)],
      ["Last seen", ticket.last_seen ? ago(ticket.last_seen) : "–"],
      ["Until", ticket.ended_at ? (REASON[ticket.reason] ?? "done") : ticket.deadline ? ago(ticket.deadline) : "–"],
    ];
    return h(
      "tr",
      { "data-open": true, onclick: open },
      ...cells.map(([label, cell]) => h("td", { "data-label": label }, cell)),
    );
  }

  /** Open a dialog with everything known about a ticket, and what can be done with it. */
  open(number_) {
    const body = h("div", {}, h("p", { class: "note" }, "Loading …"));
    this.side = dialog(
      "One person",
      (close) => [h("button", { type: "button", class: "button quiet small close", onclick: close }, "Close"), body],
      "side",
    );
    this.side.dataset.person = number_;
    this.show(number_, body);
  }

  async show(number_, body) {
    try {
      this.draw(await get(this.queue.path(`/tickets/${number_}`)), body);
    } catch (error) {
      body.replaceChildren(
        h("h2", {}, this.queue.label(number_)),
        h("p", { class: "note" }, error.status === 404 ? "This record has been deleted." : error.message),
      );
    }
  }

  draw(ticket, body) {
    const facts = [
      ["Position", ticket.position && number(ticket.position)],
      ["Reason", ticket.reason && REASON[ticket.reason]],
      ["Revoked because", ticket.revoked_reason],
      ["Name", ticket.name],
      ["Phone", ticket.phone],
      ["E-mail", ticket.email],
      ["User ID", ticket.user_id],
      ["People", ticket.party_size > 1 && number(ticket.party_size)],
      ["Priority", ticket.priority ? `level ${ticket.priority}` : null],
      ["Desk", ticket.desk],
      ["Transferred to", ticket.transferred_to && `${ticket.transferred_to.label} in ${ticket.transferred_to.queue}`],
      ["Joined", dateTime(ticket.joined_at)],
      ["Let in", ticket.admitted_at && dateTime(ticket.admitted_at)],
      ["Came in", ticket.started_at && dateTime(ticket.started_at)],
      ["Ended", ticket.ended_at && dateTime(ticket.ended_at)],
      [ticket.ended_at ? "Record kept until" : "Expires", ticket.deadline && dateTime(ticket.deadline)],
      ["Last seen", ticket.last_seen && ago(ticket.last_seen)],
      ["Page views", ticket.page_views ? number(ticket.page_views) : null],
      ["Browser", ticket.user_agent],
      ["IP address (hashed)", ticket.address],
      ["More", ticket.metadata && JSON.stringify(ticket.metadata)],
    ].filter(([, value]) => value);
    const acts = Object.entries(ACTS).filter(([name]) => can(ticket, name));
    body.replaceChildren(
      h("h2", {}, ticket.label),
      h("p", {}, badge(stateOf(ticket))),
      h(
        "div",
        { class: "acts" },
        ...(acts.length
          ? acts.map(([name, act]) =>
              h(
                "button",
                {
                  type: "button",
                  class: `button small ${act.main ? "" : act.ends ? "quiet bad" : "quiet"}`,
                  "data-act": name,
                  "data-needs": "operator",
                  onclick: () => this.act(name, act, ticket, body),
                },
                act.label,
              ),
            )
          : [h("p", { class: "note" }, "The visit is over: there is nothing more to do.")]),
      ),
      h("dl", { class: "pair start" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    );
    guard(body);
  }

  async act(name, act, ticket, body) {
    const send = async (values = {}) => {
      if (values.level) values.level = Number(values.level);
      const done =
        name === "revoke"
          ? await post(this.queue.path("/revoke"), { ticket: ticket.ticket, ...values })
          : await post(this.queue.path(`/tickets/${ticket.ticket}/${act.path ?? name}`), values);
      this.draw(done, body);
      toast(`${ticket.label}: ${stateOf(done).label.toLowerCase()}.`);
      this.load();
    };
    if (act.fields) return ask(`${act.label}: ${ticket.label}`, act.fields, act.label, send, act.ends ?? "");
    if (act.ends && !(await confirm(`${act.label}: ${ticket.label}?`, act.ends, act.label))) return undefined;
    try {
      return await send();
    } catch (error) {
      toast(error.message, "bad");
      return this.show(ticket.ticket, body);
    }
  }

  callNext() {
    const key = crypto.randomUUID?.() ?? String(Math.random());
    return ask(
      "Call next",
      [
        { name: "count", label: "How many", kind: "number", min: 1, max: 100, value: 1, required: true },
        { name: "desk", label: "Desk, for example Desk 2", longest: 60, value: this.desk },
      ],
      "Call",
      async ({ count, desk }) => {
        this.desk = desk;
        const { tickets } = await post(this.queue.path("/call-next"), { count, desk }, { "Idempotency-Key": key });
        toast(
          tickets.length
            ? `Called: ${tickets.map((ticket) => ticket.label).join(", ")}`
            : "Nobody was called: nobody is waiting, or it is full inside.",
        );
        this.load();
      },
      "Calls the next in line. Capacity and stock limits apply; the rate limit doesn't.",
    );
  }

  join() {
    return ask(
      "Put someone in line",
      joinFields(page.languages),
      "Put in line",
      async (values) => {
        const joined = await post(this.queue.path("/join"), joinBody(values));
        toast(`${joined.label} is in line${joined.position ? `, at position ${number(joined.position)}` : ""}.`);
        this.load();
      },
      "The limits on joining do not apply to staff.",
    );
  }
}
