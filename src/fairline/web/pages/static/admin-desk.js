// The desk: a member of staff calls, serves and transfers people. What others do appears automatically.

import { get, Live, may, page, queuePath } from "./admin-api.js";
import { add } from "./admin-desk-add.js";
import { chooseLevel, chooseQueue } from "./admin-desk-choose.js";
import { withMoved } from "./admin-desk-floor.js";
import { listenToKeys } from "./admin-desk-keys.js";
import { KeyedList } from "./admin-desk-list.js";
import { MyDesk } from "./admin-desk-mine.js";
import { ACTS, card, factsOf, name, row, tick } from "./admin-desk-people.js";
import { changeable, newKey, Presses } from "./admin-desk-press.js";
import { say, sayTrouble, undoButton } from "./admin-desk-said.js";
import { calledWords, joinedWords, outcome, undoing } from "./admin-desk-words.js";
import { banner, confirm, h, show, write } from "./admin-dom.js";
import { connection, guard } from "./admin-frame.js";
import { count, number, t } from "./admin-text.js";
import { dayWords, queueBadge } from "./admin-words.js";

const SOME = 50;
const MANY = 500;
/** A call this soon after an answer is a double tap, and does nothing. */
const DOUBLE_TAP_MS = 600;
/** Changes within this time are read together. */
const REST_MS = 150;

export function start() {
  new Desk(page.queue).begin();
}

class Desk {
  constructor(queue) {
    this.queue = queue;
    this.floor = null;
    this.offset = 0;
    this.limit = SOME;
    this.epoch = 0;
    this.root = show("floor");
    this.next = document.querySelector('[data-do="call-next"]');
    this.more = document.querySelector('[data-do="more"]');
    this.presses = new Presses(queue, {
      busy: () => this.mark(),
      trouble: (press, error, tries) => this.trouble(press, error, tries),
    });
    this.mine = new MyDesk(queue, {
      chosen: () => {
        this.draw();
        this.next.focus();
      },
      set: (open) => this.setDesk(open),
    });
    const press = (act, ticket) => this.act(act, ticket),
      open = (ticket) => this.toggle(ticket);
    const rows = (where) =>
      new KeyedList(show(where), (ticket) => row(ticket, this.about(ticket), press, open), factsOf);
    this.lists = {
      mine: new KeyedList(show("mine"), (ticket) => card(ticket, this.about(ticket), press), factsOf),
      line: rows("line"),
      elsewhere: rows("elsewhere"),
      on_hold: rows("on_hold"),
      missed: rows("missed"),
    };
  }

  begin() {
    this.next.addEventListener("click", () => this.callNext());
    this.more.addEventListener("click", () => {
      this.limit = MANY;
      this.read();
    });
    document.querySelector('[data-do="add"]').addEventListener("click", () => add(this));
    listenToKeys(this);
    for (const option of document.querySelectorAll("[data-day]")) option.textContent = dayWords(option.value);
    setInterval(() => this.tick(), 500);
    new Live(queuePath(this.queue, "/live"), {
      now: () => {
        this.presses.hurry();
        this.read();
      },
      event: () => this.read(),
      state: (state, more) => {
        connection(state, more);
        if (state === "ended" && more === "queue_not_found")
          banner("gone", t("queue_removed"), "bad", h("a", { href: "/admin" }, t("back_to_queues")));
      },
    });
    this.read();
    this.goOn();
  }

  // Reading

  /** Read where everyone is. A call while another reading is under way makes one more follow it. */
  async read() {
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = true;
    const epoch = this.epoch;
    try {
      const floor = await get(queuePath(this.queue, `/floor?limit=${this.limit}`));
      // What was read before a press was answered may not include that press yet.
      if (epoch === this.epoch) this.update(floor);
      else this.again = true;
    } catch {
      // The stream shows what is wrong, and causes a new reading when it is back.
    }
    setTimeout(() => {
      this.reading = false;
      if (this.again) {
        this.again = false;
        this.read();
      }
    }, REST_MS);
  }

  update(floor) {
    const called = new Set(
      (this.floor?.called ?? []).filter((ticket) => this.mine.has(ticket)).map((ticket) => ticket.ticket),
    );
    const late = floor.missed.find((ticket) => called.has(ticket.ticket) && this.presses.now?.ticket !== ticket.ticket);
    floor.missed.sort((one, other) => new Date(other.ended_at) - new Date(one.ended_at));
    this.floor = floor;
    this.offset = new Date(floor.at) - Date.now();
    this.mine.update(floor);
    this.draw();
    if (late) this.say(t("said_late", { who: name(late) }), "", this.undo({ act: "reinstate" }, late));
  }

