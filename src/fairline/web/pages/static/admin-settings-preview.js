// The page of the queue as it would be with what is in the form, drawn by the server and shown in a phone.

import { call, page } from "./admin-api.js";
import { debounce, h, write } from "./admin-dom.js";
import { t } from "./admin-text.js";

const STATES = ["waiting", "form", "admitted", "expired", "maintenance"];
/** The policy of this page holds in the frame too. */
const { nonce } = document.querySelector("script[nonce]");

export class Preview {
  /** `changes` gives what would be changed, and `refused` gets the reason why the page cannot be drawn. */
  constructor(queue, changes, refused) {
    this.queue = queue;
    this.changes = changes;
    this.refused = refused;
    this.state = h("select", {}, ...STATES.map((value) => h("option", { value }, t(`preview_${value}`))));
    this.language = h(
      "select",
      {},
      ...page.languages.map(([code, name]) => h("option", { value: code, selected: code === page.lang }, name)),
    );
    // Nothing in it may run, send or lead anywhere: it is a picture.
    this.frame = h("iframe", { sandbox: "", title: t("preview_of_page"), tabindex: -1 });
    this.note = h("p", { class: "note", role: "status" });
    this.element = h(
      "aside",
      { class: "page-preview", "aria-label": t("preview_of_page") },
      h(
        "div",
        { class: "row" },
        h("label", {}, h("span", { class: "hidden" }, t("preview_state")), this.state),
        h("label", {}, h("span", { class: "hidden" }, t("setting_text_language")), this.language),
      ),
      h("div", { class: "phone" }, h("div", { class: "glass" }, this.frame)),
      this.note,
    );
    // What is chosen here is no setting.
    this.element.addEventListener("input", (event) => event.stopPropagation());
    this.element.addEventListener("change", () => this.draw());
    this.soon = debounce(0.4, () => this.draw());
  }

  async draw() {
    const turn = Symbol("turn");
    this.turn = turn;
    const settings = this.changes();
    try {
      const { data } = await call("POST", this.queue.path("/page-preview"), {
        settings,
        state: this.state.value,
        language: this.language.value,
        nonce,
      });
      if (this.turn !== turn) return;
      this.frame.srcdoc = data.html;
      this.refused(null);
      write(this.note, Object.keys(settings).length ? t("preview_unsaved") : t("preview_saved"));
    } catch (error) {
      if (this.turn !== turn || error.status === 401) return;
      this.refused(error);
      write(this.note, t("preview_none"));
    }
  }
}
