// The list of all queues.

import { get, Live, post, queuePath } from "./admin-api.js";
import { spark } from "./admin-chart.js";
import { ask, badge, h, show, toast } from "./admin-dom.js";
import { connection, guard } from "./admin-frame.js";
import { number, plural, queueBadge } from "./admin-words.js";

const cards = show("cards");
const sparks = new Map();
const drawn = new Map();

export function start() {
  document.querySelector('[data-do="create"]').addEventListener("click", create);
  new Live("/live", {
    now: ({ queues }) => draw(queues),
    state: (state, more) => {
      connection(state, more);
      cards.classList.toggle("stale", state !== "live");
    },
  });
  setInterval(() => {
    if (!document.hidden) for (const id of drawn.keys()) load(id);
  }, 60_000);
}

function draw(queues) {
  cards.removeAttribute("aria-busy");
  const there = new Set(queues.map((queue) => queue.id));
  for (const [id, card] of drawn)
    if (!there.has(id)) {
      card.remove();
      drawn.delete(id);
    }
  cards.querySelector(".empty")?.remove();
  if (!queues.length)
    cards.append(
      h(
        "div",
        { class: "empty" },
        h("h2", {}, "No queues yet"),
        h(
          "p",
          {},
          "A queue lets people wait for a website or a desk. Create the first one; its settings can be changed later.",
        ),
      ),
    );
  for (const queue of queues) {
    const fresh = !drawn.has(queue.id);
    if (fresh) {
      const card = h("a", {
        class: "card",
        href: `/admin${queuePath(queue.id)}${queue.admission === "manual" ? "/desk" : ""}`,
        "data-queue": queue.id,
      });
      drawn.set(queue.id, card);
      cards.append(card);
      load(queue.id);
    }
    fill(drawn.get(queue.id), queue);
  }
  guard(cards);
}

function fill(card, queue) {
  const facts = JSON.stringify(queue);
  if (card.dataset.facts === facts) return;
  card.dataset.facts = facts;
  const line = card.querySelector("svg");
  card.replaceChildren(
    h(
      "div",
      { class: "card-body" },
      h("h2", {}, h("span", {}, queue.name), badge(queueBadge(queue))),
      h("code", {}, queue.id),
      h(
        "dl",
        { class: "trio" },
        figure("Waiting", queue.waiting),
        ...(queue.admission === "manual"
          ? [figure("Called", queue.admitted), figure("Being served", queue.active)]
          : [
              figure("Inside", queue.admitted + queue.active, `of ${number(queue.max_active)}`),
              figure("Rate", Math.round(queue.admission_rate * 60), "/ min"),
            ]),
      ),
      h(
        "p",
        { class: "under" },
        queue.stock === null ? "" : queue.stock_left > 0 ? `${plural(queue.stock_left, "item")} left` : "Sold out",
      ),
    ),
    line ?? sparks.get(queue.id) ?? spark([0, 0]),
  );
}

const figure = (label, value, unit) =>
  h("div", {}, h("dt", {}, label), h("dd", {}, number(value), ...(unit ? [" ", h("small", {}, unit)] : [])));

async function load(id) {
  try {
    const { points } = await get(queuePath(id, "/stats/series?range=hour"));
    const line = spark(points.map((point) => point.waiting ?? 0));
    sparks.set(id, line);
    drawn.get(id)?.querySelector("svg")?.replaceWith(line);
  } catch {
    // The card is fine without its chart.
  }
}

function create() {
  ask(
    "New queue",
    [
      {
        name: "id",
        label: "ID, used in addresses",
        required: true,
        pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}",
        note: "Letters, digits, . _ and -. It cannot be changed later.",
      },
      { name: "name", label: "Display name", longest: 200 },
      {
        name: "target_url",
        label: "Destination URL",
        kind: "url",
        note: "Where people go when they are let in.",
      },
      {
        name: "admission",
        label: "How people are let in",
        choices: [
          ["auto", "Automatically, at a set rate"],
          ["manual", "Called by staff"],
        ],
        value: "auto",
      },
      { name: "rate", label: "People a minute", kind: "number", min: 0, max: 6_000_000, value: 600 },
      { name: "max_active", label: "Capacity inside", kind: "number", min: 1, max: 10_000_000, value: 1000 },
    ],
    "Create",
    async ({ rate, ...settings }) => {
      const created = await post("/queues", { ...settings, admission_rate: (rate ?? 600) / 60 });
      toast(`Created ${created.name || created.id}.`);
      location.href = `/admin${queuePath(created.id)}`;
    },
  );
}
