/**
 * The screen at the desks. It draws what the server says of each queue, calls new numbers out loud if the sound is on,
 * and keeps running for as long as it is left on: through restarts, outages and new versions.
 */

import { fitNumber, fitRows } from "./board-fit.js";
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
/** The shortest time between two looks for new colours. */
const REPAINT = 5_000;
/** How long a number that was just called stands out. */
const FRESH = 12_000;
/** The most rows in the lists. */
const MOST_ROWS = 6;

const waiting = (n) => (n > 0 ? count("board_waiting", n) : texts.board_waiting_none);

// A test compares these with what the server writes.
export { wait, waiting };

/** The number of a label, as it is called out, without what all labels share: that of "RDEMO-A0012" is "A12". */
export const short = (label) => label.slice(label.lastIndexOf("-") + 1).replace(/^(.*[A-Z])?0+(?=\d)/, "$1");

/** A label as it is spoken: "RDEMO-A0012" is "A 12". */
export const spoken = (label) => short(label).replace(/^.*[A-Z]/, "$& ");

// Drawing

const part = (within, name) => within.querySelector(`[data-show="${name}"]`);
const say = (it, text) => {
  if (it.textContent !== text) it.textContent = text;
};
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const copy = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const page = part(document, "boards");
const sections = new Map(queues.map((queue) => [queue, page.appendChild(frame(queue))]));

const sound = new BoardSound(document.querySelector('[data-do="sound"]'), data.lang, texts);

/** The part of the screen that a queue has. */
function frame(queue) {
  const section = copy("board");
  section.dataset.queue = queue;
  part(section, "logo").addEventListener("load", () => fit(section));
  return section;
}

/** Each part with its logo and its QR code. Both are missing while the store is away. */
function paint() {
  [...sections.values()].forEach((section, i) => {
    const { [i]: logo } = data.logos,
      { [i]: code } = data.codes;
    part(section, "logo").src = logo ?? "";
    part(section, "logo").hidden = !logo;
    part(section, "code").src = code?.picture ?? "";
    say(part(section, "address"), code?.address ?? "");
  });
}

function draw(board) {
  away.delete(board.queue);
  const section = sections.get(board.queue);
  if (!section) return;
  const [now, ...others] = board.serving;
  const shown = new Set(board.serving.map(({ label }) => label));
  say(part(section, "name"), board.name);
  const stopped = { paused: texts.paused_title, maintenance: texts.maintenance_title }[board.status];
  say(part(section, "stopped"), stopped ?? (board.open ? "" : texts.closed_title));
  part(section, "stopped").hidden = !stopped && board.open;
  drawNow(section, now);
  const join = part(section, "join");
  join.hidden = Boolean(now || !board.open || board.status === "maintenance") || !part(section, "address").textContent;
  const past = board.called.filter(({ label }) => !shown.has(label));
  const rows = Math.max(2, MOST_ROWS - Math.min(2, past.length));
  drawList(section, "serving", others.slice(0, rows));
  drawList(section, "called", past.slice(0, MOST_ROWS - Math.min(others.length, rows)));
  section.firstElementChild.classList.toggle("alone", others.length + past.length === 0);
  say(part(section, "waiting"), waiting(board.queue_length));
  part(section, "wait-box").hidden = Boolean(stopped) || !board.open || !board.estimated_wait_range;
  say(part(section, "wait"), wait(board.estimated_wait_range));
  document.body.classList.remove("blank");
  fit(section);
  hear(board);
  appearances.set(board.queue, board.appearance);
}

function drawNow(section, now) {
  say(part(section, "number"), now ? short(now.label) : "");
  say(part(section, "printed"), now?.label ?? "");
  say(part(section, "desk"), now?.desk ?? "");
  for (const name of ["call", "caption", "printed-box"]) part(section, name).hidden = !now;
  part(section, "desk").hidden = !now?.desk;
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
      row.firstElementChild.textContent = short(label);
      row.lastElementChild.textContent = desk ?? "";
      return row;
    }),
  );
}

/** Earlier calls are hidden before those at the desks. */
function fit(section) {
  fitRows(
    section.querySelector(".lists"),
    ["called", "serving"].map((name) => part(section, `${name}-box`)),
  );
  fitNumber(part(section, "call"));
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

/** When the server last said something, and when what is on the screen was last known to be so. */
let heardAt = Date.now(),
  knownAt = heardAt;
let source,
  tries = 0,
  failedSince = 0,
  retry;
/** The queues that the server cannot read now, and how each looked on its last board. */
const away = new Set(),
  appearances = new Map();
let paintedAt = 0;

function heard() {
  heardAt = Date.now();
  if (!away.size) knownAt = heardAt;
  failedSince = tries = 0;
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
      act(JSON.parse(event.data));
      heard();
    });
  on("hello", ({ version }) => renew(version));
  on("board", draw);
  on("alive", () => {});
  on("away", ({ queue }) => {
    away.add(queue);
    missed.add(queue);
  });
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
    heardAt = knownAt = Date.now();
    failedSince = 0;
    return true;
  } catch {
    failedSince ||= Date.now();
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

/** Take the colours, the logos and the codes from the page as it is now, if they have changed or were not known before.
 *  A reload would do it too, but it turns the sound off in most browsers. */
async function repaint() {
  const drawn = new Map(data.boards.map((board) => [board.queue, board.appearance]));
  const old = [...appearances].some(([queue, appearance]) => drawn.get(queue) !== appearance);
  if (!old || Date.now() - paintedAt < REPAINT) return;
  paintedAt = Date.now();
  try {
    const answer = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(8_000) });
    if (!answer.ok) return;
    const newer = await answer.text();
    const within = (start) =>
      newer
        .split(start)[1]
        .replace(/^[^>]*>/, "")
        .split("</")[0];
    Object.assign(data, JSON.parse(within('id="fairline"')), { version: data.version });
    document.querySelector("style").textContent = within("<style");
    paint();
    for (const board of data.boards) draw(board);
  } catch {
    /* tried again a little later */
  }
}

function drawLink() {
  const now = Date.now(),
    blank = document.body.classList.contains("blank");
  const lost = blank || away.size || now - heardAt > UNHEARD || (failedSince && now - failedSince > LOST);
  const outage = part(document, "outage");
  say(part(document, "lost"), blank ? texts.board_trouble : fill(texts.board_lost, { time: clock.format(knownAt) }));
  say(part(document, "lost-text"), blank ? texts.board_trouble_text : texts.board_lost_text);
  const changes = outage.hidden === Boolean(lost);
  outage.hidden = !lost;
  document.body.classList.toggle("away", Boolean(lost));
  for (const section of sections.values()) {
    say(part(section, "caption"), lost ? texts.board_called : texts.board_serving);
    if (changes) fit(section);
  }
}

/** Runs every second. If the machine slept, or the connection died silently, it connects again. */
function tick() {
  say(part(document, "clock"), clock.format(Date.now()));
  if (source && Date.now() - heardAt > SILENCE && retry === undefined) again();
  drawLink();
  repaint();
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
  document.body.classList.add("blank");
  paint();
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
