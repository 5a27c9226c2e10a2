// The status line of the desk: what happened, with a button that takes it back or stops it.

import { h, show } from "./admin-dom.js";
import { t } from "./admin-text.js";

export function say(text, tone = "", ...more) {
  const element = show("said");
  element.className = `said ${tone}`;
  element.replaceChildren(h("span", {}, text), ...more);
}

const button = (name, label, onclick) =>
  h(
    "button",
    { type: "button", class: "button quiet", "data-do": name, "data-press": name === "undo", onclick },
    label,
  );

/** The button in a message that takes back what the message reports. */
export const undoButton = (undo) => button("undo", t("undo"), undo);

/** That nobody knows yet whether a press was done, with the button that stops trying. */
export function sayTrouble({ title: what }, { code }, stop) {
  const text = code === "store_unavailable" ? t("unsure_database", { what }) : t("unsure_server", { what });
  say(text, "bad", button("stop", t("stop_trying"), stop));
}
