// The page of one queue: its numbers, its tabs, and what they share.

import { call, Live, page, queuePath } from "./admin-api.js";
import { Health, Message, Stock } from "./admin-aside.js";
import { Charts } from "./admin-charts.js";
import { banner, confirm, h, show, toast, write } from "./admin-dom.js";
import { Events } from "./admin-events.js";
import { Flow } from "./admin-flow.js";
import { connection, guard, shortcut } from "./admin-frame.js";
import { History } from "./admin-history.js";
import { Passes } from "./admin-passes.js";
import { People } from "./admin-people.js";
import { Settings } from "./admin-settings.js";
import { ago, number, plural, queueBadge, REASON } from "./admin-words.js";

const TABS = ["now", "people", "settings", "history", "passes"];

/** What the parts of the page share: the queue, its latest snapshot, and its calls. */
class Queue {
  constructor(id) {
    this.id = id;
    this.now = null;
    this.parts = [];
  }

  /** The label of a ticket, as its holder sees it. */
  label(ticket) {
    return this.now ? `R${this.now.queue.ticket_prefix}-${String(ticket).padStart(6, "0")}` : `#${ticket}`;
  }

  path(rest = "") {
    return queuePath(this.id, rest);
  }

  /** Change only the settings given, so that what others changed in the meantime stays. */
  async change(changes, done) {
    const { data } = await call("PATCH", this.path(), changes);
    if (done) toast(done);
    return data;
  }

  update(now) {
    const newer = this.now?.queue.version !== now.queue.version;
    this.now = now;
    for (const part of this.parts) part.update?.(now, newer);
  }
}

export function start() {
  const queue = new Queue(page.queue);
  const people = new People(queue, panel("people"));
  const events = new Events(queue, (ticket) => people.open(ticket));
  const flow = new Flow(queue);
  const message = new Message(queue);
  queue.parts = [
    new Figures(queue),
    new Controls(queue),
    flow,
    message,
    new Stock(queue),
    new Charts(queue),
    new Health(),
    people,
    new Settings(queue, panel("settings")),
    new History(queue, panel("history")),
    new Passes(queue, panel("passes")),
  ];
  tabs(queue);
  new Live(queue.path("/live"), {
    now: ({ glance, stats }) => queue.update({ queue: glance, stats }),
    event: (event) => events.add(event),
    leftOut: (more) => events.leftOut(more),
    state: (state, more) => (state === "ended" && more === "queue_not_found" ? gone() : connection(state, more)),
  });
  events.load();
  shortcut("p", () => document.querySelector('[data-do="pause"]').click());
  shortcut("n", () => document.querySelector('[data-do="call-next"]').click()); // nothing if it is disabled
  shortcut("/", () => {
    choose("people");
    people.search.focus();
  });
  shortcut("r", () => {
    choose("now");
    flow.focus();
  });
  shortcut("m", () => {
    choose("now");
    message.focus();
  });
  guard();
}

const panel = (name) => document.getElementById(`panel-${name}`);

/** The large numbers at the top. */
class Figures {
  constructor() {
    this.meter = h("span");
    this.bar = h("div", { class: "meter", "aria-hidden": "true" }, this.meter);
    show("inside").closest(".figure").append(this.bar);
    setInterval(() => this.last && this.lately(this.last), 1000);
  }

  update({ queue, stats }) {
    const inside = stats.admitted + stats.active;
    write(show("waiting"), number(stats.waiting));
    write(show("inside"), number(inside));
    write(show("done"), number(stats.completed));
    write(show("gone"), number(stats.expired));
    write(
      show("waiting-under"),
      `${plural(stats.joins_per_minute, "join")} a minute · peak ${number(stats.peak_waiting)}`,
    );
    write(show("inside-under"), `of ${number(queue.max_active)} · ${number(stats.admitted)} on the way`);
    const reasons = Object.entries(stats.expired_by_reason)
      .filter(([, count]) => count)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 2);
    write(
      show("gone-under"),
      reasons.map(([reason, count]) => `${number(count)} ${REASON[reason]}`).join(" · ") || "nobody yet",
    );
    const share = Math.min(1, inside / queue.max_active);
    this.meter.style.width = `${(share * 100).toFixed(1)}%`;
    this.bar.classList.toggle("full", share >= 1);
    this.last = stats;
    this.lately(stats);
    document.title = `${number(stats.waiting)} waiting · ${queue.name} · Fairline`;
  }

  lately(stats) {
    write(
      show("done-under"),
      stats.last_admission_at
        ? `${number(stats.admissions_per_minute)} let in a minute · last ${ago(stats.last_admission_at)}`
        : "nobody let in yet",
    );
  }
}

