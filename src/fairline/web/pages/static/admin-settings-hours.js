// Opening hours by weekday, with breaks, and the dates on which a queue is closed.

import { h } from "./admin-dom.js";
import { adding, removing } from "./admin-settings-rows.js";
import { locale, t } from "./admin-text.js";

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/** The first Monday of 2024 was its first day. */
const dayName = (i) =>
  new Intl.DateTimeFormat(locale, { weekday: "long", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + i));
/** The end of a day is 24:00 in a setting, and 00:00 on a clock. */
const MIDNIGHT = "00:00",
  END_OF_DAY = "24:00";

function span(text = "09:00-17:00") {
  const [begin, end] = text.split("-");
  const made = h(
    "div",
    { class: "span" },
    h("input", { type: "time", value: begin, "aria-label": t("hours_from") }),
    h("span", { "aria-hidden": "true" }, "–"),
    h("input", { type: "time", value: end === END_OF_DAY ? MIDNIGHT : end, "aria-label": t("hours_until") }),
    removing(() => made),
  );
  return made;
}

const read = (made) => {
  const [begin, end] = [...made.querySelectorAll("input")].map((input) => input.value);
  return `${begin}-${end === MIDNIGHT ? END_OF_DAY : end}`;
};

/** The next span of a day begins an hour after the last one ends. */
function after(spans) {
  const last = spans.lastElementChild && read(spans.lastElementChild).split("-")[1];
  const hour = Number(last?.slice(0, 2));
  return !last || !(hour < 22) ? undefined : `${String(hour + 1).padStart(2, "0")}${last.slice(2)}-23:00`;
}

export function hours(_, props) {
  const state = h("p", { class: "about", role: "status" });
  const days = DAYS.map((day, i) => {
    const spans = h("div", { class: "spans" }),
      closed = h("span", { class: "about" }, t("hours_closed"));
    const row = h(
      "div",
      { class: "day", role: "group", "aria-label": dayName(i), "data-day": day },
      h("span", { class: "day-name" }, dayName(i)),
      h("div", { class: "row" }, spans, closed),
      adding(t("hours_add"), spans, () => span(after(spans))),
    );
    return { day, spans, closed, row };
  });
  const fillFrom = (from, to) => to.spans.replaceChildren(...[...from.spans.children].map((each) => span(read(each))));
  const same = h(
    "button",
    {
      type: "button",
      class: "button small quiet",
      onclick: (event) => {
        for (const to of days.slice(1, 5)) fillFrom(days[0], to);
        event.target.dispatchEvent(new Event("input", { bubbles: true }));
      },
    },
    t("hours_like_monday"),
  );
  const element = h("div", { ...props, class: "hours" }, state, ...days.map(({ row }) => row), same);
  const draw = () => {
    const always = days.every(({ spans }) => !spans.children.length);
    state.textContent = always ? t("hours_always") : t("hours_set");
    for (const { spans, closed } of days) closed.hidden = always || spans.children.length > 0;
    same.hidden = always;
  };
  element.addEventListener("input", draw);
  return {
    element,
    get: () =>
      Object.fromEntries(
        days.filter(({ spans }) => spans.children.length).map(({ day, spans }) => [day, [...spans.children].map(read)]),
      ),
    set: (value) => {
      for (const { day, spans } of days) spans.replaceChildren(...(value[day] ?? []).map(span));
      draw();
    },
  };
}

export function dates(_, props) {
  const rows = h("div", { class: "row dates" });
  const row = (value = "") => {
    const made = h(
      "span",
      { class: "span" },
      h("input", { type: "date", value, "aria-label": t("date") }),
      removing(() => made),
    );
    return made;
  };
  return {
    element: h("div", { ...props, class: "stack" }, rows, h("div", {}, adding(t("date_add"), rows, row))),
    get: () => [...rows.querySelectorAll("input")].map((input) => input.value).filter(Boolean),
    set: (value) => rows.replaceChildren(...value.map(row)),
  };
}
