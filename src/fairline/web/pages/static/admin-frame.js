// What all pages share: the state of the connection, controls by role, shortcuts, being signed out.

import { may, onSignedOut, why } from "./admin-api.js";
import { banner, dialog, h, show, write } from "./admin-dom.js";
import { timeExact } from "./admin-words.js";

let listed = [
  ["?", "This list"],
  ["g q", "All queues"],
  ["/", "Search for a person"],
  ["1 … 5", "Parts of a queue's page: now, people, settings, history, passes"],
  ["p", "Pause, resume or open"],
  ["n", "Call next"],
  ["r", "To the rate"],
  ["m", "Message to all"],
  ["Esc", "Close, or take back"],
];

/** What the page's stream says of itself, for all to see. */
export function connection(state, more) {
  const link = show("link");
  link.dataset.state = state;
  if (state === "live") write(link, "Live");
  if (state === "lost") write(link, `Disconnected since ${timeExact(more.since)}`);
  if (state === "ended") write(link, "Ended");
  document.body.classList.toggle("stale", state !== "live");
  if (state === "lost" && Date.now() - more.since > 2500) {
    const what = more.what === "store" ? "The store is away" : "No connection to the server";
    banner(
      "link",
      `${what} since ${timeExact(more.since)}. The figures are as they were then; nobody loses a place. Trying again by itself.`,
      "bad",
    );
  } else banner("link", null);
}

/** Controls that need more than this key allows are there to be seen, not to be used. */
export function guard(root = document) {
  for (const element of root.querySelectorAll("[data-needs]")) {
    if (may(element.dataset.needs)) continue;
    element.disabled = true;
    element.title = why(element.dataset.needs);
  }
}

/** A page with keys of its own lists those. */
export const listShortcuts = (keys) => {
  listed = keys;
};

const shortcuts = new Map();
/** What a key does on this page. */
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
  dialog("Keyboard shortcuts", (close) => [
    h("h2", {}, "Keyboard shortcuts"),
    h(
      "dl",
      { class: "pair start" },
      ...listed.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
    ),
    h("div", { class: "tools" }, h("button", { type: "button", class: "button", onclick: close }, "Close")),
  ]);
}

function signedOut() {
  connection("ended");
  banner(
    "signed-out",
    "You are signed out: the session is over, or the key was taken away.",
    "bad",
    h("a", { href: location.pathname + location.hash }, "Sign in again"),
  );
}

/** Make the frame live. */
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
