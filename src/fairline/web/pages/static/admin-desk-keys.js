// The keys of the desk: each does what a button does.

import { add } from "./admin-desk-add.js";
import { listShortcuts, shortcut } from "./admin-frame.js";

const SHORTCUTS = [
  ["n", "Call next"],
  ["r", "Recall"],
  ["s", "Serve: they have come"],
  ["d", "Done"],
  ["f", "Done, and call the next"],
  ["x", "No-show"],
  ["u", "Undo the last no-show"],
  ["b", "Back in line, at the old place"],
  ["h", "Hold"],
  ["t", "Transfer to another queue"],
  ["a", "Add someone"],
  ["?", "This list"],
  ["g q", "All queues"],
  ["Esc", "Close"],
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
      else desk.say(`Nobody at your desk is ${where.includes("called") ? "called" : "being served"}.`);
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
    else desk.say("There is no no-show to undo today.");
  });
}
