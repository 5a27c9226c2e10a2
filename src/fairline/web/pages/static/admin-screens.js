// The pages of a queue for screens, paper and links: their addresses, and their QR codes.

import { get, may, post, why } from "./admin-api.js";
import { dialog, h, show, toast } from "./admin-dom.js";
import { t } from "./admin-text.js";
import { dateTime } from "./admin-words.js";

/** Copy an address. Without https there is no clipboard: then the address is selected. */
async function copy(url, shown) {
  try {
    await navigator.clipboard.writeText(url);
    toast(t("screen_copied"));
  } catch {
    getSelection().selectAllChildren(shown);
    toast(t("screen_selected"));
  }
}

/** An address with its buttons. */
function address(url, name) {
  const shown = h("code", { dir: "ltr" }, url.replace(/^\w+:\/\//, ""));
  return [
    shown,
    h(
      "div",
      { class: "row" },
      h(
        "a",
        {
          class: "button small quiet",
          href: url,
          target: "_blank",
          rel: "noopener",
          "aria-label": `${t("screen_open")}: ${name}`,
        },
        t("screen_open"),
      ),
      h(
        "button",
        {
          type: "button",
          class: "button small quiet",
          "aria-label": `${t("screen_copy")}: ${name}`,
          onclick: () => copy(url, shown),
        },
        t("screen_copy"),
      ),
    ),
  ];
}

const picture = (code, name) =>
  h("img", { class: "code", src: code, alt: t("screen_code_of", { name }), width: 240, height: 240 });

export class Screens {
  constructor(queue) {
    this.queue = queue;
    this.element = show("screens");
    this.load();
  }

  /** Which pages there are depends on the settings. */
  update(_now, newer) {
    if (newer) this.load();
  }

  async load() {
    try {
      this.draw((await get(this.queue.path("/screens"))).screens);
    } catch (error) {
      if (error.status !== 401) this.element.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
    this.element.removeAttribute("aria-busy");
  }

  draw(screens) {
    const drawn = JSON.stringify(screens);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.element.replaceChildren(h("ul", { class: "screens" }, ...screens.map((screen) => this.screen(screen))));
  }

  screen({ screen, url, code }) {
    const name = t(`screen_${screen}`);
    return h(
      "li",
      { "data-screen": screen },
      h("h3", {}, name),
      ...address(url, name),
      screen === "kiosk"
        ? h(
            "button",
            {
              type: "button",
              class: "button small quiet",
              "data-do": "create-kiosk",
              disabled: !may("operator"),
              title: may("operator") ? null : why("operator"),
              onclick: () => this.kiosk(),
            },
            t("kiosk_create"),
          )
        : h("details", {}, h("summary", {}, t("screen_code")), picture(code, name)),
    );
  }

  /** A new link for a tablet. It is shown once. */
  async kiosk() {
    try {
      const made = await post(this.queue.path("/kiosk"));
      const url = new URL(made.url, location.href).href;
      dialog(t("kiosk_link"), (close) => [
        h("h2", {}, t("kiosk_link")),
        h("p", { class: "note" }, t("kiosk_link_note", { time: dateTime(made.expires_at) })),
        h(
          "div",
          { class: "stack", "data-show": "kiosk-link" },
          ...address(url, t("kiosk_link")),
          picture(made.code, t("kiosk_link")),
        ),
        h("div", { class: "tools" }, h("button", { type: "button", class: "button", onclick: close }, t("kiosk_done"))),
      ]);
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
