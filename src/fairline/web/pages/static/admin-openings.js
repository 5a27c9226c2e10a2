// The openings of a queue by time: what is coming, what is in progress, and the last that have ended.

import { call, get, may, post } from "./admin-api.js";
import { badge, confirm, h, isolated, redraw, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { checkOpening, previewOpening } from "./admin-opening-check.js";
import { openingForm } from "./admin-opening-form.js";
import { dayOf, elsewhere, timeElement, timeOf } from "./admin-opening-times.js";
import { valid } from "./admin-settings-time.js";
import { count, number, t } from "./admin-text.js";
import { ago, OPENING_STATE, openingName } from "./admin-words.js";

/** How many of the ended ones are shown at once. */
const ENDED_SHOWN = 3;
const RUNNING = ["prequeue", "drawing", "open"];

export class Openings {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div", { class: "stack" }, h("p", { class: "note" }, t("loading")));
    this.zone = h("p", { class: "note grow" });
    panel.append(
      h(
        "div",
        { class: "bar" },
        this.zone,
        h(
          "button",
          {
            type: "button",
            class: "button",
            "data-do": "new-opening",
            "data-needs": "operator",
            onclick: () => this.edit("new", {}),
          },
          t("opening_new"),
        ),
      ),
      this.body,
    );
    setInterval(() => {
      if (!document.hidden && !panel.hidden) this.drawAgo();
    }, 20_000);
  }

  opened() {
    this.load();
  }

  update(_now, newer) {
    if (newer && !this.panel.hidden) this.load();
  }

  async load() {
    const turn = Symbol("turn");
    this.turn = turn;
    try {
      const [settings, { openings }] = await Promise.all([get(this.queue.path()), get(this.queue.path("/openings"))]);
      if (this.turn !== turn) return;
      this.settings = settings;
      this.openings = openings;
      this.draw();
    } catch (error) {
      if (this.turn === turn) this.body.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
  }

  draw() {
    this.clocks = valid(this.settings.time_zone);
    this.zone.textContent = t("opening_zone", { zone: this.clocks });
    const running = this.openings.filter(({ state }) => RUNNING.includes(state)),
      next = this.openings.filter(({ state }) => state === "scheduled"),
      ended = this.openings.filter(({ state }) => state === "ended").reverse();
    const older = ended.slice(ENDED_SHOWN);
    const group = (name, title, openings, ...more) =>
      openings.length
        ? h(
            "section",
            { class: "stack", "aria-labelledby": `openings-${name}` },
            h("h2", { id: `openings-${name}` }, title),
            this.list(openings, title),
            ...more,
          )
        : null;
    const rest = older.length
      ? h("details", {}, h("summary", { class: "note" }, t("show_more")), this.list(older, t("openings_over")))
      : null;
    redraw(
      this.body,
      ...[
        this.openings.length
          ? null
          : h("div", { class: "empty" }, h("h2", {}, t("openings_none_title")), h("p", {}, t("openings_none_text"))),
        group("now", t("openings_now"), running),
        group("next", t("openings_next"), next),
        group("over", t("openings_over"), ended.slice(0, ENDED_SHOWN), rest),
      ].filter(Boolean),
    );
    this.drawAgo();
    guard(this.body);
  }

  list(openings, title) {
    return h("ol", { class: "timeline", "aria-label": title }, ...openings.map((opening) => this.entry(opening)));
  }

  entry(opening) {
    const { id, state } = opening,
      at = opening.starts_at;
    return h(
      "li",
      { "data-opening": id, "data-state": state },
      h(
        "div",
        { class: "when" },
        timeElement(at, dayOf(at, this.clocks)),
        h("b", {}, timeOf(at, this.clocks)),
        h("span", { class: "note", "data-ago": at }),
      ),
      h(
        "article",
        { class: "card", "aria-labelledby": `opening-${id}-name` },
        h(
          "div",
          { class: "card-head" },
          h("h3", { id: `opening-${id}-name` }, h("bdi", {}, openingName(opening))),
          badge(OPENING_STATE[state]),
        ),
        opening.missed ? h("p", { class: "wrong" }, t("opening_missed")) : null,
        this.steps(opening),
        h("p", { class: "note facts" }, ...facts(opening).map((fact) => h("span", {}, fact))),
        h("div", { class: "row tools" }, ...this.tools(opening)),
      ),
    );
  }

  steps({ prequeue_at: prequeue, starts_at: starts, ends_at: ends, draw }) {
    const step = (label, at, none = "") =>
      h(
        "div",
        {},
        h("dt", {}, label),
        at
          ? h(
              "dd",
              {},
              timeElement(at, timeOf(at, this.clocks)),
              dayOf(at, this.clocks) === dayOf(starts, this.clocks) ? "" : ` ${dayOf(at, this.clocks)}`,
              elsewhere(at, this.clocks) ? h("small", {}, elsewhere(at, this.clocks)) : null,
            )
          : h("dd", {}, none),
      );
    return h(
      "dl",
      { class: "steps" },
      prequeue ? step(t("opening_step_prequeue"), prequeue) : null,
      step(draw === "random" ? t("opening_step_draw") : t("opening_step_start"), starts),
      step(t("opening_step_end"), ends, t("opening_no_end")),
    );
  }

  tools(opening) {
    const { state } = opening,
      over = state === "ended",
      name = openingName(opening);
    const button = (what, label, needs, onclick, kind = "") =>
      h(
        "button",
        {
          type: "button",
          class: `button small quiet ${kind}`,
          "data-do": what,
          "data-needs": needs,
          "aria-label": `${label}: ${name}`,
          onclick,
        },
        label,
      );
    const link = (what, label, href) =>
      h("a", { class: "button small quiet", "data-do": what, href, target: "_blank", rel: "noopener" }, label);
    const report = `/api/v1/admin${this.queue.path(`/report?opening=${encodeURIComponent(opening.id)}&format=html`)}`;
    return [
      over ? null : button("edit-opening", t("opening_edit"), "operator", () => this.edit("edit", opening)),
      button("copy-opening", t("opening_copy"), "operator", () => this.edit("copy", opening)),
      state === "scheduled"
        ? button("preview-opening", t("opening_preview"), "viewer", () => previewOpening(this.queue, opening))
        : null,
      state === "scheduled"
        ? button("check-opening", t("opening_check"), "viewer", () => checkOpening(this.queue, opening))
        : null,
      state === "scheduled" ? null : link("report-opening", t("opening_report"), report),
      opening.draw_id ? link("draw-opening", t("opening_draw_page"), `/draws/${opening.draw_id}`) : null,
      over
        ? null
        : button(
            "cancel-opening",
            RUNNING.includes(state) ? t("opening_stop") : t("opening_cancel"),
            "operator",
            () => this.cancel(opening),
            "bad",
          ),
    ];
  }

  drawAgo() {
    for (const element of this.body.querySelectorAll("[data-ago]")) element.textContent = ago(element.dataset.ago);
  }

  edit(what, opening) {
    if (!may("operator") || !this.settings) return;
    openingForm({ queue: this.queue, settings: this.settings, what, opening, done: () => this.load() });
  }

  /** Cancel an opening. One that is still to come can be brought back from the message that says so. */
  async cancel(opening) {
    const name = isolated(openingName(opening)),
      running = RUNNING.includes(opening.state);
    if (
      running &&
      !(await confirm(t("opening_stop_ask"), t("opening_stop_text"), t("opening_stop"), "bad", t("opening_keep")))
    )
      return;
    try {
      const path = this.queue.path(`/openings/${opening.id}`);
      const before = (await call("GET", path)).version;
      const after = (await call("DELETE", path, undefined, { "If-Match": before })).version;
      const undo = h("button", { type: "button", class: "button small quiet", "data-do": "undo-cancel" }, t("undo"));
      undo.addEventListener("click", () => this.bringBack(name, before.replaceAll('"', ""), after));
      toast(t("opening_cancelled", { name }), "", opening.state === "scheduled" ? undo : null);
    } catch (error) {
      toast(error.message, "bad");
    }
    await this.load();
  }

  /** Restore the settings from before an opening was cancelled, unless somebody has changed them since. */
  async bringBack(name, before, after) {
    try {
      await post(this.queue.path(`/history/${before}/restore`), {}, { "If-Match": after });
      toast(t("opening_is_back", { name }));
    } catch (error) {
      toast(error.message, "bad");
    }
    await this.load();
  }
}

function facts(opening) {
  const many = Object.keys(opening.settings).length;
  return [
    opening.count ? count("opening_drawn", opening.count) : "",
    opening.draw === "random" && opening.draw_grace_seconds
      ? `${t("opening_grace")}: ${number(opening.draw_grace_seconds)}`
      : "",
    many ? count("opening_has_settings", many) : "",
    opening.add_stock ? t("opening_adds_stock", { n: number(opening.add_stock) }) : "",
    opening.recheck_inside ? t("opening_rechecks") : "",
    opening.after === "close" ? t("opening_then_close") : t("opening_then_restore"),
  ].filter(Boolean);
}
