// My desk: chosen once, remembered by this browser; open or closed.

import { may } from "./admin-api.js";
import { badge, h, show } from "./admin-dom.js";
import { t } from "./admin-text.js";

export class MyDesk {
  constructor(queue, on) {
    this.on = on;
    this.place = `fairline-desk:${queue}`;
    this.element = show("my-desk");
    this.name = may("operator") ? this.remembered() : "";
    this.choosing = !this.name;
    this.facts = "";
  }

  /** Whether a ticket was called to this desk. */
  has(ticket) {
    return Boolean(this.name) && ticket.desk === this.name;
  }

  update({ named_desks, desks }) {
    if (this.name && named_desks.length && !named_desks.includes(this.name)) this.leave();
    const facts = JSON.stringify([this.name, this.choosing, named_desks, desks.map(({ name, open }) => [name, open])]);
    if (facts === this.facts) return;
    this.facts = facts;
    this.last = { named_desks, desks };
    this.draw();
  }

  draw() {
    if (!may("operator")) this.element.replaceChildren(h("p", { class: "note" }, t("desk_view_only")));
    else if (this.choosing) this.choose(this.last);
    else this.show(this.last);
  }

  show({ desks }) {
    const open = desks.find((desk) => desk.name === this.name)?.open ?? false;
    this.element.replaceChildren(
      h(
        "div",
        { class: "desk-bar" },
        h(
          "p",
          { class: "desk-name", "data-show": "desk-name" },
          this.name,
          " ",
          badge(open ? { label: t("desk_open"), tone: "good" } : { label: t("desk_closed"), tone: "" }),
        ),
        h(
          "button",
          { type: "button", class: "button quiet", "data-do": "change-desk", onclick: () => this.change() },
          t("change_desk"),
        ),
        h(
          "button",
          {
            type: "button",
            class: "button quiet",
            "data-do": open ? "close-desk" : "open-desk",
            "data-press": true,
            onclick: () => this.on.set(!open),
          },
          open ? t("close_desk") : t("open_desk"),
        ),
      ),
    );
  }

  choose({ named_desks, desks }) {
    const known = named_desks.length ? named_desks : desks.map((desk) => desk.name),
      open = new Set(desks.filter((desk) => desk.open).map((desk) => desk.name));
    const typed = h("input", { id: "desk-typed", maxlength: 60, placeholder: t("desk_example"), autocomplete: "off" });
    this.element.replaceChildren(
      h("h2", {}, t("which_desk")),
      h(
        "div",
        { class: "desk-choices" },
        ...known.map((name) =>
          h(
            "button",
            { type: "button", class: "button quiet", "data-desk": name, onclick: () => this.take(name) },
            name,
            open.has(name) ? badge({ label: t("desk_open"), tone: "good" }) : null,
          ),
        ),
      ),
      named_desks.length
        ? ""
        : h(
            "form",
            {
              class: "row desk-typed",
              onsubmit: (event) => {
                event.preventDefault();
                this.take(typed.value.trim());
              },
            },
            h("label", { for: "desk-typed" }, known.length ? t("other_desk") : t("desk_name")),
            h("span", { class: "grow" }, typed),
            h("button", { class: "button", "data-do": "take-desk" }, t("use_desk")),
          ),
      this.name
        ? h(
            "button",
            { type: "button", class: "button quiet", onclick: () => this.take(this.name) },
            t("stay_at", { desk: this.name }),
          )
        : "",
    );
  }

  focus() {
    this.element.querySelector("button, input")?.focus();
  }

  change() {
    this.choosing = true;
    this.draw();
    this.focus();
  }

  take(name) {
    if (!name) return;
    this.name = name;
    this.choosing = false;
    this.facts = "";
    try {
      localStorage.setItem(this.place, name);
    } catch {
      // Without storage, staff choose it again on the next visit.
    }
    this.draw();
    this.on.chosen();
  }

  /** The queue no longer has this desk: choose another one. */
  leave() {
    this.name = "";
    this.choosing = true;
  }

  remembered() {
    try {
      return localStorage.getItem(this.place) ?? "";
    } catch {
      return "";
    }
  }
}
