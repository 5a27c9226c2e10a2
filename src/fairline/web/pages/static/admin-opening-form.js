// The form of an opening: to plan one, to change one, and to plan one like another.

import { call } from "./admin-api.js";
import { dialog, h, toast } from "./admin-dom.js";
import { OpeningSettings } from "./admin-opening-settings.js";
import { inFull } from "./admin-opening-times.js";
import { asTheServerSaid, focusField } from "./admin-settings-field.js";
import { momentOf, onTheClock, valid } from "./admin-settings-time.js";
import { number, t } from "./admin-text.js";

const TITLES = { new: t("opening_title_new"), edit: t("opening_title_edit"), copy: t("opening_title_copy") };
const LONGEST_GRACE = 600,
  MOST_STOCK = 1_000_000_000,
  WEEK = 7;
const RUNNING = ["prequeue", "drawing", "open"];

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** Open the form. `done` is called when the opening is saved. */
export function openingForm({ queue, settings, what, opening, done }) {
  const zone = valid(settings.time_zone);
  const begun = what === "edit" && RUNNING.includes(opening.state);
  const start = what === "copy" ? nextWeek(opening, zone) : opening;
  const fixed = fixedFields(begun ? opening.state : "");
  const fields = new Map();
  const field = (name, label, about, control, props = {}) => {
    const made = makeField(name, label, about, control, { ...props, disabled: fixed.has(name) });
    fields.set(name, made);
    return made.element;
  };
  const own = new OpeningSettings(settings, start.settings ?? {});
  const grace = field(
    "draw_grace_seconds",
    t("opening_grace"),
    t("opening_grace_about"),
    wholeNumber(start.draw_grace_seconds ?? 0, 0, LONGEST_GRACE, 0),
  );
  const draw = choice(start.draw ?? "none", [
    ["none", t("opening_draw_none")],
    ["random", t("opening_draw_random")],
  ]);
  const followDraw = () => {
    grace.hidden = draw.get() !== "random";
  };
  draw.element.addEventListener("change", followDraw);
  const said = h("p", { class: "wrong", role: "alert", hidden: true });
  const save = h(
    "button",
    { class: "button", "data-do": "save-opening" },
    what === "edit" ? t("opening_save") : t("opening_plan"),
  );
  dialog(
    TITLES[what],
    (close, element) => {
      // A slip of the mouse must not throw away what was typed.
      element.addEventListener("click", (event) => event.target === element && event.stopImmediatePropagation());
      const form = h(
        "form",
        { class: "settings opening-form", novalidate: true },
        h("p", { class: "note" }, t("opening_zone", { zone })),
        begun ? h("p", { class: "note" }, t("opening_fixed")) : null,
        said,
        field("name", t("opening_name"), t("opening_name_about"), text(start.name ?? "", 200)),
        field("prequeue_at", t("opening_prequeue_at"), t("opening_prequeue_about"), moment(start.prequeue_at, zone)),
        field("starts_at", t("opening_starts_at"), t("opening_starts_about"), moment(start.starts_at, zone)),
        field("ends_at", t("opening_ends_at"), t("opening_ends_about"), moment(start.ends_at, zone)),
        field("draw", t("opening_draw"), t("opening_draw_about"), draw),
        grace,
        field("add_stock", t("opening_stock"), t("opening_stock_about"), wholeNumber(start.add_stock, 1, MOST_STOCK)),
        field("recheck_inside", t("opening_recheck"), t("opening_recheck_about"), box(start.recheck_inside ?? false)),
        field(
          "after",
          t("opening_after"),
          "",
          choice(start.after ?? "restore", [
            ["restore", t("opening_after_restore")],
            ["close", t("opening_after_close")],
          ]),
        ),
        own.element,
        h(
          "div",
          { class: "tools" },
          h("button", { type: "button", class: "button quiet", onclick: close }, t("cancel")),
          save,
        ),
      );
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        if (wrong(mistake(read(), begun && opening.state !== "prequeue"))) return;
        save.disabled = true;
        try {
          await send(queue, what, opening, read());
          close();
          toast(what === "edit" ? t("opening_saved") : t("opening_created"));
          done();
        } catch (error) {
          wrong({ field: error.field, words: error.field ? [asTheServerSaid(error)] : [error.message] });
        }
        save.disabled = false;
      });
      return [h("h2", {}, TITLES[what]), form];
    },
    "wide",
  );
  followDraw();

  function read() {
    const found = Object.fromEntries([...fields].map(([name, { get }]) => [name, get()]));
    if (found.draw !== "random" && !fixed.has("draw_grace_seconds")) found.draw_grace_seconds = 0;
    return { ...found, settings: own.values() };
  }

  /** Show what is wrong at its field, and lead there. Returns whether anything is. */
  function wrong(found) {
    for (const each of [...fields.values(), ...own.all()]) {
      each.said.hidden = true;
      each.input.removeAttribute("aria-invalid");
    }
    said.hidden = true;
    if (!found) return false;
    const at = fields.get(found.field) ?? own.fields.get(found.field);
    const place = at?.said ?? said;
    place.replaceChildren(...found.words);
    place.hidden = false;
    at?.input.setAttribute("aria-invalid", "true");
    if (at) focusField(at);
    else said.scrollIntoView({ block: "center" });
    return true;
  }
}

