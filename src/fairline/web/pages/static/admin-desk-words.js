// What a press did, in words.

import { ACTS, name, whereIs } from "./admin-desk-people.js";
import { isolated } from "./admin-dom.js";
import { number } from "./admin-words.js";

export const calledWords = ({ tickets }) =>
  tickets.length
    ? `Called: ${tickets.map(name).join(", ")}.`
    : "Nobody was called: nobody is waiting, or it is full inside.";
export const joinedWords = ({ label, position }) =>
  `${isolated(label)} is in line${position ? `, at position ${number(position)}` : ""}.`;

/** What an action did, in words; if someone else was quicker, that the ticket was changed. */
export function outcome(act, ticket) {
  const reached = {
    call: ["called"],
    recall: ["called"],
    start: ["serving"],
    complete: [undefined],
    no_show: ["missed"],
    return: ["line"],
    hold: ["on_hold"],
    release: ["line"],
    reinstate: ["called"],
    step_back: ["line"],
    prioritise: ["line"],
    transfer: ["missed"],
    cancel: ["missed"],
  }[act];
  return reached.includes(whereIs(ticket))
    ? ACTS[act].said(ticket)
    : `${name(ticket)} was changed meanwhile by someone else: see where they are now.`;
}
