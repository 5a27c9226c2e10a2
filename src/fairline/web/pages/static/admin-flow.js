// Admission rate and capacity. The page says what a change would do before it is applied.

import { call, get, may } from "./admin-api.js";
import { debounce, h, show, toast } from "./admin-dom.js";
import { dateTime, duration, number, timeOfDay } from "./admin-words.js";

const STEPS = 1000;
const WHY = {
  nobody_waits: "Nobody is waiting.",
  not_active: "The queue is not open, so we can't say when the line moves.",
  stock_unknown: "The stock is not known yet. Nobody is let in until it is.",
  stock_short: "There is not enough left for the last person in line.",
  not_called_yet: "Staff have not called anyone recently, so we can't say when the line moves.",
  rate_zero: "At this rate nobody is let in.",
  stays_unknown: "They do not all fit inside, and nobody has left yet: we can't say how long the last person waits.",
};

/** The time of day, with the date if it is more than 20 hours away. */
const nearTime = (at) => (new Date(at) - Date.now() < 72_000_000 ? timeOfDay(at) : dateTime(at));

/** The curve of a slider, from position to amount and back: fine steps at the low end, large ones at the high end. */
export function curve(least, most) {
  const low = Math.max(1, least);
  return {
    amount: (position) => (position <= 0 ? least : rounded(low * (most / low) ** (position / STEPS))),
    position: (amount) =>
      amount <= least ? 0 : Math.max(1, Math.round((STEPS * Math.log(amount / low)) / Math.log(most / low))),
  };
}

function rounded(amount) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(amount)) - 1);
  return Math.round(amount / unit) * unit;
}

class Slider {
  constructor(name, label, unit, least, greatest, changed) {
    this.least = least;
    this.greatest = greatest;
    this.most = 10_000;
    this.changed = changed;
    const id = `slide-${name}`;
    this.range = h("input", {
      type: "range",
      id,
      min: 0,
      max: STEPS,
      step: 1,
      "data-slide": name,
      "data-needs": "operator",
      oninput: () => this.set(this.curve.amount(Number(this.range.value)), this.range),
    });
    this.exact = h("input", {
      type: "number",
      min: least,
      max: greatest,
      step: "any",
      "aria-label": `${label}, exactly`,
      "data-exact": name,
      "data-needs": "operator",
      oninput: () => this.exact.value !== "" && this.set(Number(this.exact.value), this.exact),
      onchange: () => this.shown(),
    });
    this.element = h(
      "div",
      { class: "slide" },
      h(
        "div",
        { class: "row" },
        h("label", { for: id }, label),
        h("span", { class: "amount" }, this.exact, h("span", { class: "unit" }, unit)),
      ),
      this.range,
    );
  }

  get curve() {
    return curve(this.least, this.most);
  }

  /** Show the value that is set on the server. */
  reset(amount) {
    this.most = Math.max(this.least ? 2000 : 6000, amount * 10);
    this.set(amount, null);
  }

  /** Show the amount that would be applied, also after a value out of range was typed. */
  shown() {
    this.exact.value = Math.round(this.amount * 100) / 100;
  }

  set(amount, by) {
    const within = Math.min(this.greatest, Math.max(this.least, amount));
    this.amount = this.least ? Math.round(within) : within; // there is no half a person
    if (by !== this.range) this.range.value = this.curve.position(this.amount);
    if (by !== this.exact) this.shown();
    this.range.setAttribute("aria-valuetext", this.exact.value);
    if (by) this.changed();
  }
}