/** What is wrong with the times and numbers of an opening, with the field where it is said; nothing if all is well. */
function mistake(fields, started) {
  const { prequeue_at: prequeue, starts_at: starts, ends_at: ends, draw, draw_grace_seconds: grace } = fields;
  const at = (name, ...words) => ({ field: name, words });
  const begins = Date.parse(starts);
  if (!starts) return at("starts_at", t("opening_wrong_start"));
  if (!started && begins <= Date.now()) return at("starts_at", t("opening_wrong_past"));
  if (prequeue && Date.parse(prequeue) >= begins) return at("prequeue_at", t("opening_wrong_prequeue"));
  if (draw === "random" && !prequeue) return at("prequeue_at", t("opening_wrong_draw"));
  if (!isWhole(grace, 0, LONGEST_GRACE))
    return at("draw_grace_seconds", t("opening_wrong_number", { min: number(0), max: number(LONGEST_GRACE) }));
  if (ends && Date.parse(ends) <= begins + 1000 * grace) return at("ends_at", t("opening_wrong_end"));
  if (fields.add_stock !== null && !isWhole(fields.add_stock, 1, MOST_STOCK))
    return at("add_stock", t("opening_wrong_number", { min: number(1), max: number(MOST_STOCK) }));
  return null;
}

const isWhole = (value, min, max) => Number.isInteger(value) && value >= min && value <= max;

/** Send an opening. Of one that is changed, only what differs: so two people can change different fields. */
async function send(queue, what, opening, fields) {
  const path = queue.path("/openings");
  if (what !== "edit") return call("POST", path, fields);
  const changes = Object.fromEntries(Object.entries(fields).filter(([name, value]) => !same(value, opening[name])));
  const { data, version } = await call("GET", `${path}/${opening.id}`);
  const theirs = Object.keys(changes).find((name) => !same(data[name], opening[name]));
  // Somebody has changed the same field since the form was opened: the version of then is refused.
  return call("PATCH", `${path}/${opening.id}`, changes, { "If-Match": theirs ? '"0"' : version });
}

/** What cannot be changed any more of an opening in this state. */
function fixedFields(state) {
  if (!state) return new Set();
  const always = ["prequeue_at", "draw", "add_stock", "recheck_inside"];
  return new Set(state === "prequeue" ? always : [...always, "starts_at", "draw_grace_seconds"]);
}

/** An opening like this one, on the same weekday and at the same time on the clock, in the next week that is ahead. */
function nextWeek(opening, zone) {
  let weeks = 1;
  const shifted = (at) => {
    if (!at) return null;
    const shown = onTheClock(Date.parse(at), zone),
      day = new Date(`${shown.slice(0, 10)}T00:00Z`);
    day.setUTCDate(day.getUTCDate() + WEEK * weeks);
    return momentOf(`${day.toISOString().slice(0, 10)}${shown.slice(10)}`, zone);
  };
  while (Date.parse(shifted(opening.prequeue_at ?? opening.starts_at)) <= Date.now()) weeks += 1;
  const times = { prequeue_at: 0, starts_at: 0, ends_at: 0 };
  for (const name of Object.keys(times)) times[name] = shifted(opening[name]);
  return { ...opening, ...times };
}

// Controls

function makeField(name, label, about, { element, get, note }, { disabled }) {
  const id = `opening-${name}`,
    said = h("p", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  element.id = id;
  element.disabled = disabled;
  element.setAttribute("aria-describedby", `${id}-about ${id}-wrong`);
  return {
    element: h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      h("div", { class: "value" }, element, note, said, h("p", { class: "about", id: `${id}-about` }, about)),
    ),
    input: element,
    said,
    get,
  };
}

const text = (value, longest) => {
  const element = h("input", { type: "text", maxlength: longest, autocomplete: "off", dir: "auto", value });
  return { element, get: () => element.value.trim() };
};

const wholeNumber = (value, min, max, empty = null) => {
  const element = h("input", { type: "number", class: "number", min, max, step: 1, value: value ?? "" });
  return { element, get: () => (element.value === "" && element.validity.valid ? empty : Number(element.value)) };
};

const box = (checked) => {
  const element = h("input", { type: "checkbox", checked });
  return { element, get: () => element.checked };
};

const choice = (value, choices) => {
  const options = choices.map(([name, label]) => h("option", { value: name, selected: name === value }, label));
  const element = h("select", {}, ...options);
  return { element, get: () => element.value };
};

/** A time on the clocks of the queue, said in full below: so a time that a change of the clocks leaves out is seen. */
function moment(value, zone) {
  const shown = value ? onTheClock(Date.parse(value), zone) : "";
  const element = h("input", {
    type: "datetime-local",
    class: "moment",
    value: shown,
    step: shown.length > 16 ? 1 : 60,
  });
  const note = h("p", { class: "note", role: "status" });
  const get = () => (element.value === "" ? null : element.value === shown ? value : momentOf(element.value, zone));
  const draw = () => {
    note.textContent = get() ? inFull(get(), zone) : "";
  };
  element.addEventListener("input", draw);
  draw();
  return { element, get, note };
}
