// All settings of a queue, in groups. A change that someone else makes meanwhile is shown before it can be overwritten.

import { call, may, page, remove, why } from "./admin-api.js";
import { confirm, h, toast } from "./admin-dom.js";
import { control } from "./admin-settings-control.js";
import { duration, number, value as words } from "./admin-words.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class Settings {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.fields = new Map();
    this.theirs = h("div", { class: "stack", role: "status" });
    this.count = h("p", {});
    this.save = h("button", { class: "button", "data-do": "save-settings" }, "Save");
    this.bar = h(
      "div",
      { class: "save", hidden: true },
      this.count,
      h("button", { type: "button", class: "button quiet", onclick: () => this.fill() }, "Discard"),
      this.save,
    );
    const form = h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.send();
        },
        oninput: () => this.mark(),
      },
      this.theirs,
      ...page.form.map((group) => this.group(group)),
      this.danger(),
      this.bar,
    );
    panel.append(
      h(
        "div",
        { class: "settings" },
        h(
          "nav",
          { "aria-label": "Groups of settings" },
          ...page.form.map(({ title }) =>
            h("a", { href: `#group-${slug(title)}`, onclick: (event) => this.jump(event, title) }, title),
          ),
        ),
        form,
      ),
    );
  }

  opened() {
    if (!this.base) this.load();
  }

  /** Scroll to a group. The address names the open tab, so it must not change. */
  jump(event, title) {
    event.preventDefault();
    const group = document.getElementById(`group-${slug(title)}`);
    group.scrollIntoView({ block: "start" });
    group.querySelector("input, select, textarea")?.focus({ preventScroll: true });
  }

  async load() {
    this.failed = false;
    try {
      const { data, version } = await call("GET", this.queue.path());
      this.base = data;
      this.version = version;
      this.fill();
    } catch (error) {
      this.failed = true;
      this.theirs.replaceChildren(
        h(
          "div",
          { class: "banner bad" },
          h("span", {}, error.message),
          h("button", { type: "button", class: "button small quiet", onclick: () => this.load() }, "Try again"),
        ),
      );
    }
  }

  /** Someone else changed a setting: take the new value, and show the change if something is being edited here. */
  async update(_now, newer) {
    if (this.failed && !this.panel.hidden) return this.load();
    if (!newer || !this.base) return;
    const { data, version } = await call("GET", this.queue.path()).catch(() => ({}));
    if (!data || version === this.version) return;
    this.merge(data, version);
  }

  merge(data, version) {
    const mine = this.edits(),
      before = this.base;
    const changed = Object.keys(mine).length
      ? [...this.fields.keys()].filter((name) => !same(before[name], data[name]))
      : [];
    this.base = data;
    this.version = version;
    for (const [name, field] of this.fields) {
      if (!(name in mine)) field.set(data[name]);
      field.element.toggleAttribute("data-theirs", changed.includes(name));
    }
    this.theirs.replaceChildren(
      ...(changed.length
        ? [
            h(
              "div",
              { class: "banner warn" },
              h(
                "div",
                {},
                h("b", {}, "Changed by someone else meanwhile. "),
                "Check it, then save. Your own changes are kept.",
                ...changed.map((name) =>
                  h(
                    "p",
                    { class: "change" },
                    h("code", {}, name),
                    " ",
                    h("span", { class: "from" }, words(before[name])),
                    " → ",
                    words(data[name]),
                    name in mine ? " (you are changing it too)" : "",
                  ),
                ),
              ),
            ),
          ]
        : []),
    );
    this.mark();
    return changed;
  }

  fill() {
    for (const [name, field] of this.fields) {
      field.set(this.base[name]);
      field.element.removeAttribute("data-theirs");
    }
    this.theirs.replaceChildren();
    this.wrong(null);
    this.mark();
  }

  edits() {
    const found = {};
    for (const [name, field] of this.fields) {
      const value = field.get();
      if (!same(value, this.base[name])) found[name] = value;
    }
    return found;
  }

  mark() {
    if (!this.base) return;
    const mine = this.edits(),
      many = Object.keys(mine).length;
    for (const [name, field] of this.fields) field.element.toggleAttribute("data-changed", name in mine);
    this.bar.hidden = !many;
    this.count.textContent = `${number(many)} ${many === 1 ? "setting" : "settings"} changed`;
  }

  async send() {
    if (!this.base) return;
    const changes = this.edits();
    this.wrong(null);
    this.save.disabled = true;
    try {
      const { data, version } = await call("PATCH", this.queue.path(), changes, { "If-Match": this.version });
      this.base = data;
      this.version = version;
      this.fill();
      toast("Saved. You can restore the old values from the history.");
    } catch (error) {
      if (error.code === "settings_changed") await this.conflict();
      else this.wrong(error);
    }
    this.save.disabled = false;
  }

  async conflict() {
    const { data, version } = await call("GET", this.queue.path());
    if (!this.merge(data, version).length) return this.send();
    this.theirs.scrollIntoView({ block: "center" });
    toast("Not saved: someone else changed the settings meanwhile.", "bad");
    return undefined;
  }

  wrong(error) {
    for (const field of this.fields.values()) field.said.hidden = true;
    if (!error) return;
    const field = this.fields.get(error.field);
    if (!field) return toast(error.message, "bad");
    field.said.textContent = error.message;
    field.said.hidden = false;
    field.input.focus();
    return undefined;
  }

  group({ title, fields }) {
    return h(
      "fieldset",
      {
        class: "card",
        id: `group-${slug(title)}`,
        disabled: !may("operator"),
        title: may("operator") ? null : why("operator"),
      },
      h("legend", {}, title),
      ...fields.map((field) => this.field(field)),
    );
  }

  field(field) {
    const id = `set-${field.name}`,
      about = `${id}-about`;
    const [input, get, set] = control(field, { id, "aria-describedby": about, name: field.name });
    const said = h("p", { class: "wrong", role: "alert", hidden: true });
    const hint = [plain(field.about), membersOf(field), defaultOf(field)].filter(Boolean).join(" ");
    const unit = field.unit ? h("span", { class: "unit" }) : null;
    if (unit)
      input.addEventListener("input", () => {
        unit.textContent = `seconds = ${duration(Number(input.value), true)}`;
      });
    const element = h(
      "div",
      { class: "field" },
      h("label", { for: id }, field.label),
      h(
        "div",
        { class: "value" },
        unit ? h("span", { class: "with-unit" }, input, unit) : input,
        said,
        h("p", { class: "about", id: about }, hint, " ", h("code", {}, field.name)),
      ),
    );
    this.fields.set(field.name, {
      element,
      input,
      get,
      said,
      set: (value) => {
        set(value);
        if (unit) unit.textContent = `seconds = ${duration(Number(value), true)}`;
      },
    });
    return element;
  }

  danger() {
    if (!may("admin")) return null;
    return h(
      "section",
      { class: "card", "aria-label": "Remove" },
      h("h2", {}, "Remove this queue"),
      h(
        "div",
        { class: "row" },
        h(
          "p",
          { class: "note grow" },
          "This also removes its tickets, statistics and settings. People in line lose their places.",
        ),
        h(
          "button",
          {
            type: "button",
            class: "button quiet bad",
            "data-do": "delete",
            onclick: async () => {
              if (
                !(await confirm(
                  "Remove this queue?",
                  `${this.queue.id} is removed with all its tickets, statistics and settings. This cannot be undone.`,
                  "Remove",
                ))
              )
                return;
              try {
                await remove(this.queue.path());
                location.href = "/admin";
              } catch (error) {
                toast(error.message, "bad");
              }
            },
          },
          "Remove",
        ),
      ),
    );
  }
}

const slug = (title) => title.toLowerCase().replaceAll(" ", "-");
const plain = (text) => {
  const said = text.replaceAll("`", "");
  return said && `${said[0].toUpperCase()}${said.slice(1)}${/[.:]$/.test(said) ? "" : "."}`;
};
const membersOf = ({ members }) => (members ? `Any of: ${members.join(", ")}.` : "");
const defaultOf = ({ default: byDefault, kind }) =>
  byDefault === null || byDefault === "" || kind === "object" || (Array.isArray(byDefault) && !byDefault.length)
    ? ""
    : `Default: ${kind === "numbers" ? byDefault.join(", ") : words(byDefault)}.`;