  /** Show tickets as the answer to a press has them, without waiting for the next reading. */
  moved(tickets) {
    this.epoch += 1;
    if (!this.floor) return;
    this.floor = withMoved(this.floor, tickets);
    this.draw();
    this.read();
  }

  // Drawing

  draw() {
    const { floor, mine } = this;
    if (!floor) return;
    const inside = this.root.contains(document.activeElement);
    this.root.removeAttribute("aria-busy");
    const at = [...floor.called, ...floor.serving];
    this.lists.mine.draw(
      at
        .filter((ticket) => mine.has(ticket))
        .sort((one, other) => new Date(other.admitted_at) - new Date(one.admitted_at)),
    );
    this.lists.line.draw(floor.line);
    this.section(
      "elsewhere",
      at.filter((ticket) => !mine.has(ticket)),
    );
    this.section("on_hold", floor.on_hold);
    this.section("missed", floor.missed);
    this.more.hidden = floor.waiting <= floor.line.length || this.limit === MANY;
    const first = floor.line[0];
    write(
      show("next-who"),
      first
        ? [name(first), first.party_size > 1 ? count("people", first.party_size) : null].filter(Boolean).join(" · ")
        : t("crowd_none"),
    );
    write(show("waiting"), floor.waiting ? number(floor.waiting) : t("crowd_none"));
    write(show("on-hold-count"), number(floor.on_hold_count));
    write(show("missed-count"), number(floor.missed.length));
    this.root.classList.toggle("at-work", this.lists.mine.shown.size > 0);
    this.status(floor);
    guard(this.root);
    this.mark();
    this.tick();
    if (inside && document.activeElement === document.body) this.next.focus();
    document.title = `${count("crowd", floor.waiting)} · ${floor.name} · Fairline`;
  }

  section(where, tickets) {
    this.lists[where].draw(tickets);
    show(where).closest("section").hidden = !tickets.length;
  }

  status(floor) {
    const element = show("status"),
      { name: shown, status } = floor,
      { label, tone } = queueBadge(floor);
    element.hidden = false;
    element.className = `badge ${tone}`;
    write(element, label);
    write(show("name"), shown);
    banner(
      "status",
      {
        paused: t("desk_paused"),
        maintenance: t("desk_maintenance"),
      }[status] ?? null,
    );
  }

  /** What a person came for, from the series of their label; null if the queue has no text for it. */
  about({ label }) {
    const [, series] = label.match(/([^-]*[A-Z])\d+$/) ?? [];
    return this.floor.series_texts[series] ?? null;
  }

  tick() {
    if (!this.floor) return;
    const positions = new Map(this.floor.line.map((ticket, i) => [ticket.ticket, i + 1]));
    const deadlines = new Map(this.floor.called.map((ticket) => [ticket.ticket, ticket.deadline]));
    tick(this.root, Date.now() + this.offset, positions, this.floor.claim_seconds, deadlines);
  }

  /** While a press is under way no other button works. They keep their focus, so they are not `disabled`. */
  mark() {
    const busy = Boolean(this.presses.now);
    for (const button of this.root.querySelectorAll("[data-press]")) button.setAttribute("aria-disabled", String(busy));
    this.next.disabled = !may("operator");
    this.next.setAttribute("aria-disabled", String(busy || this.resting || !this.mine.name));
    this.root.classList.toggle("busy", busy);
    write(show("next-word"), busy && this.presses.now.path === "/call-next" ? t("calling") : t("call_next"));
  }

  /** Show all actions of one row, and hide those of every other row; with null, hide all. */
  toggle(ticket) {
    const left = document.activeElement?.closest(".extra")?.closest("li");
    for (const row_ of this.root.querySelectorAll("li[data-ticket]")) {
      const extra = row_.querySelector(".extra"),
        toggle = row_.querySelector('[data-act="more"]');
      if (!toggle) continue;
      extra.hidden = Number(row_.dataset.ticket) !== ticket || !extra.hidden;
      toggle.setAttribute("aria-expanded", String(!extra.hidden));
      if (row_ === left && extra.hidden) toggle.focus();
    }
  }

  /** Say what happened, in the status line. */
  say(text, tone, ...more) {
    say(text, tone, ...more);
  }

