// Who changed which settings, and the way back.

import { get, post } from "./admin-api.js";
import { badge, confirm, h, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { dateTime, value } from "./admin-words.js";

export class History {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div", {}, h("p", { class: "note" }, "Looking …"));
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

  told(_now, newer) {
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
          ? [h("p", { class: "note" }, "What it changed is no longer kept.")]
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
                onclick: () => this.restore(revision, "Go back to these settings?"),
              },
              "Go back to this",
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
                changes.length ? "Made, with other settings than usual:" : "Made, with the usual settings.",
              )
            : null,
          ...(changes.length || made ? changes : [h("p", { class: "note" }, "Nothing changed.")]),
        ),
        undo ?? (i === 0 ? badge({ label: "As it is now", tone: "good" }) : ""),
      ];
    });
    this.body.replaceChildren(table("Changes", ["When", "By", "What", ""], rows, "Nothing was changed yet."));
    guard(this.body);
  }

  async restore({ version, at }, question) {
    if (
      !(await confirm(
        question,
        `Everything is set as it was from ${dateTime(at)} on. This is a change like any other, and can be undone.`,
        "Go back",
        "",
      ))
    )
      return;
    try {
      // What was looked at is what is undone: where someone was quicker, the server says so.
      await post(this.queue.path(`/history/${version}/restore`), {}, { "If-Match": `"${this.revisions[0].version}"` });
      toast(`As it was from ${dateTime(at)} on.`);
      await this.load();
    } catch (error) {
      toast(error.message, "bad");
      if (error.code === "settings_changed") await this.load();
    }
  }
}
