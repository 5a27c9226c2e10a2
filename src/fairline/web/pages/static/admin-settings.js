// All settings of a queue, a tab for each group, beside the page as it would be. A change that someone else makes
// meanwhile is shown before it can be overwritten.

import { call, may, page, remove, why } from "./admin-api.js";
import { confirm, h, toast } from "./admin-dom.js";
import { focusField, settingField, wrongWords } from "./admin-settings-field.js";
import { Preview } from "./admin-settings-preview.js";
import { count, t } from "./admin-text.js";
import { value as words } from "./admin-words.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class Settings {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.fields = new Map();
    this.zones = [];
    this.theirs = h("div", { class: "stack", role: "status" });
    this.count = h("p", {});
    this.save = h("button", { class: "button", "data-do": "save-settings" }, t("settings_save"));
    this.bar = h(
      "div",
      { class: "save", hidden: true },
      this.count,
      h("button", { type: "button", class: "button quiet", onclick: () => this.fill() }, t("settings_discard")),
      this.save,
    );
    this.groups = page.form.map((group) => ({ ...group, tab: this.tab(group), panel: this.group(group) }));
    // Viewers may not ask for pages with other settings.
    this.preview = may("operator")
      ? new Preview(
          queue,
          () => this.edits(),
          (error) => this.wrong(error, false),
        )
      : null;
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
      ...this.groups.map((group) => group.panel),
      this.bar,
    );
    const tabs = h(
      "div",
      { class: "groups", role: "tablist", "aria-label": t("settings_groups") },
      ...this.groups.map((group) => group.tab),
    );
    panel.append(h("div", { class: "settings" }, tabs, form, this.preview?.element ?? null));
    this.choose(this.groups[0]);
  }

  opened() {
    if (!this.base) this.load();
  }

  // Tabs

  tab({ id, title }) {
    const tab = h(
      "button",
      { type: "button", role: "tab", id: `group-tab-${id}`, "aria-controls": `group-${id}` },
      title,
    );
    const at = () => this.groups.findIndex((group) => group.tab === tab);
    tab.addEventListener("click", () => this.choose(this.groups[at()]));
    tab.addEventListener("keydown", (event) => {
      const last = this.groups.length - 1,
        i = at();
      const to = { ArrowDown: i + 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowLeft: i - 1, Home: 0, End: last }[
        event.key
      ];
      if (to === undefined) return;
      event.preventDefault();
      const next = this.groups[(to + last + 1) % (last + 1)];
      this.choose(next);
      next.tab.focus();
    });
    return tab;
  }

  choose(wanted) {
    for (const { tab, panel } of this.groups) {
      const open = tab === wanted.tab;
      tab.setAttribute("aria-selected", String(open));
      tab.tabIndex = open ? 0 : -1;
      panel.hidden = !open;
    }
  }

  // What the controls need of the form

  /** The value of a setting as it is in the form; its default before there is one. */
  value(name) {
    return this.fields.get(name)?.get();
  }

  onZone(draw) {
    this.zones.push(draw);
  }

  zoneChanged() {
    for (const draw of this.zones) draw();
  }

  // The queue

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
          h("button", { type: "button", class: "button small quiet", onclick: () => this.load() }, t("settings_retry")),
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
                h("b", {}, t("settings_theirs")),
                " ",
                t("settings_theirs_text"),
                ...changed.map((name) =>
                  h(
                    "p",
                    { class: "change" },
                    h("b", {}, this.fields.get(name).label),
                    " ",
                    h("span", { class: "from" }, words(before[name])),
                    " → ",
                    words(data[name]),
                    name in mine ? ` ${t("settings_theirs_too")}` : "",
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
    for (const { tab, panel } of this.groups)
      tab.toggleAttribute("data-changed", panel.querySelector("[data-changed]") !== null);
    this.bar.hidden = !many;
    this.count.textContent = count("settings_changed", many);
    this.preview?.soon();
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
      toast(t("settings_saved"));
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
    toast(t("settings_not_saved"), "bad");
    return undefined;
  }

  /** Show what is wrong at its field, and take the reader there, unless they are still typing. */
  wrong(error, leads = true) {
    for (const field of this.fields.values()) {
      field.said.hidden = true;
      field.input.removeAttribute("aria-invalid");
    }
    if (!error) return;
    const field = this.fields.get(error.field);
    if (!field) {
      if (leads) toast(error.message, "bad");
      return;
    }
    field.said.replaceChildren(...wrongWords(error, field, (name) => this.fields.get(name)?.label));
    field.said.hidden = false;
    field.input.setAttribute("aria-invalid", "true");
    if (!leads) return;
    this.choose(this.groups.find(({ panel }) => panel.contains(field.element)));
    focusField(field);
  }

  group({ id, title, fields }) {
    return h(
      "div",
      { role: "tabpanel", id: `group-${id}`, "aria-labelledby": `group-tab-${id}` },
      h(
        "fieldset",
        { class: "card", disabled: !may("operator"), title: may("operator") ? null : why("operator") },
        h("legend", {}, title),
        ...fields.map((field) => this.field(field)),
        id === page.form[0].id ? this.danger() : null,
      ),
    );
  }

  field(field) {
    const made = settingField(field, this);
    this.fields.set(field.name, made);
    return made.element;
  }

  danger() {
    if (!may("admin")) return null;
    return h(
      "section",
      { class: "danger", "aria-label": t("remove_queue") },
      h("h3", {}, t("remove_queue")),
      h(
        "div",
        { class: "row" },
        h("p", { class: "note grow" }, t("remove_queue_text")),
        h(
          "button",
          { type: "button", class: "button quiet bad", "data-do": "delete", onclick: () => this.remove() },
          t("remove_queue_button"),
        ),
      ),
    );
  }

  async remove() {
    const text = t("remove_queue_sure", { queue: this.queue.id });
    if (!(await confirm(t("remove_queue_ask"), text, t("remove_queue_button")))) return;
    try {
      await remove(this.queue.path());
      location.href = "/admin";
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
