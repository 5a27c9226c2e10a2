/**
 * The waiting page as its scripts see it: the data and the texts that the server has put in it, its elements by name,
 * and the times that it shows.
 */

import { formatter, timeLocale } from "./format.js";

export const data = JSON.parse(document.getElementById("fairline")?.textContent ?? "{}");
export const texts = data.texts ?? {};
export const { number, count, wait, noWait } = formatter(data.lang, texts);
export const page = document.documentElement;

export const all = (name, kind = "show") => document.querySelectorAll(`[data-${kind}="${name}"]`);
export const each = (name, act) => all(name).forEach(act);
export const show = (name, shown = true) =>
  each(name, (it) => {
    it.hidden = !shown;
  });
export const say = (name, text) =>
  each(name, (it) => {
    if (it.textContent !== text) it.textContent = text;
  });
export const later = (seconds, act) => setTimeout(act, seconds * 1000);
export const reload = () => location.reload();

/** A time of day in the reader's format. */
export const clock = (moment) => new Intl.DateTimeFormat(timeLocale(data.lang), { timeStyle: "short" }).format(moment);

/** Write times in the reader's time zone and format: when something opens with its day and time zone. */
export function localise() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    const form = {
      weekday: "long",
      day: "numeric",
      month: "long",
      hour: "numeric",
      minute: "2-digit",
      timeZoneName: "short",
    };
    time.textContent = time.closest("[data-opens], [data-day]")
      ? new Intl.DateTimeFormat(timeLocale(data.lang), form).format(moment)
      : clock(moment);
  }
}

/** Say a text with a time in the place of `{time}`; with the day and the time zone, if `day`. */
export function sayAt(name, text, moment, day = false) {
  if (!text.includes("{time}")) return say(name, text); // an operator's own text need not have one
  each(name, (it) => {
    const [first, last] = text.split("{time}"),
      time = document.createElement("time");
    time.dateTime = new Date(moment).toISOString();
    if (day) time.dataset.day = "";
    it.replaceChildren(first, time, last);
  });
  localise();
}

let looksAt = 0;

/** Say in how many seconds the page looks again; `moment` is when it does, or 0 if that is not to be said. */
export function drawLooks(moment = looksAt) {
  looksAt = moment;
  const seconds = Math.ceil((looksAt - Date.now()) / 1000);
  say("again", looksAt ? count("again", Math.max(1, seconds)) : "");
}
