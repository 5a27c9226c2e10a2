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
    time.textContent = time.closest("[data-opens]")
      ? new Intl.DateTimeFormat(timeLocale(data.lang), form).format(moment)
      : clock(moment);
  }
}

const spans = new Intl.RelativeTimeFormat(timeLocale(data.lang), { numeric: "always" });

/** Count down to when something opens, in words such as "in 2 hours". */
export function countDown() {
  for (const time of document.querySelectorAll("[data-opens] time")) {
    const seconds = Math.max(0, Math.round((new Date(time.dateTime) - Date.now()) / 1000));
    const [unit, length] = [
      ["day", 86_400],
      ["hour", 3600],
      ["minute", 60],
      ["second", 1],
    ].find(([, size]) => seconds >= 2 * size) ?? ["second", 1];
    say("countdown", spans.format(Math.floor(seconds / length), unit));
  }
}

let looksAt = 0;

/** Say in how many seconds the page looks again; `moment` is when it does, or 0 if that is not to be said. */
export function drawLooks(moment = looksAt) {
  looksAt = moment;
  const seconds = Math.ceil((looksAt - Date.now()) / 1000);
  say("again", looksAt ? count("again", Math.max(1, seconds)) : "");
}
