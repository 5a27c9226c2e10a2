// The cards next to the charts: the message to everyone, the stock, and the health of the server.

import { get, may, post } from "./admin-api.js";
import { confirm, h, show, toast, write } from "./admin-dom.js";
import { count, number, t } from "./admin-text.js";
import { duration } from "./admin-words.js";

const LONGEST = 2000;

/** Make a button run `work`: disabled meanwhile, with a message if it fails. */
function runs(button, work) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await work();
    } catch (error) {
      toast(error.message, "bad");
    }
    button.disabled = false;
  });
  return button;
}

export class Message {
  constructor(queue) {
    this.queue = queue;
    this.shown = h("p", { class: "shown", "data-show": "message-now", hidden: true });
    this.none = h("p", { class: "note" }, t("no_message"));
    this.text = h("textarea", {
      id: "message-text",
      maxlength: LONGEST,
      rows: 2,
      placeholder: t("message_example"),
      "data-needs": "operator",
    });
    this.send = runs(
      h(
        "button",
        { type: "button", class: "button", "data-do": "send-message", "data-needs": "operator" },
        t("show_to_all"),
      ),
      () => this.say(this.text.value.trim()),
    );
    this.clear = runs(
      h(
        "button",
        { type: "button", class: "button quiet", "data-do": "clear-message", "data-needs": "operator", hidden: true },
        t("remove_message"),
      ),
      () => this.say(""),
    );
    show("message").append(
      h(
        "div",
        { class: "stack" },
        h("p", { class: "label" }, t("shown_now")),
        this.shown,
        this.none,
        h("label", { for: "message-text" }, t("new_message")),
        this.text,
        h("div", { class: "row" }, this.send, this.clear),
      ),
    );
  }

  focus() {
    this.text.focus();
  }

  async say(text) {
    await post(this.queue.path("/message"), { text });
    if (text) this.text.value = "";
    toast(text ? t("message_shown") : t("message_removed"));
  }

  update({ queue }) {
    this.shown.hidden = this.clear.hidden = !queue.message;
    this.none.hidden = Boolean(queue.message);
    write(this.shown, queue.message);
  }
}

export class Stock {
  constructor(queue) {
    this.queue = queue;
    this.facts = h("dl", { class: "pair", "data-show": "stock-now" });
    this.total = h("input", {
      id: "stock-total",
      type: "number",
      min: 0,
      max: 1_000_000_000,
      step: 1,
      placeholder: t("unlimited"),
      "data-needs": "operator",
    });
    this.send = runs(
      h(
        "button",
        { type: "button", class: "button quiet", "data-do": "set-stock", "data-needs": "operator" },
        t("set"),
      ),
      async () => {
        if (!this.total.reportValidity()) return; // what is not a number reads as empty, and empty means unlimited
        const text = this.total.value.trim();
        if (text === "" && !(await confirm(t("unlimited_ask"), t("unlimited_text"), t("unlimited_set")))) return;
        await post(this.queue.path("/stock"), { total: text === "" ? null : Number(text) });
        this.total.value = "";
        toast(text === "" ? t("stock_unlimited") : t("stock_set", { n: number(Number(text)) }));
      },
    );
    show("stock").append(
      h(
        "div",
        { class: "stack" },
        this.facts,
        h("label", { for: "stock-total" }, t("stock_total")),
        h("div", { class: "row" }, h("span", { class: "grow" }, this.total), this.send),
      ),
    );
  }

  update({ queue, stats }) {
    const facts =
      queue.stock === null
        ? [
            [t("total"), t("unlimited")],
            [t("sold"), number(stats.completed)],
          ]
        : [
            [t("total"), number(queue.stock)],
            [t("sold"), number(stats.completed)],
            [t("reserved"), number(stats.admitted + stats.active)],
            [t("stock_left"), number(queue.stock_left)],
          ];
    const text = JSON.stringify(facts);
    if (text === this.before) return;
    this.before = text;
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
}

/** The state of the workers and the store, read every few seconds. */
export class Health {
  constructor() {
    this.element = show("health");
    this.load();
    setInterval(() => {
      if (!document.hidden) this.load();
    }, 5000);
  }

  async load() {
    try {
      this.draw(await get("/health"));
    } catch (error) {
      if (error.status !== 401)
        this.element.replaceChildren(h("p", { class: "wrong" }, t("not_loaded", { why: error.message })));
    }
  }

  draw({ store, workers, keeper_seconds_ago: kept }) {
    const web = workers.filter((worker) => worker.part === "web"),
      keepers = workers.filter((worker) => worker.part === "keeper");
    const silent = workers.filter((worker) => worker.seen_seconds_ago > 10);
    const late = kept === null || kept > 15;
    const tone = (bad, text) => h("span", { class: `badge ${bad ? "bad" : "good"}` }, text);
    const names = { valkey: "Valkey", postgresql: "PostgreSQL" };
    this.element.replaceChildren(
      h(
        "dl",
        { class: "pair", "data-show": "health-facts" },
        h("dt", {}, names[store.kind] ?? store.kind),
        h("dd", {}, tone(store.round_trip_ms > 250, t("answers_in", { n: number(store.round_trip_ms) }))),
        h("dt", {}, t("serving_people")),
        h("dd", {}, tone(!web.length, count("workers", web.length))),
        h("dt", {}, t("admission")),
        h(
          "dd",
          {},
          tone(
            late,
            kept === null
              ? t("never")
              : late
                ? t("silent_for", { span: duration(kept, true) })
                : count("keepers", keepers.length),
          ),
        ),
      ),
      ...(silent.length
        ? [h("p", { class: "wrong" }, t("no_heartbeat", { who: silent.map((worker) => worker.name).join(", ") }))]
        : []),
      ...(store.cautions.length && may("operator")
        ? [
            h(
              "details",
              {},
              h("summary", { class: "note" }, count("to_check", store.cautions.length)),
              h(
                "ul",
                { class: "stack" },
                ...store.cautions.map((caution) =>
                  h("li", { class: "note" }, h("b", {}, caution.found), ". ", caution.advice),
                ),
              ),
            ),
          ]
        : []),
    );
  }
}
