// The list of all queues: one is found by its name or id, and the busiest are at the top.

import { get, Live, post, queuePath } from "./admin-api.js";
import { spark } from "./admin-chart.js";
import { KeyedList } from "./admin-desk-list.js";
import { ask, badge, h, isolated, show, toast, write } from "./admin-dom.js";
import { connection } from "./admin-frame.js";
import { ownTime } from "./admin-opening-times.js";
import { count, locale, number, t } from "./admin-text.js";
import { duration, OPENING_STATE, openingName, queueBadge } from "./admin-words.js";

/** From this many queues on, they are rows, and can be searched. */
const MANY = 7;
const SPARKS_SECONDS = 60;
/** Queues that change places with every person who joins could not be read. They keep their order this long. */
const ORDER_SECONDS = 10;

const ORDERS = {
  busiest: (one, other) => other.waiting - one.waiting,
  wait: (one, other) => (other.estimated_wait_seconds ?? -1) - (one.estimated_wait_seconds ?? -1),
  name: () => 0,
};
const PLACE = "fairline-queue-order";

const cards = show("cards"),
  search = show("search"),
  order = show("sort");
const list = new KeyedList(cards, card, JSON.stringify, (queue) => queue.id);
const empty = h("div", { class: "empty" }, h("h2", {}, t("no_queues")), h("p", {}, t("no_queues_text")));
let queues = [],
  lines = {},
  ranks = new Map(),
  rankedAt = 0;

export function start() {
  document.querySelector('[data-do="create"]').addEventListener("click", create);
  order.value = remembered();
  search.addEventListener("input", draw);
  order.addEventListener("change", () => {
    remember(order.value);
    rank();
    draw();
  });
  new Live("/live", {
    now: (data) => {
      const fresh = queues.map(({ id }) => id).join() !== data.queues.map(({ id }) => id).join();
      queues = data.queues;
      if (fresh) loadLines();
      if (fresh || Date.now() - rankedAt > ORDER_SECONDS * 1000) rank();
      draw();
    },
    state: (state, more) => {
      connection(state, more);
      cards.classList.toggle("stale", state !== "live");
    },
  });
  setInterval(() => {
    if (!document.hidden) loadLines();
  }, SPARKS_SECONDS * 1000);
}

/** Give every queue its place in the list. Nobody moves while a queue has the focus. */
function rank() {
  if (ranks.size === queues.length && cards.contains(document.activeElement)) return;
  const named = [...queues].sort((one, other) => one.name.localeCompare(other.name, locale));
  ranks = new Map(named.sort(ORDERS[order.value]).map(({ id }, i) => [id, i]));
  rankedAt = Date.now();
}

function draw() {
  cards.removeAttribute("aria-busy");
  const many = queues.length >= MANY,
    wanted = search.value.trim().toLowerCase();
  const found = queues
    .filter(({ id, name }) => !many || `${name} ${id}`.toLowerCase().includes(wanted))
    .sort((one, other) => ranks.get(one.id) - ranks.get(other.id));
  show("find").hidden = !many;
  cards.classList.toggle("compact", many);
  const said = show("found");
  said.hidden = !many || !wanted;
  write(said, wanted ? count("queues_found", found.length) : "");
  list.draw(found);
  if (queues.length) empty.remove();
  else cards.append(empty);
}

function card(queue) {
  const called = queue.admission === "manual";
  const wait = queue.estimated_wait_seconds;
  return h(
    "a",
    { class: "card", href: `/admin${queuePath(queue.id)}${called ? "/desk" : ""}`, "data-queue": queue.id },
    h(
      "div",
      { class: "card-body" },
      h("h2", {}, h("bdi", {}, queue.name), badge(queueBadge(queue))),
      h("code", {}, queue.id),
      h(
        "dl",
        { class: "trio" },
        figure(t("figure_waiting"), number(queue.waiting)),
        ...(called
          ? [figure(t("called"), number(queue.admitted)), figure(t("being_served"), number(queue.active))]
          : [
              figure(
                t("figure_inside"),
                number(queue.admitted + queue.active),
                t("of_n", { n: number(queue.max_active) }),
              ),
              figure(t("rate"), number(Math.round(queue.admission_rate * 60)), t("a_minute")),
            ]),
        figure(t("wait"), wait === null ? "–" : duration(wait, true)),
      ),
      opens(queue),
      h(
        "p",
        { class: "under" },
        queue.stock === null ? "" : queue.stock_left > 0 ? count("items_left", queue.stock_left) : t("sold_out"),
      ),
    ),
    spark(lines[queue.id] ?? [0, 0]),
  );
}

/** The opening in progress, or the next one. */
function opens({ next_opening: opening }) {
  if (!opening) return null;
  const { label } = OPENING_STATE[opening.state],
    name = isolated(openingName(opening)),
    when = ownTime(opening.starts_at);
  const text = {
    scheduled: () => t("opening_card_next", { when, name }),
    prequeue: () => t("opening_card_start", { state: label, when, name }),
  }[opening.state];
  return h(
    "p",
    { class: "note opens", "data-show": "opening" },
    text ? text() : t("opening_card_now", { state: label, name }),
  );
}

const figure = (label, value, unit) =>
  h("div", {}, h("dt", {}, label), h("dd", {}, value, ...(unit ? [" ", h("small", {}, unit)] : [])));

/** The lines of all queues come with one call. */
async function loadLines() {
  try {
    lines = (await get("/stats/waiting")).queues;
    for (const card_ of cards.querySelectorAll("[data-queue]"))
      card_.querySelector("svg").replaceWith(spark(lines[card_.dataset.queue] ?? [0, 0]));
  } catch {
    // The list is fine without its charts.
  }
}

function remembered() {
  try {
    return localStorage.getItem(PLACE) in ORDERS ? localStorage.getItem(PLACE) : "busiest";
  } catch {
    return "busiest";
  }
}

function remember(name) {
  try {
    localStorage.setItem(PLACE, name);
  } catch {
    // Without storage, the next visit starts with the busiest.
  }
}

function create() {
  ask(
    t("new_queue"),
    [
      {
        name: "id",
        label: t("queue_id"),
        required: true,
        pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}",
        note: t("queue_id_note"),
      },
      { name: "name", label: t("display_name"), longest: 200 },
      { name: "target_url", label: t("destination_url"), kind: "url", note: t("destination_note") },
      {
        name: "admission",
        label: t("how_let_in"),
        choices: [
          ["auto", t("let_in_auto")],
          ["manual", t("let_in_manual")],
        ],
        value: "auto",
      },
      { name: "rate", label: t("people_a_minute"), kind: "number", min: 0, max: 6_000_000, value: 600 },
      { name: "max_active", label: t("capacity_inside"), kind: "number", min: 1, max: 10_000_000, value: 1000 },
    ],
    t("create"),
    async ({ rate, ...settings }) => {
      const created = await post("/queues", { ...settings, admission_rate: (rate ?? 600) / 60 });
      toast(t("created", { name: created.name || created.id }));
      location.href = `/admin${queuePath(created.id)}`;
    },
  );
}
