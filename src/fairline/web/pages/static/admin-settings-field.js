// One setting in a form: its label, its control, what it is for, and what is wrong with it.

import { h } from "./admin-dom.js";
import { chosen, control } from "./admin-settings-control.js";
import { t } from "./admin-text.js";
import { duration, number, value as words } from "./admin-words.js";

/** Controls of several parts. */
const GROUPED = new Set(["several", "texts", "hours", "dates"]);

/** Make the field of a setting. `form` has the values that a control may need, and `prefix` begins its ids. */
export function settingField(field, form, prefix = "set", beside = null) {
  const id = `${prefix}-${field.name}`,
    about = `${id}-about`,
    label = `${id}-label`;
  const described = { id, "aria-describedby": `${about} ${id}-wrong`, "data-name": field.name };
  const made = control(
    field,
    GROUPED.has(field.kind) ? { ...described, role: "group", "aria-labelledby": label } : described,
    form,
  );
  const said = h("p", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const hint = [plain(field.about), defaultOf(field)].filter(Boolean).join(" ");
  const unit = field.unit ? h("span", { class: "unit" }) : null;
  const input = made.element.id === id ? made.element : made.element.querySelector(`#${id}`);
  const drawUnit = () => {
    if (unit) unit.textContent = t("setting_seconds", { duration: duration(Number(input.value), true) });
  };
  input.addEventListener("input", drawUnit);
  const element = h(
    "div",
    { class: "field", "data-kind": field.kind },
    GROUPED.has(field.kind)
      ? h("span", { id: label, class: "of-group", title: field.name }, field.label)
      : h("label", { for: id, title: field.name }, field.label),
    h(
      "div",
      { class: "value" },
      unit ? h("span", { class: "with-unit" }, made.element, unit) : made.element,
      said,
      h("p", { class: "about", id: about }, hint),
      beside,
    ),
  );
  return {
    element,
    input,
    said,
    label: field.label,
    limits: field,
    get: made.get,
    set: (value) => {
      made.set(value);
      drawUnit();
    },
  };
}

/** What is wrong with a field: in the reader's language where its limits say it, or else as the server said it, with
 *  the labels of the settings in the place of their names. */
export function wrongWords(error, { limits: { min, max, kind }, get }, labelOf) {
  const found = get();
  const outside = found === "" || found < min || found > max;
  if (["number", "integer"].includes(kind) && max !== undefined && found !== null && outside)
    return [t("setting_from_to", { min: number(min), max: number(max) })];
  return [asTheServerSaid(error, labelOf)];
}

/** What the server said of a field, in English. */
export function asTheServerSaid(error, labelOf = () => undefined) {
  const text = error.message.replace(new RegExp(`^${error.field}:? `), "");
  const named = text.replace(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => (labelOf(name) ? `“${labelOf(name)}”` : name));
  return h("span", { lang: "en", dir: "ltr" }, named[0].toUpperCase() + named.slice(1));
}

/** The focus goes to a field, or to the first control in it. */
export const focusField = ({ input }) =>
  (input.matches("input, select, textarea") ? input : input.querySelector("input, button"))?.focus();

const plain = (text) => {
  const said = text.replaceAll("`", "");
  return said && `${said[0].toUpperCase()}${said.slice(1)}${/[.:。]$/.test(said) ? "" : "."}`;
};
/** The default, if there is one that says something. */
const defaultOf = ({ default: byDefault, kind, choices }) => {
  const empty = byDefault === null || byDefault === "" || typeof byDefault === "object";
  if (kind === "numbers") return t("setting_default", { value: byDefault.join(", ") });
  return empty ? "" : t("setting_default", { value: choices ? chosen(byDefault) : words(byDefault) });
};
