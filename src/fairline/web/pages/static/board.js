/**
 * The screen at the desks. It draws what the server says of each queue, calls new numbers out loud if the sound is on,
 * and keeps running for as long as it is left on: through restarts, outages and new versions.
 */

import { BoardSound } from "./board-sound.js";
import { fill, formatter, timeLocale } from "./format.js";

const data = JSON.parse(document.getElementById("fairline").textContent);
const { texts = {}, queues } = data;
const { count, wait } = formatter(data.lang, texts);
/** Times are written as in the country of the screen, if its language is that of the board. */
const locale = navigator.languages.find((each) => each.split("-")[0] === data.lang) ?? data.lang;
const clock = new Intl.DateTimeFormat(timeLocale(locale), { timeStyle: "short" });

/** After this time without a message the connection is dead: the server sends one every 15 s. */
const SILENCE = 35_000;
/** The screen says that it has no connection after this time of failed calls, or without any message. */
const LOST = 5_000,
  UNHEARD = 20_000;
/** Milliseconds between attempts: the first, the longest without an answer, and while only the stream is refused. */
const FIRST = 1_000,
  LONGEST = 15_000,
  REFUSED = 4_000;
/** The shortest time between two reloads for a new version, even if servers of two versions answer in turn. */
const RENEW = 10 * 60_000;
/** How long a number that was just called stands out. */
const FRESH = 12_000;
/** The most rows in the lists. */
const MOST_ROWS = 6;

const waiting = (n) => (n > 0 ? count("board_waiting", n) : texts.board_waiting_none);

// A test compares these with what the server writes.
export { wait, waiting };

/** A label in two parts: "RDEMO-000123" starts the same for everyone, so people look for the end. */
export function parts(label) {
  const at = label.lastIndexOf("-") + 1;
  return [label.slice(0, at), label.slice(at)];
}

/** A label as it is spoken: "RDEMO-A0012" is "A 12". */
export const spoken = (label) =>
  parts(label)[1].replace(/^(\D*)0*(?=\d)/, (_, letters) => (letters ? `${letters} ` : ""));

// Drawing

const part = (within, name) => within.querySelector(`[data-show="${name}"]`);
const say = (it, text) => {
  if (it.textContent !== text) it.textContent = text;
};
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const copy = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const page = part(document, "boards");
const sections = new Map(queues.map((queue) => [queue, page.appendChild(copy("board"))]));

const sound = new BoardSound(document.querySelector('[data-do="sound"]'), data.lang, texts);

function draw(board) {
  const section = sections.get(board.queue);
  if (!section) return;
  const [now, ...others] = board.serving;
  const shown = new Set(board.serving.map(({ label }) => label));
  say(part(section, "name"), board.name);
  const stopped = { paused: texts.paused_title, maintenance: texts.maintenance_title }[board.status];
  say(part(section, "stopped"), stopped ?? (board.open ? "" : texts.closed_title));
  part(section, "stopped").hidden = !stopped && board.open;
  drawNow(section, now);
  const past = board.called.filter(({ label }) => !shown.has(label));
  const rows = Math.max(2, MOST_ROWS - Math.min(2, past.length));
  drawList(section, "serving", others.slice(0, rows));
  drawList(section, "called", past.slice(0, MOST_ROWS - Math.min(others.length, rows)));
  section.firstElementChild.classList.toggle("alone", others.length + past.length === 0);
  say(part(section, "waiting"), waiting(board.queue_length));
  part(section, "wait-box").hidden = Boolean(stopped) || !board.open || !board.estimated_wait_range;
  say(part(section, "wait"), wait(board.estimated_wait_range));
  fit(section);
  hear(board);
}

function drawNow(section, now) {
  const call = part(section, "call"),
    [prefix, tail] = parts(now?.label ?? "");
  const [zeros] = tail.match(/^0*(?=\d)/) ?? [""];
  const shown = [prefix.replace(/-$/, ""), zeros, tail.slice(zeros.length)];
  call.querySelectorAll(".prefix, .number span").forEach((it, i) => {
    say(it, shown[i]);
  });
  call.style.setProperty("--letters", String(Math.max(4, tail.replace(/[^\d]/g, "WW").length)));
  call.hidden = !now;
  say(part(section, "desk"), now?.desk ?? "");
  part(section, "desk").hidden = !now?.desk;
  part(section, "caption").hidden = !now;
  part(section, "nobody").hidden = Boolean(now);
}

function drawList(section, name, rows) {
  const list = part(section, name),
    drawn = JSON.stringify(rows);
  if (list.dataset.drawn === drawn) return;
  list.dataset.drawn = drawn;
  list.replaceChildren(
    ...rows.map(({ label, desk }) => {
      const row = copy("row");
      row.firstElementChild.textContent = label;
      row.lastElementChild.textContent = desk ?? "";
      return row;
    }),
  );
}

/** Hide the rows that do not fit: first those of earlier calls, then those at the desks. */
function fit(section) {
  const lists = section.querySelector(".lists");
  const boxes = ["called", "serving"].map((name) => [part(section, `${name}-box`), [...part(section, name).children]]);
  for (const [box, rows] of boxes) {
    box.hidden = rows.length === 0;
    for (const row of rows) row.hidden = false;
  }
  for (const [box, rows] of boxes) {
    for (const row of rows.reverse()) {
      if (lists.scrollHeight <= lists.clientHeight + 1) return;
      row.hidden = true;
      box.hidden = row === rows.at(-1);
    }
  }
}

// New calls

/** For each queue: the time of the latest call that this screen has seen, and the labels called then. */
const lastCalls = new Map();
/** Queues where calls may have been missed while there was no connection. */
const missed = new Set();

