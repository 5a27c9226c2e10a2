// What all pages share: the state of the connection, controls by role, keyboard shortcuts, signing out.

import { may, onSignedOut, why } from "./admin-api.js";
import { banner, dialog, h, show, write } from "./admin-dom.js";
import { t } from "./admin-text.js";
import { timeExact } from "./admin-words.js";

let listed = [
  ["?", t("key_list")],
  ["g q", t("key_queues")],
  ["/", t("key_search")],
  ["1 … 6", t("key_tabs")],
  ["p", t("key_pause")],
  ["n", t("call_next")],
  ["r", t("key_rate")],
  ["m", t("message_to_all")],
  ["Esc", t("key_escape")],
];

/** Show the state of the page's stream. */
export function connection(state, more) {
  const link = show("link");
  link.dataset.state = state;
  if (state === "live") write(link, t("up_to_date"));
  if (state === "lost") write(link, t("disconnected_since", { time: timeExact(more.since) }));
  if (state === "ended") write(link, t("stream_ended"));
  document.body.classList.toggle("stale", state !== "live");
  if (state === "lost" && Date.now() - more.since > 2500) {
    const time = timeExact(more.since);
    banner("link", more.what === "store" ? t("lost_database", { time }) : t("lost_server", { time }), "bad");
  } else banner("link", null);
}

/** Disable the controls that this key may not use, and say why. */
export function guard(root = document) {
  for (const element of root.querySelectorAll("[data-needs]")) {
    if (may(element.dataset.needs)) continue;
    element.disabled = true;
    element.title = why(element.dataset.needs);
  }
}

/** Replace the list of shortcuts, for a page with shortcuts of its own. */
export const listShortcuts = (keys) => {
  listed = keys;
};

const shortcuts = new Map();
/** Set what a key does on this page. */
export const shortcut = (key, action) => shortcuts.set(key, action);

let before = "";
function press(event) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input:not([type=range]):not([type=checkbox]), textarea, select")) return;
  const key = before === "g" ? `g ${event.key}` : event.key;
  before = event.key;
  const action = shortcuts.get(key) ?? shortcuts.get(event.key);
  if (!action) return;
  event.preventDefault();
  action();
}

function help() {
  dialog(t("shortcuts"), (close) => [
    h("h2", {}, t("shortcuts")),
    h(
      "dl",
      { class: "pair start" },
      ...listed.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
    ),
    h("div", { class: "tools" }, h("button", { type: "button", class: "button", onclick: close }, t("close"))),
  ]);
}

function signedOut() {
  connection("ended");
  banner(
    "signed-out",
    t("signed_out"),
    "bad",
    h("a", { href: location.pathname + location.search + location.hash }, t("sign_in_again")),
  );
}

/** Start what every page needs. */
export function frame(streams) {
  addEventListener("keydown", press);
  shortcut("?", help);
  shortcut("g q", () => {
    location.href = "/admin";
  });
  document.querySelector('[data-do="shortcuts"]').addEventListener("click", help);
  onSignedOut(signedOut);
  guard();
  if (!streams) show("link").dataset.state = "none";
}
