// The list of events, live and in words.

import { get } from "./admin-api.js";
import { h, show, write } from "./admin-dom.js";
import { count, number, t } from "./admin-text.js";
import { eventWords, KINDS, kindOf, timeExact } from "./admin-words.js";

const KEPT = 400;
const SHOWN = 120;

export class Events {
  constructor(queue, open) {
    this.queue = queue;
    this.open = open;
    this.list = show("events");
    this.filter = show("event-filter");
    this.pauseButton = document.querySelector('[data-do="pause-events"]');
    this.all = [];
    this.pending = 0;
    this.lines = new Map();
    this.nothing = h("li", {}, h("span"), h("span"), h("span", { class: "note" }, t("no_events")));
    this.filter.append(
      h("option", { value: "" }, t("everything")),
      ...Object.entries(KINDS).map(([kind, { label }]) => h("option", { value: kind }, label)),
    );
    this.filter.addEventListener("change", () => this.draw());
    this.pauseButton.addEventListener("click", () => this.togglePause());
    this.draw();
  }

  /** Load the latest events from before the page was opened. */
  async load() {
    try {
      const { after } = await get(this.queue.path("/events?after=latest&limit=1"));
      const events = await this.before(after);
      const known = new Set(this.all.map((event) => event.id));
      this.all = [...this.all, ...events.reverse().filter((event) => !known.has(event.id))].slice(0, KEPT);
      this.draw();
    } catch {
      // New events are shown all the same.
    }
  }

  /** The events just before the newest. The API lists the oldest first, so start a little before: ids are times or
   *  numbers. */
  async before(newest) {
    const [first, timed] = [Number(newest.split("-")[0]), newest.includes("-")];
    for (const back of timed ? [600_000, 60_000, 10_000, 1000] : [150]) {
      const after = timed ? `${first - back}-0` : String(Math.max(0, first - back));
      const { events } = await get(this.queue.path(`/events?limit=500&after=${after}`));
      if (events.length < 500) return events;
    }
    return [];
  }

  add(event) {
    if (this.all.some((each) => each.id === event.id)) return;
    this.all.unshift(event);
    this.all.length = Math.min(this.all.length, KEPT);
    this.scheduleDraw();
  }

  leftOut({ at_least }) {
    this.all.unshift({
      id: `left-out-${Date.now()}`,
      at: new Date().toISOString(),
      type: "left_out",
      detail: at_least,
    });
    this.scheduleDraw();
  }

  scheduleDraw() {
    if (this.pauseButton.getAttribute("aria-pressed") === "true") {
      this.pending += 1;
      write(this.pauseButton, t("show_new", { n: number(this.pending) }));
      return;
    }
    this.timer ??= requestAnimationFrame(() => {
      this.timer = null;
      this.draw();
    });
  }

  togglePause() {
    const paused = this.pauseButton.getAttribute("aria-pressed") === "true";
    this.pauseButton.setAttribute("aria-pressed", String(!paused));
    write(this.pauseButton, t("pause_list"));
    this.pending = 0;
    if (paused) this.draw();
  }

  /** An event that is shown already keeps its element: the focus stays on its ticket, and a selection in its text. */
  draw() {
    const kind = this.filter.value;
    const found = this.all.filter((event) => !kind || kindOf(event.type) === kind).slice(0, SHOWN);
    const lines = new Map(found.map((event) => [event.id, this.lines.get(event.id) ?? this.line(event)]));
    for (const [id, line] of this.lines) if (!lines.has(id)) this.drop(line);
    this.lines = lines;
    this.nothing.remove();
    if (!lines.size) this.list.append(this.nothing);
    [...lines.values()].forEach((line, i) => {
      if (this.list.children[i] !== line) this.list.insertBefore(line, this.list.children[i] ?? null);
    });
  }

  /** Remove a line. If it has the focus, the list gets it. */
  drop(line) {
    if (line.contains(document.activeElement)) this.list.focus({ preventScroll: true });
    line.remove();
  }

  line(event) {
    const words = event.type === "left_out" ? count("left_out", event.detail) : eventWords(event);
    const who = event.ticket
      ? h("button", { type: "button", onclick: () => this.open(event.ticket) }, event.label ?? `#${event.ticket}`)
      : null;
    return h(
      "li",
      { "data-type": event.type },
      h("time", { datetime: event.at }, timeExact(event.at)),
      h("i", { class: kindOf(event.type), "aria-hidden": "true" }),
      h("span", {}, who, who ? ` ${words}` : words),
    );
  }
}