/** Call the new numbers out loud. What is on the board when the screen is turned on is not new. A number called while
 *  there was no connection is called now only if its holder has not come yet. */
function hear(board) {
  const late = missed.delete(board.queue);
  const before = lastCalls.get(board.queue);
  const calls = board.called.map((call) => ({ ...call, when: Date.parse(call.at) }));
  const last = Math.max(before?.last ?? 0, ...calls.map(({ when }) => when));
  const of = (moment) => calls.filter(({ when }) => when === moment).map(({ label }) => label);
  const same = before?.last === last ? [...new Set([...before.labels, ...of(last)])].slice(-100) : of(last);
  lastCalls.set(board.queue, { last, labels: same });
  if (!before) return;
  const due = board.serving.filter(({ status }) => !late || status === "called");
  const expected = new Set(due.map(({ label }) => label));
  const fresh = calls.filter(
    ({ label, when }) =>
      (when > before.last || (when === before.last && !before.labels.includes(label))) && expected.has(label),
  );
  if (fresh.length) standOut(sections.get(board.queue));
  for (const call of fresh.reverse()) callOut(board, call);
}

const standing = new Map();

function standOut(section) {
  clearTimeout(standing.get(section));
  section.classList.remove("fresh");
  void section.offsetWidth; // restarts the animation
  section.classList.add("fresh");
  standing.set(
    section,
    setTimeout(() => section.classList.remove("fresh"), FRESH),
  );
}

function callOut(board, { label, desk }) {
  const words = (shown) => fill(desk ? texts.board_call : texts.board_call_here, { number: shown, desk });
  say(part(document, "announce"), words(label));
  const name = queues.length > 1 ? `${board.name}. ` : "";
  sound.queue(name + words(spoken(label)));
}

// The connection

let source,
  tries = 0,
  heardAt = Date.now(),
  awaySince = 0,
  retry;

function heard() {
  heardAt = Date.now();
  awaySince = tries = 0;
  drawLink();
}

function connect() {
  source?.close();
  clearTimeout(retry);
  retry = undefined;
  const opened = new EventSource(`/api/v1/queues/${queues.join(",")}/board/stream`);
  source = opened;
  const on = (type, act) =>
    opened.addEventListener(type, (event) => {
      if (opened !== source) return;
      heard();
      act(JSON.parse(event.data));
    });
  on("hello", ({ version }) => renew(version));
  on("board", draw);
  on("alive", () => {});
  opened.onerror = () => {
    if (opened === source) again();
  };
}

/** The stream has ended, as it does now and then: ask for the boards, and open it again; later if nothing answers. */
async function again() {
  source.close();
  source = undefined;
  if (retry !== undefined) return;
  retry = 0;
  const answered = await ask();
  const pause = answered ? (tries++ ? REFUSED : FIRST / 2) : Math.min(LONGEST, FIRST * 1.5 ** Math.min(tries++, 10));
  retry = setTimeout(connect, pause * (0.5 + Math.random()));
}

async function ask() {
  try {
    for (const queue of queues) {
      const answer = await fetch(`/api/v1/queues/${queue}/board`, {
        cache: "no-store",
        signal: AbortSignal.timeout(8_000),
      });
      if (answer.status === 404) return renew("");
      if (!answer.ok) throw new Error(String(answer.status));
      draw(await answer.json());
    }
    heardAt = Date.now();
    awaySince = 0;
    return true;
  } catch {
    awaySince ||= Date.now();
    for (const queue of queues) missed.add(queue);
    return false;
  } finally {
    drawLink();
  }
}

/** A new version of the server has a new page: load it, but only if it can be loaded, so that no error page stays on
 *  the screen, and not again and again while servers of two versions answer in turn. */
async function renew(version) {
  if (version === data.version) return false;
  const key = "fairline:board:renewed";
  try {
    if (Date.now() - Number(sessionStorage.getItem(key)) < RENEW) return false;
    await rest(3_000 * Math.random());
    const { status } = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(8_000) });
    if (status !== 200 && (version || status !== 404)) return false;
    sessionStorage.setItem(key, String(Date.now()));
    location.reload();
  } catch {
    /* not now: the next stream says the version again */
  }
  return false;
}

function drawLink() {
  const now = Date.now();
  const lost = now - heardAt > UNHEARD || (awaySince && now - awaySince > LOST);
  say(part(document, "lost"), lost ? fill(texts.board_lost, { time: clock.format(heardAt) }) : "");
  document.body.classList.toggle("away", Boolean(lost));
}

/** Runs every second. If the machine slept, or the connection died silently, it connects again. */
function tick() {
  say(part(document, "clock"), clock.format(Date.now()));
  if (source && Date.now() - heardAt > SILENCE && retry === undefined) again();
  drawLink();
}

/** There is no such queue yet, or the address is wrong: check now and then whether that is still so. */
async function checkAgain() {
  await rest(data.again * 1_000 * (1 + 0.4 * Math.random()));
  const { status } = await fetch(location.href, { cache: "no-store" }).catch(() => ({}));
  if (status === 200) location.reload();
  else checkAgain();
}

function begin() {
  page.dataset.count = String(queues.length);
  for (const [queue, section] of sections) say(part(section, "name"), queue);
  for (const board of data.boards) draw(board);
  sound.offer();
  tick();
  setInterval(tick, 1_000);
  connect();
  addEventListener("resize", () => sections.forEach(fit));
  addEventListener("online", () => {
    if (!source) connect();
  });
}

if (queues.length) begin();
else checkAgain();
