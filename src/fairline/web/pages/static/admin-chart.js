// Charts: lines over time with axes, a crosshair that shows the values, and the same numbers as a table.

import { h, svg, write } from "./admin-dom.js";
import { t } from "./admin-text.js";
import { timeOfDay } from "./admin-words.js";

const LEFT = 46,
  RIGHT = 8,
  TOP = 8,
  BOTTOM = 20,
  HEIGHT = 168;

/** The top of an axis, a round number at or above the largest value, and its ticks. */
export function scale(largest, wanted = 4) {
  const rough = Math.max(largest, 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough),
  );
  const steps = Math.max(1, Math.ceil(largest / step));
  return { top: steps * step, ticks: Array.from({ length: steps + 1 }, (_, i) => i * step) };
}

/** The same for durations, where multiples of 60 are round. */
export function timeScale(largest, wanted = 4) {
  const rough = Math.max(largest, 4) / wanted;
  const step =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400].find((each) => each >= rough) ??
    Math.ceil(rough / 14400) * 14400;
  const steps = Math.max(1, Math.ceil(largest / step));
  return { top: steps * step, ticks: Array.from({ length: steps + 1 }, (_, i) => i * step) };
}

/** A path through values. It has a gap where a value is missing. */
export function path(values, x, y) {
  let pen = false;
  return values
    .map((value, i) => {
      if (value === null || value === undefined) {
        pen = false;
        return "";
      }
      const step = `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = true;
      return step;
    })
    .join("");
}

/** The indexes of points at a round time by the reader's clock: at most `most`, so that their labels fit. */
export function roundTimes(points, most) {
  const minutes = points.map(({ at }) => {
    const time = new Date(at);
    return time.getHours() * 60 + time.getMinutes();
  });
  for (const step of [5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720]) {
    const found = minutes.flatMap((minute, i) => (minute % step === 0 ? [i] : []));
    if (found.length <= most) return found;
  }
  return [];
}

/**
 * One chart. `lines` are `{label, tone, of(point), area}`; `format` puts a value into words, `short` those at the axis.
 */
export class Chart {
  constructor({ title, lines, format, short = format, scaleOf = scale, empty }) {
    Object.assign(this, { title, lines, format, short, scaleOf, empty, points: [], at: null });
    this.values = lines.map(() => h("b", {}, "–"));
    this.when = h("span", {}, "");
    this.drawing = svg("svg", {
      height: HEIGHT,
      tabindex: 0,
      role: "img",
      "aria-label": title,
      onpointermove: (event) => this.point(event),
      onpointerleave: () => this.read(null),
      onblur: () => this.read(null),
      onkeydown: (event) => this.key(event),
    });
    this.said = h("p", { class: "hidden", role: "status" });
    this.rows = h("tbody");
    this.sheet = h(
      "details",
      { ontoggle: () => this.fill() },
      h("summary", {}, t("as_table")),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": t("table_of", { title }) },
        h(
          "table",
          { class: "table" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, t("from_time")),
              ...lines.map((line) => h("th", { scope: "col", class: "end" }, line.label)),
            ),
          ),
          this.rows,
        ),
      ),
    );
    this.nothing = h("p", { class: "nothing", hidden: true }, empty);
    this.element = h(
      "div",
      { class: "chart", "data-chart": title },
      h(
        "div",
        { class: "chart-head" },
        h("h3", {}, title),
        h(
          "p",
          { class: "legend" },
          this.when,
          ...lines.map((line, i) => h("span", {}, h("i", { class: line.tone }), `${line.label} `, this.values[i])),
        ),
      ),
      this.drawing,
      this.nothing,
      this.said,
      this.sheet,
    );
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(points) {
    this.points = points;
    this.series = this.lines.map((line) => points.map(line.of));
    const some = this.series.some((values) => values.some((value) => value));
    this.drawing.toggleAttribute("hidden", !some);
    this.nothing.hidden = some;
    this.draw();
    this.fill();
  }

  draw() {
    const width = this.element.clientWidth,
      { points, series } = this;
    if (!width || !points.length) return;
    const largest = Math.max(0, ...series.flat().filter((value) => value !== null && value !== undefined));
    const { top, ticks } = this.scaleOf(largest);
    const step = (width - LEFT - RIGHT) / Math.max(1, points.length - 1);
    this.x = (i) => LEFT + i * step;
    this.y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const floor = this.y(0);
    const grid = ticks.flatMap((tick) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(tick), y2: this.y(tick) }),
      svg("text", { x: LEFT - 8, y: this.y(tick) + 4, "text-anchor": "end" }, this.short(tick)),
    ]);
    const hours = roundTimes(points, Math.max(2, Math.floor(width / 90))).map((i) =>
      svg(
        "text",
        { x: this.x(i), y: HEIGHT - 4, "text-anchor": i < 2 ? "start" : i > points.length - 3 ? "end" : "middle" },
        timeOfDay(points[i].at),
      ),
    );
    const curves = this.lines.flatMap((line, n) => {
      const drawn = path(series[n], this.x, this.y);
      const alone = series[n]
        .map((value, i) =>
          value !== null &&
          value !== undefined &&
          (series[n][i - 1] ?? null) === null &&
          (series[n][i + 1] ?? null) === null
            ? i
            : null,
        )
        .filter((i) => i !== null);
      return [
        line.area && drawn
          ? svg("path", {
              class: `area ${line.tone}`,
              d: `${drawn}L${this.x(points.length - 1)} ${floor}L${LEFT} ${floor}Z`,
            })
          : null,
        svg("path", { class: `curve ${line.tone}`, d: drawn }),
        ...alone.map((i) =>
          svg("circle", { class: `dot ${line.tone}`, cx: this.x(i), cy: this.y(series[n][i]), r: 3 }),
        ),
      ];
    });
    this.hair = svg("g");
    this.drawing.replaceChildren(...grid, ...hours, ...curves.filter(Boolean), this.hair);
    this.read(this.at);
  }

  point(event) {
    const box = this.drawing.getBoundingClientRect();
    const i = Math.round(
      (((event.clientX - box.left) / box.width) * this.element.clientWidth - LEFT) / (this.x(1) - this.x(0)),
    );
    this.read(Math.max(0, Math.min(this.points.length - 1, i)));
  }

  key(event) {
    const last = this.points.length - 1,
      at = this.at ?? last;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.read(Math.max(0, Math.min(last, to)));
    const values = this.lines.map((line, n) => `${line.label} ${this.format(this.series[n][this.at])}`);
    write(this.said, `${timeOfDay(this.points[this.at].at)}: ${values.join(", ")}`);
  }

  /** Show the values at one point; the newest ones if the pointer is elsewhere. */
  read(i) {
    if (!this.points.length || !this.hair) return;
    this.at = i !== null && i < this.points.length ? i : null;
    const at = this.at ?? this.points.length - 1;
    write(this.when, this.at === null ? "" : timeOfDay(this.points[at].at));
    this.lines.forEach((_, n) => {
      write(this.values[n], this.format(this.series[n][at]));
    });
    this.hair.replaceChildren(
      ...(this.at === null
        ? []
        : [
            svg("line", { class: "hair", x1: this.x(at), x2: this.x(at), y1: TOP, y2: HEIGHT - BOTTOM }),
            ...this.lines
              .map((line, n) =>
                (this.series[n][at] ?? null) === null
                  ? null
                  : svg("circle", { class: `dot ${line.tone}`, cx: this.x(at), cy: this.y(this.series[n][at]), r: 4 }),
              )
              .filter(Boolean),
          ]),
    );
  }

  fill() {
    if (!this.sheet.open) return;
    this.rows.replaceChildren(
      ...this.points
        .map((point, i) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, timeOfDay(point.at)),
            ...this.lines.map((_, n) => h("td", { class: "end" }, this.format(this.series[n][i]))),
          ),
        )
        .reverse(),
    );
  }
}

/** A small line without axes, for a card. */
export function spark(values) {
  const width = 120,
    height = 32,
    top = Math.max(1, ...values);
  const x = (i) => (i * width) / Math.max(1, values.length - 1),
    y = (value) => height - 1 - (value / top) * (height - 4);
  const drawn = path(values, x, y);
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "area", d: `${drawn}L${width} ${height}L0 ${height}Z` }),
    svg("path", { class: "curve", d: drawn }),
  );
}
