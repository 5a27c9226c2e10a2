// Helpers that make and find elements. Text is always set as text: nothing that people wrote becomes markup.

import { t } from "./admin-text.js";

const SVG = "http://www.w3.org/2000/svg";

/** Make an element from its attributes, its `on` handlers and its children, which are elements or text. */
export function h(name, props = {}, ...children) {
  return fill(document.createElement(name), props, children);
}

export function svg(name, props = {}, ...children) {
  return fill(document.createElementNS(SVG, name), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && (name === "value" || name === "checked" || name === "disabled")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const show = (name, root = document) => root.querySelector(`[data-show="${name}"]`);

/** Set text only if it differs, so that a screen reader does not repeat it and a selection is not lost. */
export function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** Draw again what is in an element. The focus stays on the same control, or goes to the nearest place that is still
 *  there: it never falls back to the start of the page. */
export function redraw(element, ...children) {
  const had = element.contains(document.activeElement) && document.activeElement,
    place = had && placeOf(had);
  element.replaceChildren(...children);
  if (!had) return;
  const same = [...element.querySelectorAll("button, a, input, select, summary")].find((it) => placeOf(it) === place);
  const near = element.closest("dialog")?.querySelector("button") ?? document.getElementById("main");
  (same ?? near).focus({ preventScroll: true });
}
const placeOf = (control) =>
  JSON.stringify([control.closest("tr")?.cells[0].textContent, control.dataset, control.textContent]);

/** Text that people wrote, as part of our own sentence: its direction does not change that of the text around it. */
export const isolated = (text) => `\u2068${text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")}\u2069`;

export const badge = ({ label, tone }) => h("span", { class: `badge ${tone}` }, label);

export function debounce(seconds, call) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), seconds * 1000);
  };
}

/** A short message at the foot of the page, with a button that undoes what it reports. Screen readers say it too. */
export function toast(text, tone = "", button = null) {
  const element = h("p", { class: `toast ${tone}` }, text, button);
  button?.addEventListener("click", () => element.remove());
  // A dialog makes all that is outside of it unreachable, so that a button would be, too.
  (document.querySelector("dialog[open] .toasts") ?? show("toasts")).append(element);
  setTimeout(() => element.remove(), button || tone === "bad" ? 9000 : 4000);
}

/** A banner across the page. It stays until `text` is null. */
export function banner(name, text, tone = "warn", ...more) {
  const all = show("banners"),
    there = all.querySelector(`[data-banner="${name}"]`);
  if (text && there?.firstChild.textContent === text) return;
  there?.remove();
  if (text)
    all.append(
      h(
        "div",
        { class: `banner ${tone}`, "data-banner": name, role: tone === "bad" ? "alert" : "status" },
        h("span", {}, text),
        ...more,
      ),
    );
}

/** Open a dialog, and remove it when it closes. `build(close)` makes its content. */
export function dialog(label, build, kind = "") {
  const element = h("dialog", { class: kind, "aria-label": label });
  const close = () => element.close();
  element.append(h("div", { class: "in" }, ...build(close, element)));
  element.addEventListener("close", () => element.remove());
  element.addEventListener("click", (event) => event.target === element && close());
  document.body.append(element);
  element.showModal();
  return element;
}

/** Ask before an action. Both buttons are named by what they do; `keep` is the one that does nothing. Resolves to
 *  whether it was confirmed. */
export function confirm(title, text, action, tone = "bad", keep = t("cancel")) {
  return new Promise((answer) => {
    let sure = false;
    const asked = dialog(title, (close) => [
      h("h2", {}, title),
      h("p", { class: "note" }, text),
      h(
        "div",
        { class: "tools" },
        h("button", { type: "button", class: "button quiet", "data-do": "keep", onclick: close }, keep),
        h(
          "button",
          {
            type: "button",
            class: `button ${tone}`,
            autofocus: true,
            "data-do": "confirm",
            onclick: () => {
              sure = true;
              close();
            },
          },
          action,
        ),
      ),
    ]);
    asked.addEventListener("close", () => answer(sure));
  });
}

