// The People tab: find a person, act on their ticket, call the next, put someone in line.

import { get, page, post } from "./admin-api.js";
import { ask, badge, confirm, debounce, dialog, h, redraw, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { joinBody, joinFields } from "./admin-join.js";
import { count, number, t } from "./admin-text.js";
import { ago, dateTime, LEVELS, reasonWords, STATE } from "./admin-words.js";

const PAGE = 50;
const STATES = [["", t("everyone")], ...Object.entries(STATE).map(([state, { label }]) => [state, label])];

/** What staff can do with a ticket, in the order shown. An action with `ends` ends the ticket: the page asks first. */
const ACTS = {
  call: { label: t("call"), main: true, fields: [{ name: "desk", label: t("desk_field"), longest: 60 }] },
  start: { label: t("has_come_in"), main: true },
  complete: { label: t("done"), main: true, title: (who) => t("done_who", { who }), ends: t("done_text") },
  recall: { label: t("call_again") },
  return: { label: t("back_in_line_button") },
  hold: { label: t("hold") },
  release: { label: t("back_in_line_button"), main: true },
  reinstate: { label: t("came_after_all"), main: true },
  put_back: { label: t("back_in_line_button"), path: "put-back", main: true },
  prioritise: {
    label: t("move_up"),
    title: (who) => t("move_up_who", { who }),
    fields: [{ name: "level", label: t("level_field"), choices: LEVELS, value: "1" }],
  },
  no_show: {
    label: t("no_show"),
    title: (who) => t("no_show_who", { who }),
    path: "no-show",
    ends: t("no_show_text"),
  },
  cancel: { label: t("remove"), title: (who) => t("remove_who", { who }), ends: t("remove_text"), keep: t("keep") },
  terminate: {
    label: t("end_session"),
    title: (who) => t("end_session_who", { who }),
    ends: t("end_session_text"),
    keep: t("keep"),
  },
  revoke: {
    label: t("revoke"),
    title: (who) => t("revoke_who", { who }),
    ends: t("revoke_text"),
    fields: [{ name: "reason", label: t("revoke_reason"), required: true, longest: 200 }],
  },
};

const COLUMNS = [
  ["ticket", t("column_ticket")],
  ["state", t("column_state")],
  ["position", t("column_position")],
  ["name", t("form_name")],
  ["joined", t("column_joined")],
  ["seen", t("column_seen")],
  ["until", t("column_until")],
];
const ON_HOLD = { label: t("on_hold"), tone: "warn" };
const stateOf = (ticket) => (ticket.on_hold ? ON_HOLD : STATE[ticket.status]);

/** Whether an action is possible for a ticket as it is now. The server checks again. */
const can = (ticket, name) =>
  page.actions[ticket.on_hold ? "on_hold" : ticket.status].includes(name) &&
  (page.takes_back[name]?.includes(ticket.reason) ?? true);

/** What takes an action back, from the message that reports it. */
const UNDO = { no_show: "reinstate", cancel: "put_back", hold: "release", release: "hold", call: "return" };
const undoOf = (name, before, done, undo) => {
  const back = UNDO[name];
  if (!back || !can(done, back) || (name === "hold" && before.status !== "waiting")) return null;
  return h(
    "button",
    { type: "button", class: "button small quiet", "data-do": "undo", onclick: () => undo(back) },
    t("undo"),
  );
};

export class People {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.search = h("input", {
      type: "search",
      id: "search",
      placeholder: t("search_hint"),
      "aria-label": t("key_search"),
      oninput: debounce(0.25, () => this.load()),
    });
    this.state = h(
      "select",
      { "aria-label": t("column_state"), onchange: () => this.load() },
      ...STATES.map(([value, label]) => h("option", { value }, label)),
    );
    this.rows = h("tbody");
    this.summary = h("p", { class: "note", role: "status" });
    this.more = h(
      "button",
      { type: "button", class: "button quiet", hidden: true, onclick: () => this.load(this.cursor) },
      t("show_more"),
    );
    this.table = h(
      "table",
      { class: "table fold", "aria-label": t("tab_people") },
      h("thead", {}, h("tr", {}, ...COLUMNS.map(([, name]) => h("th", { scope: "col" }, name)))),
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
          t("put_someone_in_line"),
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
          t("call_next"),
        ),
      ),
      h(
        "section",
        { class: "card", "aria-label": t("people_found") },
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
      else redraw(this.rows, ...rows);
      this.more.hidden = !found.cursor;
      const many = this.rows.children.length;
      this.table.hidden = !many;
      this.summary.textContent = many
        ? found.cursor
          ? count("people_and_more", many)
          : count("people", many)
        : query.has("search")
          ? t("no_match")
          : t("no_people");
    } catch (error) {
      this.summary.textContent = error.message;
    }
  }

  row(ticket) {
    const open = () => this.open(ticket.ticket);
    const cells = [
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
      badge(stateOf(ticket)),
      ticket.position ? number(ticket.position) : "–",
      ticket.name ?? ticket.user_id ?? "–",
      ago(ticket.joined_at),
      ticket.last_seen ? ago(ticket.last_seen) : "–",
      ticket.ended_at ? reasonWords(ticket.reason) : ticket.deadline ? ago(ticket.deadline) : "–",
    ];
    return h(
      "tr",
      { "data-open": true, onclick: open },
      ...cells.map((cell, i) => h("td", { "data-column": COLUMNS[i][0], "data-label": COLUMNS[i][1] }, cell)),
    );
  }

  /** Open a dialog with everything known about a ticket, and what can be done with it. */
  open(number_) {
    const body = h("div", {}, h("p", { class: "note" }, t("loading")));
    this.side = dialog(
      t("one_person"),
      (close) => [
        h("button", { type: "button", class: "button quiet small close", onclick: close }, t("close")),
        body,
        h("div", { class: "toasts", role: "status" }),
      ],
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
        h("h2", {}, `#${number_}`),
        h("p", { class: "note" }, error.status === 404 ? t("record_deleted") : error.message),
      );
    }
  }

  draw(ticket, body) {
    const facts = [
      [t("column_position"), ticket.position && number(ticket.position)],
      [t("reason"), ticket.reason && reasonWords(ticket.reason)],
      [t("revoked_because"), ticket.revoked_reason],
      [t("form_name"), ticket.name],
      [t("phone"), ticket.phone],
      [t("email"), ticket.email],
      [t("user_id"), ticket.user_id],
      [t("people_field"), ticket.party_size > 1 && number(ticket.party_size)],
      [t("priority"), ticket.priority ? t("level", { level: ticket.priority }) : null],
      [t("page_desk"), ticket.desk],
      [t("transferred_to"), ticket.transferred_to && `${ticket.transferred_to.queue}: ${ticket.transferred_to.label}`],
      [t("column_joined"), dateTime(ticket.joined_at)],
      [t("let_in"), ticket.admitted_at && dateTime(ticket.admitted_at)],
      [t("came_in"), ticket.started_at && dateTime(ticket.started_at)],
      [t("ended"), ticket.ended_at && dateTime(ticket.ended_at)],
      [ticket.ended_at ? t("record_kept_until") : t("expires"), ticket.deadline && dateTime(ticket.deadline)],
      [t("column_seen"), ticket.last_seen && ago(ticket.last_seen)],
      [t("page_views"), ticket.page_views ? number(ticket.page_views) : null],
      [t("browser"), ticket.user_agent],
      [t("address_hashed"), ticket.address],
      [t("more_facts"), ticket.metadata && JSON.stringify(ticket.metadata)],
    ].filter(([, value]) => value);
    const acts = Object.entries(ACTS).filter(([name]) => can(ticket, name));
    redraw(
      body,
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
          : [h("p", { class: "note" }, t("visit_is_over"))]),
      ),
      h("dl", { class: "pair start" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    );
    guard(body);
  }

  async act(name, act, ticket, body, undoing = false) {
    const send = async (values = {}) => {
      if (values.level) values.level = Number(values.level);
      const done =
        name === "revoke"
          ? await post(this.queue.path("/revoke"), { ticket: ticket.ticket, ...values })
          : await post(this.queue.path(`/tickets/${ticket.ticket}/${act.path ?? name}`), values);
      this.draw(done, body);
      toast(
        `${ticket.label}: ${stateOf(done).label}`,
        "",
        undoOf(name, ticket, done, (act_) => this.act(act_, ACTS[act_], done, body, true)),
      );
      this.load();
    };
    const title = act.title?.(ticket.label) ?? t("act_on", { act: act.label, who: ticket.label });
    if (act.fields) return ask(title, act.fields, act.label, send, act.ends ?? "");
    if (act.ends && !undoing && !(await confirm(title, act.ends, act.label, "bad", act.keep))) return undefined;
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
      t("call_next"),
      [
        { name: "count", label: t("how_many"), kind: "number", min: 1, max: 100, value: 1, required: true },
        { name: "desk", label: t("desk_field"), longest: 60, value: this.desk },
      ],
      t("call"),
      async ({ count: many, desk }) => {
        this.desk = desk;
        const { tickets } = await post(
          this.queue.path("/call-next"),
          { count: many, desk },
          { "Idempotency-Key": key },
        );
        toast(
          tickets.length
            ? t("called_people", { who: tickets.map((ticket) => ticket.label).join(", ") })
            : t("nobody_called"),
        );
        this.load();
      },
      t("call_next_note"),
    );
  }

  join() {
    return ask(
      t("put_someone_in_line"),
      joinFields(page.languages),
      t("put_in_line"),
      async (values) => {
        const joined = await post(this.queue.path("/join"), joinBody(values));
        toast(
          joined.position
            ? t("joined_at", { who: joined.label, n: number(joined.position) })
            : t("joined_line", { who: joined.label }),
        );
        this.load();
      },
      t("no_limits"),
    );
  }
}
