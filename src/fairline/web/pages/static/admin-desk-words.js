// What a press did, in words.

import { ACTS, name, whereIs } from "./admin-desk-people.js";
import { isolated } from "./admin-dom.js";
import { number, t } from "./admin-text.js";

export const calledWords = ({ tickets }) =>
  tickets.length ? t("called_people", { who: tickets.map(name).join(", ") }) : t("nobody_called");
export const joinedWords = ({ label, position }) =>
  position ? t("joined_at", { who: isolated(label), n: number(position) }) : t("joined_line", { who: isolated(label) });

/** Where someone is after an action. */
const AFTER = {
  call: "called",
  recall: "called",
  start: "serving",
  complete: undefined,
  no_show: "missed",
  return: "line",
  hold: "on_hold",
  release: "line",
  reinstate: "called",
  step_back: "line",
  prioritise: "line",
  transfer: "missed",
  cancel: "missed",
  put_back: "line",
};
const isDone = (act, ticket) => whereIs(ticket) === AFTER[act];

/** What an action did, in words; if someone else was quicker, that the ticket was changed. */
export const outcome = (act, ticket) =>
  isDone(act, ticket) ? ACTS[act].said(ticket) : t("changed_meanwhile", { who: name(ticket) });

/** How an action that was done is undone: the action, and the body of its call; null if it cannot be. `before` is the
 *  ticket as it was. */
export function undoing(act, ticket, before) {
  const undo = ACTS[act].undo?.(ticket, before);
  return undo && isDone(act, ticket) ? undo : null;
}