/** A form in a dialog: its fields, the label of its button, and the function that gets the values. */
export function ask(title, fields, action, send, note = "") {
  return dialog(title, (close) => {
    const mistake = h("p", { class: "wrong", role: "alert", hidden: true });
    const inputs = fields.map((field) => [field, input(field)]);
    const button = h("button", { class: "button", "data-do": "confirm" }, action);
    const form = h(
      "form",
      {
        class: "stack",
        onsubmit: async (event) => {
          event.preventDefault();
          button.disabled = true;
          mistake.hidden = true;
          try {
            await send(Object.fromEntries(inputs.map(([field, element]) => [field.name, read(field, element)])));
            close();
          } catch (error) {
            mistake.textContent = error.message;
            mistake.hidden = false;
          }
          button.disabled = false;
        },
      },
      ...inputs.flatMap(([field, element]) => [
        h("label", { for: element.id }, field.label),
        element,
        field.note ? h("p", { class: "note" }, field.note) : null,
      ]),
      mistake,
      h(
        "div",
        { class: "tools" },
        h("button", { type: "button", class: "button quiet", onclick: close }, t("cancel")),
        button,
      ),
    );
    return [h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, form].filter(Boolean);
  });
}

let made = 0;
function input(field) {
  const id = `field-${++made}`;
  if (field.choices)
    return h(
      "select",
      { id },
      ...field.choices.map(([value, label]) => h("option", { value, selected: value === field.value }, label)),
    );
  if (field.kind === "check") return h("input", { id, type: "checkbox", checked: field.value });
  if (field.kind === "long")
    return h("textarea", { id, maxlength: field.longest, required: field.required }, field.value ?? "");
  const element = h("input", {
    id,
    type: field.kind ?? "text",
    required: field.required,
    min: field.min,
    max: field.max,
    maxlength: field.longest,
    pattern: field.pattern,
    autocomplete: "off",
  });
  element.value = field.value ?? "";
  return element;
}

function read(field, element) {
  if (field.kind === "check") return element.checked;
  if (field.kind === "number") return element.value === "" ? null : Number(element.value);
  return element.value;
}

/** Show a secret. It is not shown again. */
export function secret(title, text, note) {
  return dialog(title, (close) => [
    h("h2", {}, title),
    h("p", { class: "note" }, note),
    h("div", { class: "stack" }, h("code", { class: "secret", tabindex: 0, "data-show": "secret" }, text)),
    h(
      "div",
      { class: "tools" },
      h(
        "button",
        {
          type: "button",
          class: "button quiet",
          onclick: async (event) => {
            const button = event.target;
            try {
              await navigator.clipboard.writeText(text); // not there without https
              button.textContent = t("copied");
            } catch {
              getSelection().selectAllChildren(button.closest(".in").querySelector(".secret"));
              button.textContent = t("copy_yourself");
            }
          },
        },
        t("copy"),
      ),
      h("button", { type: "button", class: "button", onclick: close }, t("done")),
    ),
  ]);
}

/** A table that folds into cards on a phone. */
export function table(label, columns, rows, empty) {
  if (!rows.length) return h("p", { class: "nothing" }, empty);
  return h(
    "div",
    { class: "over" },
    h(
      "table",
      { class: "table fold", "aria-label": label },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...columns.map((column) => h("th", { scope: "col" }, column || h("span", { class: "hidden" }, t("actions")))),
        ),
      ),
      h(
        "tbody",
        {},
        ...rows.map((cells) =>
          h("tr", {}, ...cells.map((cell, i) => h("td", { "data-label": columns[i] }, cell || []))),
        ),
      ),
    ),
  );
}

/** A card with a table in it, and with what else comes below. */
export const tableCard = (label, columns, rows, empty, ...below) =>
  h("section", { class: "card", "aria-label": label }, table(label, columns, rows, empty), ...below);
