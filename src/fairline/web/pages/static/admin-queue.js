// The page of one queue: its numbers, its tabs, and what they share.

import { call, Live, page, queuePath } from "./admin-api.js";
import { Health, Message, Stock } from "./admin-aside.js";
import { Charts } from "./admin-charts.js";
import { banner, confirm, h, show, toast, write } from "./admin-dom.js";
import { Events } from "./admin-events.js";
import { Flow } from "./admin-flow.js";
import { connection, guard, shortcut } from "./admin-frame.js";
import { History } from "./admin-history.js";
import { ownTime } from "./admin-opening-times.js";
import { Openings } from "./admin-openings.js";
import { Passes } from "./admin-passes.js";
import { People } from "./admin-people.js";
import { Screens } from "./admin-screens.js";
import { Settings } from "./admin-settings.js";
import { count, number, t } from "./admin-text.js";
import { ago, queueBadge, reasonWords } from "./admin-words.js";

const TABS = ["now", "people", "settings", "openings", "history", "passes"];

/** What the parts of the page share: the queue, its latest snapshot, and its calls. */
class Queue {
  constructor(id) {
    this.id = id;
    this.now = null;
    this.parts = [];
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
    panel("now").removeAttribute("aria-busy");
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
    new Screens(queue),
    people,
    new Settings(queue, panel("settings")),
    new Openings(queue, panel("openings")),
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
      `${count("joins_a_minute", stats.joins_per_minute)} · ${t("peak", { n: number(stats.peak_waiting) })}`,
    );
    const onTheWay = t("on_the_way", { n: number(stats.admitted) });
    // At desks nobody counts how many fit inside.
    const inside_ =
      queue.admission === "manual" ? onTheWay : `${t("of_n", { n: number(queue.max_active) })} · ${onTheWay}`;
    write(show("inside-under"), inside_);
    this.bar.classList.toggle("unused", queue.admission === "manual");
    const reasons = Object.entries(stats.expired_by_reason)
      .filter(([, n]) => n)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 2);
    write(
      show("gone-under"),
      reasons.map(([reason, n]) => `${number(n)} ${reasonWords(reason)}`).join(" · ") || t("nobody_yet"),
    );
    const share = Math.min(1, inside / queue.max_active);
    this.meter.style.width = `${(share * 100).toFixed(1)}%`;
    this.bar.classList.toggle("full", share >= 1);
    this.last = stats;
    this.lately(stats);
    document.title = `${count("crowd", stats.waiting)} · ${queue.name} · Fairline`;
  }

  lately(stats) {
    write(
      show("done-under"),
      stats.last_admission_at
        ? t("let_in_lately", { n: number(stats.admissions_per_minute), ago: ago(stats.last_admission_at) })
        : t("nobody_let_in"),
    );
  }
}

/** What the status of a queue means, or the opening that has not started; nothing if people are let in. */
function statusWords({ status, phase, next_opening: opening }) {
  if (status === "paused") return t("queue_paused");
  if (status === "maintenance") return t("queue_maintenance");
  if (phase === "drawing") return t("queue_in_draw");
  return phase === "prequeue" && opening ? t("queue_in_prequeue", { when: ownTime(opening.starts_at) }) : null;
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
    write(this.pause, queue.status === "active" ? t("pause") : queue.status === "paused" ? t("resume") : t("open"));
    this.close.hidden = queue.status === "maintenance";
    banner("status", statusWords(queue));
  }

  async turn(status) {
    const line = count("in_line", this.queue.now?.stats.waiting ?? 0);
    const called = this.queue.now?.queue.admission === "manual";
    const ask = {
      "maintenance active": [
        t("open_title"),
        called ? t("open_text_called", { line }) : t("open_text", { line }),
        t("open"),
        "",
      ],
      "paused active": [
        t("resume_title"),
        called ? t("resume_text_called", { line }) : t("resume_text", { line }),
        t("resume"),
        "",
      ],
      paused: [t("pause_title"), t("pause_text", { line }), t("pause"), "", t("keep_open")],
      maintenance: [
        t("maintenance_ask"),
        t("maintenance_ask_text", { line }),
        t("maintenance_start"),
        "bad",
        t("keep_as_is"),
      ],
    };
    if (!(await confirm(...(ask[status] ?? ask[`${this.status} ${status}`])))) return;
    try {
      await this.queue.change({ status }, t(`now_${status}`));
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
      h("h1", {}, t("queue_removed_title")),
      h("p", {}, t("queue_removed_text")),
      h("a", { class: "button", href: "/admin" }, t("back_to_queues")),
    ),
  );
  main.focus();
}
