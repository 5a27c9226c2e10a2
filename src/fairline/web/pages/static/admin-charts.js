// The charts of a queue: the line, joins and admissions, waits; over an hour, six hours or a day.

import { get } from "./admin-api.js";
import { Chart, timeScale } from "./admin-chart.js";
import { h, show } from "./admin-dom.js";
import { locale, number, t } from "./admin-text.js";
import { duration } from "./admin-words.js";

const RANGES = { hour: t("span_h", { h: 1 }), six_hours: t("span_h", { h: 6 }), day: t("span_h", { h: 24 }) };
const AGAIN_SECONDS = 5;

export class Charts {
  constructor(queue) {
    this.queue = queue;
    this.range = "hour";
    const rate = (name) => (point) => ((point[name] ?? null) === null ? null : point[name] * this.perMinute);
    this.charts = [
      new Chart({
        title: t("chart_people"),
        format: number,
        short: compact,
        empty: t("chart_no_people"),
        lines: [
          { label: t("figure_waiting"), tone: "one", area: true, of: (point) => point.waiting },
          { label: t("figure_inside"), tone: "two", of: (point) => point.inside },
        ],
      }),
      new Chart({
        title: t("people_a_minute"),
        format: number,
        short: compact,
        empty: t("chart_nobody_moved"),
        lines: [
          { label: t("column_joined"), tone: "one", of: rate("joined") },
          { label: t("let_in"), tone: "two", area: true, of: rate("admitted") },
        ],
      }),
      new Chart({
        title: t("wait"),
        format: (value) => duration(value, true),
        short: (value) => (value === 0 ? "0" : duration(value, true)),
        scaleOf: timeScale,
        empty: t("chart_nobody_let_in"),
        lines: [
          { label: t("median"), tone: "one", of: (point) => point.wait_p50_seconds },
          { label: t("percentile_90"), tone: "three", of: (point) => point.wait_p90_seconds },
        ],
      }),
    ];
    show("charts").append(...this.charts.map((chart) => chart.element));
    this.buttons = Object.entries(RANGES).map(([range, label]) =>
      h(
        "button",
        {
          type: "button",
          role: "radio",
          "aria-checked": String(range === this.range),
          tabindex: range === this.range ? 0 : -1,
          "data-range": range,
          onclick: () => this.choose(range),
          onkeydown: (event) => this.key(event, range),
        },
        label,
      ),
    );
    show("ranges").append(...this.buttons);
    this.load();
    setInterval(() => {
      if (!document.hidden && show("charts")?.offsetParent) this.load();
    }, AGAIN_SECONDS * 1000);
  }

  key(event, range) {
    const names = Object.keys(RANGES),
      step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(range) + step + names.length) % names.length];
    this.choose(next);
    this.buttons[names.indexOf(next)].focus();
  }

  choose(range) {
    this.range = range;
    for (const button of this.buttons) {
      const chosen = button.dataset.range === range;
      button.setAttribute("aria-checked", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
    this.load();
  }

  async load() {
    const range = this.range;
    try {
      const series = await get(this.queue.path(`/stats/series?range=${range}`));
      if (range !== this.range) return;
      this.perMinute = 60 / series.step_seconds;
      this.points = series.points;
      this.draw();
    } catch {
      // The page already shows that the connection is lost. The next interval tries again.
    }
  }

  /** Draw, with the live numbers in place of the last sample, which is older. */
  draw() {
    const now = this.queue.now?.stats;
    const points = this.points.slice();
    if (now && points.length)
      points[points.length - 1] = { ...points.at(-1), waiting: now.waiting, inside: now.admitted + now.active };
    for (const chart of this.charts) chart.show(points);
  }

  update() {
    if (this.points && !document.hidden) this.draw();
  }
}

const thousands = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
const compact = (value) => thousands.format(value);
