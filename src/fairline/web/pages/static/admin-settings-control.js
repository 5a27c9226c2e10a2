// The controls of the settings form.

import { h } from "./admin-dom.js";

/** The control of a field: its element, a function that reads it, and one that sets it. */
export function control(field, props) {
  const { kind, optional } = field;
  if (kind === "choice") {
    const select = h("select", props, ...field.choices.map((choice) => h("option", { value: choice }, choice)));
    return [
      select,
      () => select.value,
      (value) => {
        select.value = value;
      },
    ];
  }
  if (kind === "boolean") {
    const box = h("input", { ...props, type: "checkbox" });
    return [
      box,
      () => box.checked,
      (value) => {
        box.checked = value;
      },
    ];
  }
  if (kind === "number" || kind === "integer") {
    const input = h("input", {
      ...props,
      class: "number",
      type: "number",
      min: field.min,
      max: field.max,
      step: kind === "integer" ? 1 : "any",
      placeholder: optional ? "unset" : null,
    });
    return [
      input,
      () => (input.value === "" ? (optional ? null : "") : Number(input.value)),
      (value) => {
        input.value = value ?? "";
      },
    ];
  }
  if (kind === "text") {
    const input = h("input", {
      ...props,
      type: "text",
      maxlength: field.longest,
      spellcheck: "false",
      autocomplete: "off",
    });
    return [
      input,
      () => (optional && input.value === "" ? null : input.value),
      (value) => {
        input.value = value ?? "";
      },
    ];
  }
  if (kind === "numbers") {
    const input = h("input", { ...props, type: "text" });
    return [
      input,
      () => input.value.split(",").map((part) => Number(part.trim())),
      (value) => {
        input.value = value.join(", ");
      },
    ];
  }
  const area = h("textarea", {
    ...props,
    rows: kind === "long" && field.longest > 5000 ? 4 : 2,
    maxlength: field.longest,
    spellcheck: "false",
  });
  if (kind === "lines")
    return [
      area,
      () =>
        area.value
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      (value) => {
        area.value = value.join("\n");
      },
    ];
  if (kind === "object") {
    return [
      area,
      () => {
        try {
          return area.value.trim() ? JSON.parse(area.value) : {};
        } catch {
          return area.value;
        }
      },
      (value) => {
        area.value = Object.keys(value).length ? JSON.stringify(value, null, 2) : "";
      },
    ];
  }
  return [
    area,
    () => area.value,
    (value) => {
      area.value = value ?? "";
    },
  ];
}