/** The buttons that pause, resume and close the queue, and the banner that says what its status means. */
class Controls {
  constructor(queue) {
    this.queue = queue;
    this.pause = document.querySelector('[data-do="pause"]');
    this.close = document.querySelector('[data-do="maintenance"]');
    this.pause.addEventListener("click", () => this.turn(this.status === "active" ? "paused" : "active"));
    this.close.addEventListener("click", () => this.turn(this.status === "maintenance" ? "active" : "maintenance"));
  }

  update({ queue }) {
    this.status = queue.status;
    write(show("name"), queue.name);
    const shown = show("status"),
      { label, tone } = queueBadge(queue);
    shown.hidden = false;
    shown.className = `badge ${tone}`;
    write(shown, label);
    write(this.pause, queue.status === "active" ? "Pause" : queue.status === "paused" ? "Resume" : "Open");
    this.close.hidden = queue.status === "maintenance";
    banner(
      "status",
      queue.status === "paused"
        ? "Paused: people can join, but nobody is let in."
        : queue.status === "maintenance"
          ? "Maintenance: nobody can join, and nobody is let in. People in line keep their places."
          : null,
    );
  }

  async turn(status) {
    const line = `${plural(this.queue.now?.stats.waiting ?? 0, "person", "people")} in line`;
    const comes = this.queue.now?.queue.admission === "manual" ? "you can call the next" : "people are let in";
    const ask = {
      "maintenance active": ["Open the queue?", `People can join again, and ${comes}. ${line}.`, "Open", ""],
      "paused active": ["Resume?", `From now on ${comes} again. ${line}.`, "Resume", ""],
      paused: [
        "Pause the queue?",
        `Nobody is let in until you resume. ${line} keep their places, and others can still join.`,
        "Pause",
        "",
      ],
      maintenance: [
        "Close for maintenance?",
        `Nobody can join, and nobody is let in. ${line} keep their places.`,
        "Close",
        "bad",
      ],
    };
    if (!(await confirm(...(ask[status] ?? ask[`${this.status} ${status}`])))) return;
    try {
      await this.queue.change(
        { status },
        { active: "The queue is open.", paused: "Paused.", maintenance: "Closed for maintenance." }[status],
      );
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}

/** Show one tab. `tabs` sets it. */
let choose;

/** The tabs. The address says which one is open. */
function tabs(queue) {
  const buttons = TABS.map((name) => document.getElementById(`tab-${name}`));
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => choose(TABS[i]));
    button.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: TABS.length - 1 }[event.key];
      if (to === undefined) return;
      const next = (to + TABS.length) % TABS.length;
      choose(TABS[next]);
      buttons[next].focus();
    });
    shortcut(String(i + 1), () => choose(TABS[i]));
  });
  let open = null;
  const follow = () => {
    const name = TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "now";
    if (name === open) return;
    open = name;
    TABS.forEach((each, i) => {
      const chosen = each === name;
      buttons[i].setAttribute("aria-selected", String(chosen));
      buttons[i].tabIndex = chosen ? 0 : -1;
      panel(each).hidden = !chosen;
    });
    for (const part of queue.parts) if (part.panel === panel(name)) part.opened?.();
  };
  // At once, and not on `hashchange`: an element that is still hidden cannot take the focus.
  choose = (name) => {
    location.hash = name;
    follow();
  };
  addEventListener("hashchange", follow);
  follow();
}

/** The queue was removed while its page was open. */
async function gone() {
  connection("ended");
  const main = document.getElementById("main");
  main.replaceChildren(
    h(
      "div",
      { class: "empty" },
      h("h1", {}, "This queue was removed"),
      h("p", {}, "All its tickets were removed with it. The audit log shows who removed it."),
      h("a", { class: "button", href: "/admin" }, "Back to the queues"),
    ),
  );
  main.focus();
}
