// Beside the charts: the message to all, the stock, and how the server is.

import { get, may, post } from "./admin-api.js";
import { confirm, h, show, toast, write } from "./admin-dom.js";
import { duration, number } from "./admin-words.js";

const LONGEST = 2000;

/** A button that works on something, and says so when it cannot. */
function sends(button, work) {
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
    this.none = h("p", { class: "note" }, "Nothing is shown now.");
    this.text = h("textarea", {
      id: "message-text",
      maxlength: LONGEST,
      rows: 2,
      placeholder: "Doors open at eight. Thank you for waiting.",
      "data-needs": "operator",
    });
    this.send = sends(
      h(
        "button",
        { type: "button", class: "button", "data-do": "send-message", "data-needs": "operator" },
        "Show to all",
      ),
      () => this.say(this.text.value.trim()),
    );
    this.clear = sends(
      h(
        "button",
        { type: "button", class: "button quiet", "data-do": "clear-message", "data-needs": "operator", hidden: true },
        "Take away",
      ),
      () => this.say(""),
    );
    show("message").append(
      h(
        "div",
        { class: "stack" },
        h("p", { class: "label" }, "Shown now"),
        this.shown,
        this.none,
        h("label", { for: "message-text" }, "New message"),
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
    toast(text ? "Everyone who waits sees it now." : "The message is gone.");
  }

  told({ queue }) {
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
      placeholder: "without end",
      "data-needs": "operator",
    });
    this.send = sends(
      h("button", { type: "button", class: "button quiet", "data-do": "set-stock", "data-needs": "operator" }, "Set"),
      async () => {
        if (!this.total.reportValidity()) return; // what is no number reads as empty, and empty is without end
        const text = this.total.value.trim();
        if (
          text === "" &&
          !(await confirm(
            "Sell without end?",
            "Nothing more holds people back because all is sold.",
            "Sell without end",
          ))
        )
          return;
        await post(this.queue.path("/stock"), { total: text === "" ? null : Number(text) });
        this.total.value = "";
        toast(text === "" ? "The stock has no limit now." : `There are ${number(Number(text))} to sell in all.`);
      },
    );
    show("stock").append(
      h(
        "div",
        { class: "stack" },
        this.facts,
        h("label", { for: "stock-total" }, "To sell in all, what is sold among it"),
        h("div", { class: "row" }, h("span", { class: "grow" }, this.total), this.send),
      ),
    );
  }

  told({ queue, stats }) {
    const facts =
      queue.stock === null
        ? [
            ["Sells", "without end"],
            ["Sold", number(stats.completed)],
          ]
        : [
            ["In all", number(queue.stock)],
            ["Sold", number(stats.completed)],
            ["Held by people inside", number(stats.admitted + stats.active)],
            ["Left", number(queue.stock_left)],
          ];
    const text = JSON.stringify(facts);
    if (text === this.before) return;
    this.before = text;
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
}

/** Workers and store, looked at every few seconds. */
export class Health {
  constructor() {
    this.element = show("health");
    this.look();
    setInterval(() => {
      if (!document.hidden) this.look();
    }, 5000);
  }

  async look() {
    try {
      this.draw(await get("/health"));
    } catch (error) {
      if (error.status !== 401) this.element.replaceChildren(h("p", { class: "wrong" }, `Not known: ${error.message}`));
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
        h("dd", {}, tone(store.round_trip_ms > 250, `answers in ${number(store.round_trip_ms)} ms`)),
        h("dt", {}, "Serving people"),
        h("dd", {}, tone(!web.length, `${number(web.length)} ${web.length === 1 ? "worker" : "workers"}`)),
        h("dt", {}, "Letting in"),
        h(
          "dd",
          {},
          tone(
            late,
            kept === null
              ? "never"
              : late
                ? `silent for ${duration(kept, true)}`
                : `${number(keepers.length)} ${keepers.length === 1 ? "keeper" : "keepers"}`,
          ),
        ),
      ),
      ...(silent.length
        ? [h("p", { class: "wrong" }, `Not heard of lately: ${silent.map((worker) => worker.name).join(", ")}`)]
        : []),
      ...(store.cautions.length && may("operator")
        ? [
            h(
              "details",
              {},
              h("summary", { class: "note" }, `${number(store.cautions.length)} to look at in the store's set-up`),
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
