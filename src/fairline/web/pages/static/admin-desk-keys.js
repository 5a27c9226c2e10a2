// The keys of the desk: each does what a button does.

import { add } from "./admin-desk-add.js";
import { listShortcuts, shortcut } from "./admin-frame.js";
import { t } from "./admin-text.js";

const SHORTCUTS = [
  ["n", t("call_next")],
  ["r", t("recall")],
  ["s", t("key_serve")],
  ["d", t("done")],
  ["f", t("key_done_next")],
  ["x", t("no_show")],
  ["u", t("key_undo")],
  ["b", t("key_return")],
  ["h", t("hold")],
  ["t", t("key_transfer")],
  ["a", t("add_someone")],
  ["?", t("key_list")],
  ["g q", t("key_queues")],
  ["Esc", t("close")],
];

export function listenToKeys(desk) {
  listShortcuts(SHORTCUTS);
  const on = (key, action) => {
    shortcut(key, action);
    shortcut(key.toUpperCase(), action);
  };
  const first = (where) => (desk.floor?.[where] ?? []).find((ticket) => desk.mine.has(ticket));
  const act = (key, action, ...where) =>
    on(key, () => {
      const ticket = where.map(first).find(Boolean);
      if (ticket) desk.act(action, ticket);
      else desk.say(where.includes("called") ? t("nobody_called_here") : t("nobody_served_here"));
    });
  on("n", () => desk.callNext());
  act("r", "recall", "called");
  act("s", "start", "called");
  act("d", "complete", "serving");
  act("f", "done_next", "serving");
  act("x", "no_show", "called");
  act("b", "return", "called");
  act("h", "hold", "called");
  act("t", "transfer", "called", "serving");
  on("a", () => add(desk));
  on("u", () => {
    const missed = desk.floor?.missed ?? [],
      ticket = missed.find((each) => desk.mine.has(each)) ?? missed[0];
    if (ticket) desk.act("reinstate", ticket);
    else desk.say(t("no_no_show"));
  });
}