  trouble(press, error, tries) {
    sayTrouble(press, error, () => this.presses.stop());
    if (tries === 0) this.noAnswer?.();
  }

  // Pressing

  /** Send a press and say what it did, with the button that undoes it, if `undo` makes one. Returns the tickets it
   *  changed, or null if nothing was done. */
  async press(press, tell, undo, again = false) {
    const sent = this.presses.send(press, again);
    try {
      const answer = await sent;
      if (!answer) return null;
      if (answer.stopped) {
        this.say(t("stopped_trying", { what: press.title }), "bad");
        this.read();
        return null;
      }
      const tickets = answer.data.tickets ?? (press.ticket || press.act ? [answer.data] : []);
      this.moved(tickets);
      this.say(tell(answer.data), "", undo?.(answer.data) ?? "");
      return tickets;
    } catch (error) {
      this.epoch += 1;
      this.read();
      this.say(error.message, "bad");
      return null;
    }
  }

  /** With `meant` the call cannot be a double tap, and is not ignored as one. */
  async callNext(meant = false) {
    if (!may("operator") || this.presses.now) return;
    if (!this.mine.name) {
      this.say(t("choose_desk_first"), "bad");
      this.mine.focus();
      return;
    }
    if (this.resting && !meant) return;
    if (!(await this.mayCallAnother())) return;
    await this.press(
      { title: t("call_next"), path: "/call-next", body: { count: 1, desk: this.mine.name }, key: newKey() },
      calledWords,
    );
    this.resting = true;
    this.mark();
    setTimeout(() => {
      this.resting = false;
      this.mark();
    }, DOUBLE_TAP_MS);
  }

  /** A desk that still has someone called asks before it calls another person. */
  async mayCallAnother() {
    const called = this.floor?.called.find((ticket) => this.mine.has(ticket));
    if (!called) return true;
    const who = name(called);
    return confirm(
      t("call_another"),
      t("call_another_text", { who }),
      t("call_another_button"),
      "",
      t("wait_for_them"),
    );
  }

  /** What takes back what a message reports. */
  undo({ act, with: values = {} }, ticket) {
    return undoButton(() => this.act(act, ticket, values));
  }

  /** With `values` nothing is asked: they are the body of the call. */
  async act(act, ticket, values) {
    if (!may("operator") || this.presses.now) return;
    this.toggle(null);
    if (act === "done_next") {
      if (await this.act("complete", ticket)) await this.callNext(true);
      return;
    }
    const { path = act, body } = ACTS[act];
    const send = (sent) =>
      this.press(
        {
          title: t("act_on", { act: ACTS[act].label, who: name(ticket) }),
          act,
          path: `/tickets/${ticket.ticket}/${path}`,
          body: sent,
          ticket: act === "transfer" ? undefined : ticket.ticket,
          seen: changeable(ticket),
        },
        (now) => outcome(act, now),
        (now) => {
          const undo = undoing(act, now, ticket);
          return undo && this.undo(undo, now);
        },
      );
    if (values) return send(values);
    if (act === "call") {
      if (!this.mine.name) {
        this.say(t("choose_desk_first"), "bad");
        this.mine.focus();
        return;
      }
      if (!(await this.mayCallAnother())) return;
      return send({ desk: this.mine.name });
    }
    if (act === "prioritise") return chooseLevel(ticket, send);
    if (act === "transfer") return chooseQueue(this, ticket, send);
    if (
      act === "cancel" &&
      !(await confirm(t("remove_who", { who: name(ticket) }), t("remove_text"), t("remove"), "bad", t("keep")))
    )
      return;
    return send(body?.(ticket) ?? {});
  }

  setDesk(open) {
    return this.press(
      { title: open ? t("open_desk") : t("close_desk"), path: "/desks", body: { name: this.mine.name, open } },
      ({ desks }) => {
        this.floor = { ...this.floor, desks };
        this.mine.update(this.floor);
        return open ? t("said_desk_open", { desk: this.mine.name }) : t("said_desk_closed", { desk: this.mine.name });
      },
    );
  }

  /** Send again the press whose answer had not come when the page was closed. */
  async goOn() {
    const left = this.presses.left();
    if (!left) return;
    if (left.late) this.say(t("unanswered", { what: left.title }), "bad");
    else
      await this.press(
        left,
        (data) =>
          left.path === "/call-next"
            ? calledWords(data)
            : left.path === "/join"
              ? joinedWords(data)
              : left.act
                ? outcome(left.act, data)
                : t("done"),
        undefined,
        true,
      );
  }
}
