// Admission rate and capacity. The page says what a change would do before it is applied.

import { call, get, may } from "./admin-api.js";
import { debounce, h, show, toast } from "./admin-dom.js";
import { number, t } from "./admin-text.js";
import { dateTime, duration, timeOfDay } from "./admin-words.js";

const STEPS = 1000;
/** Stands where the wait is written, in bold. */
const MARK = "\u0000";
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
      "aria-label": t("exactly", { label }),
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
    this.rate = new Slider("rate", t("let_in"), t("a_minute"), 0, 6_000_000, changed);
    this.capacity = new Slider("capacity", t("capacity_inside"), t("people_unit"), 1, 10_000_000, changed);
    this.said = h("p", { class: "then", "data-show": "preview" }, "–");
    this.more = h("p", { class: "note" });
    this.box = h("div", { class: "preview", "aria-live": "polite" }, this.said, this.more);
    this.apply = h(
      "button",
      { type: "button", class: "button", "data-do": "apply-flow", onclick: () => this.send() },
      t("apply"),
    );
    this.cancel = h(
      "button",
      { type: "button", class: "button quiet", "data-do": "cancel-flow", onclick: () => this.back() },
      t("cancel"),
    );
    this.tools = h("div", { class: "flow-tools", hidden: true }, this.cancel, this.apply);
    this.element = show("flow");
    this.element.append(this.rate.element, this.capacity.element, this.box, this.tools);
    if (!may("operator")) this.element.append(h("p", { class: "note" }, t("flow_view_only")));
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
      this.said.textContent = error.status === 422 ? error.message : t("preview_not_loaded");
      this.more.textContent = "";
    }
  }

  /** "At 300 a minute the last person waits about 12 minutes, now 31." */
  say(now, then) {
    const { dirty } = this,
      wait = then.last_wait_seconds;
    this.more.textContent = "";
    if (!this.now.waiting) this.said.textContent = dirty ? t("flow_nobody_yet") : t("flow_nobody");
    else if (wait === null) this.said.textContent = then.why ? t(`flow_why_${then.why}`) : t("not_enough_data");
    else {
      const before = dirty && now.last_wait_seconds !== null ? duration(now.last_wait_seconds) : null;
      const values = { at: this.pace(dirty), wait: MARK, now: before };
      const [start, end] = (before ? t("flow_wait_now", values) : t("flow_wait", values)).split(MARK);
      this.said.replaceChildren(start, h("b", {}, duration(wait)), end);
      this.more.textContent = this.detail(then);
    }
  }

  pace(dirty) {
    const at = this.now.manual
      ? t("flow_at_pace")
      : t("flow_at_rate", { n: number(Math.round(this.rate.amount * 10) / 10) });
    return dirty && this.capacity.amount !== this.now.capacity
      ? t("flow_with_capacity", { at, n: number(this.capacity.amount) })
      : at;
  }

  detail({ last_wait_range: range, clears_at: clears }) {
    const full = this.dirty && this.now.full && this.rate.amount > this.now.rate;
    return [
      full && this.capacity.amount <= this.now.capacity ? t("flow_full") : "",
      range ? t("flow_likely", { from: duration(range[0], true), to: duration(range[1], true) }) : "",
      clears ? t("flow_clears", { time: nearTime(clears) }) : "",
    ]
      .filter(Boolean)
      .join(" ");
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
      toast(t("applied"));
    } catch (error) {
      toast(error.message, "bad");
    }
    this.apply.disabled = false;
  }
}
