// Who changed which settings, and the way back.

import { get, post } from "./admin-api.js";
import { guard } from "./admin-frame.js";
import { confirm, h, toast } from "./admin-dom.js";
import { dateTime, value } from "./admin-words.js";

export class History {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div", {}, h("p", { class: "note" }, "Looking …"));
    this.more = h("button", { type: "button", class: "button quiet", hidden: true, onclick: () => this.load(this.cursor) }, "Show more");
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
      const older = this.revisions[i + 1]?.version;
      const changes = revision.changes === null ? [h("p", { class: "note" }, "What it changed is no longer kept.")]
        : Object.entries(revision.changes).map(([name, { from, to }]) => h("p", { class: "change" }, h("code", {}, name), " ", h("span", { class: "from" }, value(from)), " → ", h("b", {}, value(to))));
      const undo = i === 0 ? (older ? h("button", { type: "button", class: "button small", "data-do": "undo", "data-needs": "operator", onclick: () => this.restore(older, "Undo the last change?") }, "Undo") : null)
        : h("button", { type: "button", class: "button small quiet", "data-do": "restore", "data-needs": "operator", onclick: () => this.restore(revision.version, `Go back to version ${revision.version}?`) }, "Go back to this");
      return [`${revision.version}`, dateTime(revision.at), revision.by ? revision.by.name || revision.by.id : "Fairline", h("div", {}, ...(changes.length ? changes : [h("p", { class: "note" }, revision.version === 1 ? "The queue was made." : "Nothing changed.")])), undo];
    });
    const columns = ["Version", "When", "By", "What", ""];
    this.body.replaceChildren(h("div", { class: "over" }, h("table", { class: "table fold", "aria-label": "Changes" }, h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "Go back"))))),
      h("tbody", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((cell, i) => h("td", { "data-label": columns[i] }, cell ?? ""))))))));
    guard(this.body);
  }

  async restore(version, question) {
    if (!(await confirm(question, `Everything is set as it was at version ${version}. This is a change like any other, and can be undone.`, "Go back", ""))) return;
    try {
      await post(this.queue.path(`/history/${version}/restore`));
      toast(`As at version ${version} again.`);
      await this.load();
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
