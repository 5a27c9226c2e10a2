// Times of openings: as the clocks of the queue show them, with the zone, and as the reader's own do.

import { h } from "./admin-dom.js";
import { offsetAt } from "./admin-settings-time.js";
import { locale, t } from "./admin-text.js";

const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone;
const formats = new Map();

function format(kind, zone, at) {
  const exact = Date.parse(at) % 60_000 ? { second: "2-digit" } : {};
  const key = `${kind} ${zone} ${Object.keys(exact)}`;
  if (!formats.has(key)) {
    const day = { weekday: "short", day: "numeric", month: "short" },
      time = { hour: "2-digit", minute: "2-digit", ...exact };
    const parts = { day: { ...day, year: "numeric" }, time, both: { ...day, ...time }, full: { ...day, ...time } };
    const named = kind === "full" ? { timeZoneName: "short" } : {};
    formats.set(key, new Intl.DateTimeFormat(locale, { ...parts[kind], ...named, timeZone: zone }));
  }
  return formats.get(key).format(new Date(at));
}

export const dayOf = (at, zone) => format("day", zone, at);
export const timeOf = (at, zone) => format("time", zone, at);
/** Day and time on the reader's own clock. */
export const ownTime = (at) => format("both", OWN, at);

/** The same moment on the reader's clock, if that shows another time; else nothing. */
export function elsewhere(at, zone) {
  const moment = Date.parse(at);
  return offsetAt(zone, moment) === offsetAt(OWN, moment) ? "" : t("opening_your_time", { time: ownTime(at) });
}

/** A moment in full: with its day, its zone, and the reader's time where that differs. */
export const inFull = (at, zone) => [format("full", zone, at), elsewhere(at, zone)].filter(Boolean).join(" · ");

/** A moment as an element. */
export const timeElement = (at, text, props = {}) => h("time", { datetime: at, ...props }, text);
