// What staff choose before two of the actions on a ticket: the level to move up to, and the queue to transfer to.

import { get } from "./admin-api.js";
import { name } from "./admin-desk-people.js";
import { ask } from "./admin-dom.js";
import { number } from "./admin-words.js";

const choose = (title, field, action, send) =>
  ask(title, [field], action, async (values) => {
    send(values);
  });

export const chooseLevel = (ticket, send) =>
  choose(
    `Move up: ${name(ticket)}`,
    {
      name: "level",
      label: "Level",
      choices: [
        ["1", "Level 1"],
        ["2", "Level 2"],
        ["3", "Level 3: ahead of everyone below"],
      ],
      value: "1",
    },
    "Move up",
    ({ level }) => send({ level: Number(level) }),
  );

export async function chooseQueue(desk, ticket, send) {
  try {
    const { queues } = await get("/queues");
    const others = queues
      .filter((queue) => queue.id !== desk.queue)
      .map((queue) => [queue.id, `${queue.name || queue.id}, ${number(queue.waiting)} waiting`]);
    if (!others.length) desk.say("There is no other queue to transfer anyone to.", "bad");
    else
      choose(
        `Transfer: ${name(ticket)}`,
        { name: "queue", label: "To which queue", choices: others, value: others[0][0] },
        "Transfer",
        ({ queue }) => send({ queue }),
      );
  } catch (error) {
    desk.say(error.message, "bad");
  }
}
