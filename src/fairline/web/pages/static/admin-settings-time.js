// Times in the zone of a queue: the zone, and a moment as it is read from a clock there.

import { h } from "./admin-dom.js";
import { t } from "./admin-text.js";

/** How far the clocks of a zone are ahead of UTC at a moment, in milliseconds. */
export function offsetAt(zone, moment) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]),
  );
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1000) * 1000;
}

/** What the clock of a zone shows at a moment, as an input has it: 2027-01-15T09:00, with seconds if there are any. */
export const onTheClock = (moment, zone) =>
  new Date(moment + offsetAt(zone, moment)).toISOString().slice(0, moment % 60_000 ? 19 : 16);

/** The moment at which the clock of a zone shows this, with the offset there. */
export function momentOf(shown, zone) {
  const utc = Date.parse(`${shown}Z`);
  const offset = offsetAt(zone, utc - offsetAt(zone, utc)),
    minutes = Math.abs(offset) / 60_000;
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  return `${shown}${shown.length > 16 ? "" : ":00"}${offset < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** The zone to read a time in: this one, while it is one. */
export function valid(zone) {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone && zone;
  } catch {
    return "UTC";
  }
}

export function moment(_, props, form) {
  const input = h("input", { ...props, type: "datetime-local", class: "moment" }),
    note = h("span", { class: "unit" });
  const element = h("span", { class: "with-unit" }, input, note);
  const zone = () => valid(form.value("time_zone"));
  let value = "";
  const draw = () => {
    note.textContent = t("setting_in_zone", { zone: zone() });
    const at = Date.parse(value);
    input.value = Number.isNaN(at) ? "" : onTheClock(at, zone());
  };
  input.addEventListener("input", () => {
    value = input.value && momentOf(input.value, zone());
  });
  form.onZone(draw); // the moment stays the same
  return {
    element,
    get: () => value,
    set: (set) => {
      value = set ?? "";
      draw();
    },
  };
}

export function zone(_, props, form) {
  const names = h(
    "datalist",
    { id: `${props.id}-names` },
    ...(Intl.supportedValuesOf?.("timeZone") ?? []).map((value) => h("option", { value })),
  );
  const input = h("input", { ...props, list: names.id, autocomplete: "off", spellcheck: "false", dir: "ltr" });
  input.addEventListener("change", () => form.zoneChanged());
  return {
    element: h("span", {}, input, names),
    get: () => input.value.trim(),
    set: (value) => {
      input.value = value;
      form.zoneChanged();
    },
  };
}
