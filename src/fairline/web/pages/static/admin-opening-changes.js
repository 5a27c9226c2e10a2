// What changed of the openings of a queue, in words: for the history of its settings.

import { isolated } from "./admin-dom.js";
import { t } from "./admin-text.js";
import { dateTime, OPENING_STATE, openingName } from "./admin-words.js";

/** The fields that an operator sets, by their labels in the form. */
const FIELDS = {
  name: t("opening_name"),
  prequeue_at: t("opening_prequeue_at"),
  starts_at: t("opening_starts_at"),
  ends_at: t("opening_ends_at"),
  draw: t("opening_draw"),
  draw_grace_seconds: t("opening_grace"),
  add_stock: t("opening_stock"),
  recheck_inside: t("opening_recheck"),
  after: t("opening_after"),
  settings: t("opening_settings"),
};

/** A line for each opening that was planned, deleted or changed, or that went on by its clock. */
export function openingChanges({ from, to }) {
  const before = new Map(from.map((opening) => [opening.id, opening])),
    after = new Map(to.map((opening) => [opening.id, opening]));
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((id) => changed(before.get(id), after.get(id)));
}

function changed(before, after) {
  const name = isolated(openingName(after ?? before));
  if (!before) return [t("change_opening_planned", { name, time: dateTime(after.starts_at) })];
  if (!after) return [t("change_opening_deleted", { name, time: dateTime(before.starts_at) })];
  const lines = [];
  const fields = Object.keys(FIELDS).filter((each) => JSON.stringify(before[each]) !== JSON.stringify(after[each]));
  if (fields.length)
    lines.push(t("change_opening_fields", { name, what: fields.map((each) => FIELDS[each]).join(", ") }));
  if (before.state !== after.state) {
    const [was, is] = [before, after].map(({ state }) => OPENING_STATE[state].label);
    lines.push(t("change_opening_state", { name, from: was, to: is }));
  }
  return lines;
}
