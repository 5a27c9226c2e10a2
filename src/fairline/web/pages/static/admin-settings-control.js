// The controls of the settings form: one for each kind of value. A control is its element, a function that reads its
// value, and one that sets it.

import { page } from "./admin-api.js";
import { h } from "./admin-dom.js";
import { dates, hours } from "./admin-settings-hours.js";
import { colour, image } from "./admin-settings-look.js";
import { adding, removing } from "./admin-settings-rows.js";
import { moment, zone } from "./admin-settings-time.js";
import { t } from "./admin-text.js";

/** What may be chosen, in words. */
export const chosen = (value) => page.choices[value] ?? value;

/** A control whose value is read from the text of one element. */
const typed = (element, read, write = (value) => value ?? "") => ({
  element,
  get: () => read(element.value),
  set: (value) => {
    element.value = write(value);
  },
});

const CONTROLS = {
  choice: ({ choices }, props) =>
    typed(h("select", props, ...choices.map((value) => h("option", { value }, chosen(value)))), (text) => text),
  boolean: (_, props) => {
    const box = h("input", { ...props, type: "checkbox" });
    return {
      element: box,
      get: () => box.checked,
      set: (value) => {
        box.checked = value;
      },
    };
  },
  number: ({ kind, min, max, optional }, props) =>
    typed(
      h("input", {
        ...props,
        class: "number",
        type: "number",
        min,
        max,
        step: kind === "integer" ? 1 : "any",
        placeholder: optional ? t("setting_unset") : null,
      }),
      (text) => (text === "" ? (optional ? null : "") : Number(text)),
    ),
  text: ({ longest, optional }, props) =>
    typed(
      h("input", { ...props, type: "text", maxlength: longest, spellcheck: "false", autocomplete: "off", dir: "auto" }),
      (text) => (optional && text === "" ? null : text),
    ),
  numbers: (_, props) =>
    typed(
      h("input", { ...props, type: "text", dir: "ltr" }),
      (text) => text.split(",").map((part) => Number(part.trim())),
      (value) => value.join(", "),
    ),
  long: ({ longest }, props) =>
    typed(
      h("textarea", { ...props, rows: longest > 5000 ? 6 : 3, maxlength: longest, spellcheck: "false", dir: "auto" }),
      (text) => text,
    ),
  lines: (_, props) =>
    typed(
      h("textarea", { ...props, rows: 3, spellcheck: "false", placeholder: t("setting_one_a_line"), dir: "auto" }),
      (text) =>
        text
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      (value) => value.join("\n"),
    ),
  several: ({ choices }, props) => {
    const boxes = choices.map((value) => h("input", { type: "checkbox", value }));
    return {
      element: h(
        "div",
        { ...props, class: "stack choices" },
        ...boxes.map((box) => h("label", {}, box, " ", chosen(box.value))),
      ),
      get: () => boxes.filter((box) => box.checked).map((box) => box.value),
      set: (value) => {
        for (const box of boxes) box.checked = value.includes(box.value);
      },
    };
  },
  texts,
  colour,
  image,
  moment,
  zone,
  hours,
  dates,
};
CONTROLS.integer = CONTROLS.number;

/** The control of a field. Until it is touched, its value is the one that was set: a time keeps its way of writing. */
export function control(field, props, form) {
  const made = CONTROLS[field.kind](field, props, form);
  const { get, set } = made;
  let untouched = true,
    before;
  made.element.addEventListener("input", () => {
    untouched = false;
  });
  made.get = () => (untouched ? before : get());
  made.set = (value) => {
    [before, untouched] = [value, true];
    set(value);
  };
  return made;
}

/** Texts by name, each for all languages or for one: `waiting_title`, `waiting_title.de`. */
function texts(_, props) {
  const rows = h("div", { class: "stack" });
  const names = h("datalist", { id: `${props.id}-names` }, ...page.texts.map((value) => h("option", { value })));
  const row = (name = "", text = "") => {
    const [base, language = ""] = name.split(".");
    const made = h(
      "div",
      { class: "text-row" },
      h("input", {
        list: names.id,
        value: base,
        "aria-label": t("setting_text_name"),
        spellcheck: "false",
        dir: "ltr",
      }),
      h(
        "select",
        { "aria-label": t("setting_text_language") },
        h("option", { value: "" }, t("setting_all_languages")),
        ...page.languages.map(([code, label]) => h("option", { value: code, selected: code === language }, label)),
      ),
      h("textarea", { rows: 2, maxlength: 2000, "aria-label": t("setting_text"), dir: "auto" }, text),
      removing(() => made),
    );
    return made;
  };
  const element = h("div", { ...props, class: "stack" }, names, rows, adding(t("setting_text_add"), rows, row));
  return {
    element,
    get: () => {
      const found = [...rows.children].map((each) => {
        const [name, language, text] = each.querySelectorAll("input, select, textarea");
        return [[name.value.trim(), language.value].filter(Boolean).join("."), text.value];
      });
      return Object.fromEntries(found.filter(([name]) => name));
    },
    set: (value) => rows.replaceChildren(...Object.entries(value).map(([name, text]) => row(name, text))),
  };
}
