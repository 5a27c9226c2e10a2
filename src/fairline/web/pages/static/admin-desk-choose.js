// What staff choose before two of the actions on a ticket: the level to move up to, and the queue to transfer to.

import { get } from "./admin-api.js";
import { name } from "./admin-desk-people.js";
import { ask } from "./admin-dom.js";
import { count, t } from "./admin-text.js";

const choose = (title, field, action, send) =>
  ask(title, [field], action, async (values) => {
    send(values);
  });

export const chooseLevel = (ticket, send) =>
  choose(
    t("move_up_who", { who: name(ticket) }),
    {
      name: "level",
      label: t("level_field"),
      choices: [
        ["1", t("level", { level: 1 })],
        ["2", t("level", { level: 2 })],
        ["3", t("level_highest")],
      ],
      value: "1",
    },
    t("move_up"),
    ({ level }) => send({ level: Number(level) }),
  );

export async function chooseQueue(desk, ticket, send) {
  try {
    const { queues } = await get("/queues");
    const others = queues
      .filter((queue) => queue.id !== desk.queue)
      .map((queue) => [queue.id, `${queue.name || queue.id} · ${count("crowd", queue.waiting)}`]);
    if (!others.length) desk.say(t("no_other_queue"), "bad");
    else
      choose(
        t("transfer_who", { who: name(ticket) }),
        { name: "queue", label: t("to_which_queue"), choices: others, value: others[0][0] },
        t("transfer"),
        ({ queue }) => send({ queue }),
      );
  } catch (error) {
    desk.say(error.message, "bad");
  }
}
