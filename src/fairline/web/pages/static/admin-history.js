// The history of the settings: who changed what, with buttons that restore an earlier version.

import { get, post } from "./admin-api.js";
import { badge, confirm, h, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { dateTime, value } from "./admin-words.js";

export class History {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div", {}, h("p", { class: "note" }, "Loading …"));
    this.more = h(
      "button",
      { type: "button", class: "button quiet", hidden: true, onclick: () => this.load(this.cursor) },
      "Show more",
    );
    panel.append(h("section", { class: "card", "aria-label": "History of the settings" }, this.body, this.more));
  }

  opened() {
    this.load();
  }

  update(_now, newer) {
    if (newer && !this.panel.hidden) this.load();
  }

  async load(before) {
    try {
      const { revisions, cursor } = await get(this.queue.path(`/history?limit=30${before ? `&before=${before}` : ""}`));
      this.revisions = before ? [...this.revisions, ...revisions] : revisions;
      this.cursor = cursor;
      this.more.hidden = cursor === null;
      this.draw();
    } catch (error) {
      this.body.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
  }

  draw() {
    const rows = this.revisions.map((revision, i) => {
      const older = this.revisions[i + 1],
        made = revision.version === this.revisions.at(-1).version && this.cursor === null;
      const changes =
        revision.changes === null
          ? [h("p", { class: "note" }, "The details of this change have been deleted.")]
          : Object.entries(revision.changes).map(([name, { from, to }]) =>
              h(
                "p",
                { class: "change" },
                h("code", {}, name),
                " ",
                h("span", { class: "from" }, value(from)),
                " → ",
                h("b", {}, value(to)),
              ),
            );
      const undo =
        i === 0
          ? older
            ? h(
                "button",
                {
                  type: "button",
                  class: "button small",
                  "data-do": "undo",
                  "data-needs": "operator",
                  onclick: () => this.restore(older, "Undo the last change?"),
                },
                "Undo",
              )
            : null
          : h(
              "button",
              {
                type: "button",
                class: "button small quiet",
                "data-do": "restore",
                "data-needs": "operator",
                onclick: () => this.restore(revision, "Restore these settings?"),
              },
              "Restore this version",
            );
      return [
        dateTime(revision.at),
        revision.by ? revision.by.name || revision.by.id : "Fairline",
        h(
          "div",
          {},
          made
            ? h(
                "p",
                { class: "note" },
                changes.length
                  ? "Created, with these settings changed from the defaults:"
                  : "Created, with the default settings.",
              )
            : null,
          ...(changes.length || made ? changes : [h("p", { class: "note" }, "Nothing changed.")]),
        ),
        undo ?? (i === 0 ? badge({ label: "Current", tone: "good" }) : ""),
      ];
    });
    this.body.replaceChildren(table("Changes", ["When", "By", "What", ""], rows, "No changes yet."));
    guard(this.body);
  }

  async restore({ version, at }, question) {
    if (
      !(await confirm(
        question,
        `All settings go back to the version of ${dateTime(at)}. This is a change like any other, and can be undone.`,
        "Restore",
        "",
      ))
    )
      return;
    try {
      // The version on the page is the one to replace: if someone changed it meanwhile, the server refuses.
      await post(this.queue.path(`/history/${version}/restore`), {}, { "If-Match": `"${this.revisions[0].version}"` });
      toast(`Restored the version of ${dateTime(at)}.`);
      await this.load();
    } catch (error) {
      toast(error.message, "bad");
      if (error.code === "settings_changed") await this.load();
    }
  }
}
