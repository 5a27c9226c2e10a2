// The settings of an opening in its form: any of the queue's, added one by one, with the controls of the settings form.

import { page } from "./admin-api.js";
import { h } from "./admin-dom.js";
import { settingField } from "./admin-settings-field.js";
import { t } from "./admin-text.js";
import { value as words } from "./admin-words.js";

/** An opening opens the queue itself, at times of its own. */
const NOT_HERE = ["status", "opens_at"];

export class OpeningSettings {
  /** `present` are the settings of the queue, and `own` those of the opening. */
  constructor(present, own) {
    this.present = present;
    this.own = own;
    this.fields = new Map();
    this.rows = h("div", {});
    this.select = h("select", { id: "opening-add-setting" });
    this.add = h(
      "button",
      {
        type: "button",
        class: "button small quiet",
        "data-do": "add-setting",
        onclick: () => this.added(this.select.value),
      },
      t("opening_setting_add"),
    );
    this.element = h(
      "fieldset",
      { class: "own" },
      h("legend", {}, t("opening_settings")),
      h("p", { class: "about" }, t("opening_settings_about")),
      this.rows,
      h(
        "div",
        { class: "row" },
        h("label", { for: this.select.id, class: "hidden" }, t("opening_column_setting")),
        this.select,
        this.add,
      ),
    );
    for (const [name, value] of Object.entries(own)) this.row(name, value);
    this.offer();
  }

  /** The value of a setting, for controls that depend on another one. */
  value(name) {
    return this.fields.get(name)?.get() ?? this.present[name];
  }

  onZone() {
    // The zone of the queue is that of its settings: it does not change while this form is open.
  }

  zoneChanged() {
    // As above.
  }

  values() {
    return Object.fromEntries([...this.fields].map(([name, field]) => [name, field.get()]));
  }

  all() {
    return [...this.fields.values()];
  }

  offer() {
    const groups = page.form.map(({ title, fields }) => [
      title,
      fields.filter(({ name }) => !this.fields.has(name) && !NOT_HERE.includes(name)),
    ]);
    this.select.replaceChildren(
      ...groups
        .filter(([, fields]) => fields.length)
        .map(([title, fields]) =>
          h("optgroup", { label: title }, ...fields.map(({ name, label }) => h("option", { value: name }, label))),
        ),
    );
  }

  added(name) {
    const field = this.row(name, this.present[name]);
    this.offer();
    (field.input.matches("input, select, textarea")
      ? field.input
      : field.input.querySelector("input, button")
    )?.focus();
  }

  row(name, value) {
    const definition = page.form.flatMap(({ fields }) => fields).find((field) => field.name === name);
    const removing = h(
      "button",
      {
        type: "button",
        class: "button small quiet",
        "data-do": "remove-setting",
        "aria-label": t("opening_setting_remove", { name: definition.label }),
        onclick: () => {
          this.fields.delete(name);
          field.element.remove();
          this.offer();
          this.select.focus();
        },
      },
      "×",
    );
    const beside = h(
      "div",
      { class: "row" },
      h("span", { class: "note" }, t("opening_setting_now", { value: words(this.present[name]) })),
      removing,
    );
    const field = settingField(definition, this, "opening-set", beside);
    field.set(value);
    this.fields.set(name, field);
    this.rows.append(field.element);
    return field;
  }
}
