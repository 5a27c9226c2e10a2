// The history of the settings: who changed what, with buttons that restore an earlier version.

import { get, post } from "./admin-api.js";
import { badge, confirm, h, redraw, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { openingChanges } from "./admin-opening-changes.js";
import { t } from "./admin-text.js";
import { dateTime, value } from "./admin-words.js";

/** The lines of one changed setting. The phase of an opening is said with its state. */
function lines(name, { from, to }) {
  if (name === "phase") return [];
  if (name === "openings")
    return openingChanges({ from, to }).map((text) => h("p", { class: "change", "data-change": "opening" }, text));
  return [
    h(
      "p",
      { class: "change" },
      h("code", {}, name),
      " ",
      h("span", { class: "from" }, value(from)),
      " → ",
      h("b", {}, value(to)),
    ),
  ];
}

export class History {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div", {}, h("p", { class: "note" }, t("loading")));
    this.more = h(
      "button",
      { type: "button", class: "button quiet", hidden: true, onclick: () => this.load(this.cursor) },
      t("show_more"),
    );
    panel.append(h("section", { class: "card", "aria-label": t("history_of_settings") }, this.body, this.more));
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
          ? [h("p", { class: "note" }, t("change_deleted"))]
          : Object.entries(revision.changes).flatMap(([name, change]) => lines(name, change));
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
                  onclick: () => this.restore(older, t("undo_last_ask")),
                },
                t("undo"),
              )
            : null
          : h(
              "button",
              {
                type: "button",
                class: "button small quiet",
                "data-do": "restore",
                "data-needs": "operator",
                onclick: () => this.restore(revision, t("restore_ask")),
              },
              t("restore_version"),
            );
      return [
        dateTime(revision.at),
        revision.by ? revision.by.name || revision.by.id : "Fairline",
        h(
          "div",
          {},
          made ? h("p", { class: "note" }, changes.length ? t("created_with") : t("created_default")) : null,
          ...(changes.length || made ? changes : [h("p", { class: "note" }, t("nothing_changed"))]),
        ),
        undo ?? (i === 0 ? badge({ label: t("current"), tone: "good" }) : ""),
      ];
    });
    redraw(this.body, table(t("changes"), [t("when"), t("by"), t("what"), ""], rows, t("no_changes")));
    guard(this.body);
  }

  async restore({ version, at }, question) {
    if (!(await confirm(question, t("restore_text", { at: dateTime(at) }), t("restore"), ""))) return;
    try {
      // The version on the page is the one to replace: if someone changed it meanwhile, the server refuses.
      await post(this.queue.path(`/history/${version}/restore`), {}, { "If-Match": `"${this.revisions[0].version}"` });
      toast(t("restored", { at: dateTime(at) }));
      await this.load();
    } catch (error) {
      toast(error.message, "bad");
      if (error.code === "settings_changed") await this.load();
    }
  }
}
