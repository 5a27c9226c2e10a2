// Numbers, times and events in words. Times are in the reader's time zone.

import { count, known, locale, number, t } from "./admin-text.js";

export { number };

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat(locale, { maximumFractionDigits: 4 });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const full = new Intl.DateTimeFormat(locale, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

const units = Object.fromEntries(
  ["second", "minute", "day"].map((unit) => [
    unit,
    new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }),
  ]),
);

export const share = (value) => (value === null || value === undefined ? "–" : `${whole.format(value * 100)} %`);
const days = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
/** A date such as 2026-11-19, with its weekday. */
export const dayWords = (date) => days.format(new Date(date));
export const timeOfDay = (at) => clock.format(new Date(at));
export const timeExact = (at) => exact.format(new Date(at));
export const dateTime = (at) => (at ? full.format(new Date(at)) : "–");

/** A duration in words: "40 seconds", "12 minutes", "2 h 5 min". */
export function duration(seconds, short = false) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (short) {
    if (s < 60) return t("span_s", { s });
    if (s < 600 && s >= 60 && s % 60) return t("span_min_s", { m: Math.floor(s / 60), s: s % 60 });
    if (s < 3600) return t("span_min", { m: Math.round(s / 60) });
  } else {
    if (s < 90) return units.second.format(s);
    if (s < 5400) return units.minute.format(Math.round(s / 60));
  }
  if (s < 86400 * 2) {
    const minutes = Math.round(s / 60);
    return minutes % 60
      ? t("span_h_min", { h: Math.floor(minutes / 60), m: minutes % 60 })
      : t("span_h", { h: minutes / 60 });
  }
  return units.day.format(Math.round(s / 86400));
}

/** How long ago, or how long from now. */
export function ago(at, now = Date.now()) {
  const seconds = (now - new Date(at)) / 1000;
  if (seconds < -1) return t("in_span", { span: duration(-seconds, true) });
  return seconds < 2 ? t("just_now") : t("span_ago", { span: duration(seconds, true) });
}

/** A field for the language of a person's notices. It starts with the browser's language, if `[code, name]` has it. */
export function languageField(languages) {
  const codes = languages.map(([code]) => code);
  const value = navigator.languages.map((each) => each.split("-")[0]).find((each) => codes.includes(each)) ?? codes[0];
  return { name: "language", label: t("notice_language"), choices: languages, value };
}

/** The levels of priority, as choices of a field. */
export const LEVELS = ["1", "2", "3"].map((level) => [level, t("level", { level })]);

export const STATUS = {
  active: { label: t("status_active"), tone: "good" },
  paused: { label: t("status_paused"), tone: "warn" },
  maintenance: { label: t("maintenance"), tone: "bad" },
};
/** The badge of a queue: its status, and whether more people can join now. */
export const queueBadge = ({ status, takes_more: takesMore }) =>
  status === "active" && !takesMore ? { label: t("takes_no_more"), tone: "warn" } : STATUS[status];

export const STATE = {
  waiting: { label: t("state_waiting"), tone: "info" },
  admitted: { label: t("state_admitted"), tone: "warn" },
  active: { label: t("state_active"), tone: "good" },
  completed: { label: t("state_completed"), tone: "" },
  expired: { label: t("state_expired"), tone: "" },
};

/** Why a ticket ended. */
export const reasonWords = (reason) => (known(`reason_${reason}`) ? t(`reason_${reason}`) : t("done").toLowerCase());

/** Kinds of events, for the filter and for the colour of the dot. */
export const KINDS = {
  join: {
    label: t("kind_join"),
    types: ["joined", "prioritised", "put_on_hold", "released", "put_back", "stepped_back", "moved"],
  },
  in: { label: t("kind_in"), types: ["admitted", "called", "recalled", "returned", "started", "reinstated"] },
  end: { label: t("kind_end"), types: ["completed", "expired", "transferred"] },
  set: { label: t("kind_set"), types: [] },
};

export const kindOf = (type) => Object.keys(KINDS).find((kind) => KINDS[kind].types.includes(type)) ?? "set";

/** What happened, as the rest of a sentence that starts with the ticket. */
export function eventWords({ type, detail }) {
  const more = {
    prioritised: detail && t("event_moved_up_to", { level: detail }),
    stepped_back: detail && count("event_let_go_first", Number(detail)),
    reinstated: detail && t("event_reinstated_to", { desk: detail }),
    transferred: detail && t("event_transferred_to", { queue: detail.split(" ")[0] }),
    called: detail && t("event_called_to", { desk: detail }),
    recalled: detail && t("event_recalled_to", { desk: detail }),
    expired: known(`reason_${detail}`) && t("event_left_because", { reason: t(`reason_${detail}`) }),
    clock_stopped: detail && t("event_stopped_for", { span: duration(Number(detail)) }),
  }[type];
  return more || (known(`event_${type}`) ? t(`event_${type}`) : type.replaceAll("_", " "));
}

/** How far an opening is. */
export const OPENING_STATE = {
  scheduled: { label: t("opening_state_scheduled"), tone: "info" },
  prequeue: { label: t("opening_state_prequeue"), tone: "warn" },
  drawing: { label: t("opening_state_drawing"), tone: "warn" },
  open: { label: t("opening_state_open"), tone: "good" },
  ended: { label: t("opening_state_ended"), tone: "" },
};
export const openingName = ({ name }) => name || t("opening_unnamed");

/** A setting's value as text. */
export function value(found) {
  if (found === null || found === undefined) return t("unset");
  if (found === "") return t("empty");
  if (typeof found === "boolean") return found ? t("yes") : t("no");
  if (typeof found === "number") return precise.format(found); // not rounded further: 0.04 is not 0
  const text = typeof found === "string" ? found : JSON.stringify(found);
  return text.length > 90 ? `${text.slice(0, 88)}…` : text;
}
