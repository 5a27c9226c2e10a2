// Where everyone is, as the page has it between two readings.

import { whereIs } from "./admin-desk-people.js";

/** The floor with these tickets where they are now, as the answer to a press has them. */
export function withMoved(floor, tickets) {
  const gone = new Set(tickets.map((ticket) => ticket.ticket)),
    moved = { ...floor };
  for (const where of ["line", "on_hold", "called", "serving", "missed"])
    moved[where] = moved[where].filter((ticket) => !gone.has(ticket.ticket));
  for (const ticket of tickets) {
    const where = whereIs(ticket);
    // The list starts at the head of the line, so the index in the list is the position.
    if (where === "line")
      moved.line = [...moved.line.slice(0, ticket.position - 1), ticket, ...moved.line.slice(ticket.position - 1)];
    else if (where === "missed" ? ["no_show", "claim_timeout"].includes(ticket.reason) : where)
      moved[where] = [ticket, ...moved[where]];
  }
  moved.waiting += moved.line.length - floor.line.length;
  moved.on_hold_count += moved.on_hold.length - floor.on_hold.length;
  return moved;
}