export class Flow {
  constructor(queue) {
    this.queue = queue;
    this.ask = debounce(0.12, () => this.preview());
    const changed = () => {
      this.mark();
      this.ask();
    };
    this.rate = new Slider("rate", "Let in", "a minute", 0, 6_000_000, changed);
    this.capacity = new Slider("room", "Capacity inside", "people", 1, 10_000_000, changed);
    this.said = h("p", { class: "then", "data-show": "preview" }, "–");
    this.more = h("p", { class: "note" });
    this.box = h("div", { class: "preview", "aria-live": "polite" }, this.said, this.more);
    this.apply = h(
      "button",
      { type: "button", class: "button", "data-do": "apply-flow", onclick: () => this.send() },
      "Apply",
    );
    this.cancel = h(
      "button",
      { type: "button", class: "button quiet", "data-do": "cancel-flow", onclick: () => this.back() },
      "Cancel",
    );
    this.tools = h("div", { class: "flow-tools", hidden: true }, this.cancel, this.apply);
    this.element = show("flow");
    this.element.append(this.rate.element, this.capacity.element, this.box, this.tools);
    if (!may("operator")) this.element.append(h("p", { class: "note" }, "View only: your key cannot change this."));
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && this.back());
    setInterval(() => {
      if (!document.hidden && this.now && !this.dirty) this.ask();
    }, 5000);
  }

  focus() {
    this.rate.range.focus();
  }

  get dirty() {
    return (
      Boolean(this.now) &&
      (Math.abs(this.rate.amount - this.now.rate) > 1e-6 || this.capacity.amount !== this.now.capacity)
    );
  }

  update({ queue, stats }) {
    const before = this.now,
      dirty = this.dirty;
    this.now = {
      rate: queue.admission_rate * 60,
      capacity: queue.max_active,
      manual: queue.admission === "manual",
      full: stats.admitted + stats.active >= queue.max_active,
      waiting: stats.waiting,
      status: queue.status,
    };
    if (!before || (!dirty && (before.rate !== this.now.rate || before.capacity !== this.now.capacity))) this.back();
    if (!before || before.status !== this.now.status || before.waiting !== this.now.waiting) this.ask();
    this.rate.element.hidden = this.now.manual;
    this.mark();
  }

  back() {
    this.rate.reset(this.now.rate);
    this.capacity.reset(this.now.capacity);
    this.mark();
    this.ask();
  }

  mark() {
    this.tools.hidden = !this.dirty;
    this.box.toggleAttribute("data-changed", this.dirty);
  }

  async preview() {
    const asked = new URLSearchParams({
      admission_rate: String(this.rate.amount / 60),
      max_active: String(Math.max(1, Math.round(this.capacity.amount))),
    });
    try {
      const preview = await get(this.queue.path(`/preview?${asked}`));
      this.say(preview.now, preview.then);
    } catch (error) {
      this.said.textContent = error.status === 422 ? error.message : "Couldn't load the preview.";
      this.more.textContent = "";
    }
  }

  /** "At 300 a minute the last person waits about 12 minutes, now 31." */
  say(now, then) {
    const dirty = this.dirty,
      wait = then.last_wait_seconds;
    this.more.textContent = "";
    if (!this.now.waiting) {
      this.said.textContent = dirty ? "Nobody is waiting. This will apply to people who join." : "Nobody is waiting.";
    } else if (wait === null) {
      this.said.textContent = WHY[then.why] ?? "Not enough data yet.";
    } else {
      const at = this.now.manual
        ? "At the current pace of calls"
        : `At ${number(Math.round(this.rate.amount * 10) / 10)} a minute`;
      const withCapacity =
        dirty && this.capacity.amount !== this.now.capacity ? ` with capacity for ${number(this.capacity.amount)}` : "";
      this.said.replaceChildren(
        `${at}${withCapacity} the last person waits about `,
        h("b", {}, duration(wait)),
        dirty && now.last_wait_seconds !== null ? `, now ${duration(now.last_wait_seconds)}.` : ".",
      );
      const range = then.last_wait_range
        ? `Most likely ${duration(then.last_wait_range[0], true)} to ${duration(then.last_wait_range[1], true)}`
        : "";
      const clears = then.clears_at ? `the current line clears by ${nearTime(then.clears_at)}` : "";
      const note =
        dirty && this.now.full && this.rate.amount > this.now.rate && this.capacity.amount <= this.now.capacity
          ? "It is full inside: capacity, not the rate, is the limit. "
          : "";
      this.more.textContent = note + [range, clears].filter(Boolean).join("; ") + (range || clears ? "." : "");
    }
  }

  async send() {
    const changes = {};
    if (!this.now.manual && Math.abs(this.rate.amount - this.now.rate) > 1e-6)
      changes.admission_rate = this.rate.amount / 60;
    if (this.capacity.amount !== this.now.capacity) changes.max_active = Math.max(1, Math.round(this.capacity.amount));
    this.apply.disabled = true;
    try {
      const { data } = await call("PATCH", this.queue.path(), changes);
      this.now.rate = data.admission_rate * 60;
      this.now.capacity = data.max_active;
      this.back();
      toast("Applied. You can restore the old values from the history.");
    } catch (error) {
      toast(error.message, "bad");
    }
    this.apply.disabled = false;
  }
}
