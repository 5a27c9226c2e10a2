/**
 * What the page does before a start: it counts down by the server's clock, whatever this device's clock says, and joins
 * as soon as the queue takes people. It is loaded where a start is planned, or the queue takes nobody.
 */

import { fill } from "./format.js";
import { count, data, each, later, number, page, reload, say, sayAt, show, texts } from "./waiting-page.js";

/** Seconds: without a word on the stream, until the page asks instead; how often it asks then; between attempts to open
 *  a stream; for how long after the time of a start it asks quickly. */
const FIRST_WORD = 10,
  ASK = [15, 25],
  STREAM_AGAIN = 60,
  QUICK_FOR = 60;
/** Minutes before the start that screen readers announce. */
const ANNOUNCED = [10, 5, 1];
/** Milliseconds in which the best of the times that were heard counts. */
const WINDOW = 60_000;

const between = (low, high) => low + (high - low) * Math.random();

// The server's clock

let best = Number.NEGATIVE_INFINITY,
  bestBefore = Number.NEGATIVE_INFINITY,
  windowEnds = 0;

/** The server has said what time it is. A time is old by what it took to come, so the latest of some is the best. */
export function heard(now, at = performance.now()) {
  const offset = (typeof now === "number" ? now : Date.parse(now)) - at;
  if (performance.now() > windowEnds) {
    bestBefore = best;
    best = Number.NEGATIVE_INFINITY;
    windowEnds = performance.now() + WINDOW;
  }
  best = Math.max(best, offset);
  draw();
}

/** The server's time, in milliseconds since 1970. */
export const serverNow = () => performance.now() + Math.max(best, bestBefore);

// The countdown

let startsAt = data.starts,
  drawsAt = null,
  timer = 0,
  minutesLeft = Number.POSITIVE_INFINITY,
  inTitle = false;

/** A time that is left, in words or as digits: as `start.py` says it. */
export function countdown(seconds) {
  const left = Math.ceil(seconds);
  if (left <= 0) return texts.starts_soon;
  if (left >= 2 * 86_400) return count("in_days", Math.floor(left / 86_400));
  if (left >= 2 * 3600) return count("in_hours", Math.floor(left / 3600));
  const [minutes, rest] = [Math.floor(left / 60), left % 60];
  const two = (n) => String(n).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${two(rest)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(rest)}`;
}

/** Milliseconds until the start, and after it until the draw. */
function left() {
  const now = serverNow();
  return (now < startsAt ? startsAt : (drawsAt ?? startsAt)) - now;
}

function draw() {
  clearTimeout(timer);
  if (!startsAt) return;
  const ms = left(),
    text = countdown(ms / 1000);
  say("countdown", text);
  each("countdown", (it) => it.classList.toggle("words", !/^[\d:]+$/.test(text)));
  if (inTitle) document.title = `${text} · ${data.name}`;
  announce(ms / 60_000);
  if (ms > 0) timer = setTimeout(draw, (ms % 1000) + 5);
}

function announce(minutes) {
  const crossed = ANNOUNCED.find((each) => minutes <= each && minutesLeft > each);
  if (minutes <= 0 && minutesLeft > 0) say("announce", texts.starts_soon);
  else if (crossed && minutesLeft !== Number.POSITIVE_INFINITY) say("announce", count("starts_minutes", crossed));
  minutesLeft = minutes;
}

// In line, before the start

let lastName = "";

/** Draw the page of someone who waits for the start, or for the draw; false if they wait for neither. */
export function drawBefore(answer, state) {
  inTitle = state === "prequeue";
  show("before", inTitle || state === "drawing");
  if (state !== "prequeue" && state !== "drawing") {
    startsAt = null;
    clearTimeout(timer);
    const what = drawn(answer);
    say("drawn", what);
    show("drawn-box", !!what);
    for (const link of document.querySelectorAll('[data-do="draw"]'))
      if (what) link.href = data.draws.replace("/draws/", `/draws/${encodeURIComponent(answer.draw.id)}`);
    return false;
  }
  const name = state === "prequeue" && answer.draws_at ? "prequeue_draw" : state;
  startsAt = Date.parse(answer.starts_at);
  drawsAt = answer.draws_at ? Date.parse(answer.draws_at) : null;
  say("title", texts[`${name}_title`]);
  sayAt("starts", texts.starts, startsAt);
  if (state === "drawing") {
    say("text", texts.drawing_text);
    document.title = `${texts.drawing_title} · ${data.name}`;
  } else sayAt("text", texts[`${name}_text`], drawsAt ?? startsAt);
  if (name !== lastName && lastName) say("announce", texts[`${name}_title`]);
  lastName = name;
  draw();
  return true;
}

/** What was drawn for a ticket, in words. */
export const drawn = ({ draw }) =>
  draw ? fill(texts.drawn, { rank: number(draw.rank), count: number(draw.count) }) : "";

// Not in line yet

/** What of a queue's state the page shows. */
const shown = (news) =>
  JSON.stringify([
    news.status,
    news.open,
    news.message,
    news.name,
    news.opens_at,
    news.prequeue_at,
    news.starts_at,
    news.draws,
  ]);

let source, first, entering, asks, streamAt;

/** Count down; and where the queue takes nobody, follow its state, and join as soon as it does. */
export function follow() {
  if (!data.follows) return;
  listen();
  // A device that slept has missed what was said, and its clock may have stood still.
  const again = () => !document.hidden && !entering && listen();
  document.addEventListener("visibilitychange", again);
  window.addEventListener("online", again);
  window.addEventListener("pageshow", ({ persisted }) => persisted && again());
  window.addEventListener("pagehide", () => source?.close());
}

function listen() {
  source?.close();
  streamAt = performance.now();
  source = new EventSource(`/api/v1/queues/${encodeURIComponent(data.queue)}/stream`);
  source.addEventListener("state", ({ data: news }) => {
    clearTimeout(asks);
    take(JSON.parse(news));
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) askLater();
  };
  askLater(FIRST_WORD);
}

/** Without a stream: ask now and then, and more often around the start. */
function askLater(seconds) {
  clearTimeout(asks);
  const due = startsAt ? left() / 1000 : Number.POSITIVE_INFINITY;
  const soon = due > 0 ? due + between(0.2, 1) : due > -QUICK_FOR ? between(1, 3) : Number.POSITIVE_INFINITY;
  asks = later(seconds ?? Math.min(soon, between(...ASK)), async () => {
    const path = `/api/v1/queues/${encodeURIComponent(data.queue)}`;
    const answer = await fetch(path, { cache: "no-store" }).catch(() => undefined);
    if (answer?.ok) take(await answer.json().catch(() => ({ status: "maintenance" })));
    if (entering) return;
    if (performance.now() - streamAt > STREAM_AGAIN * 1000) listen();
    else askLater();
  });
}

function take(news) {
  if (entering) return;
  if (news.now) heard(news.now);
  const spread = Math.max(0.3, news.spread_seconds ?? 2);
  if (news.status !== "maintenance" && news.open) return enter(spread);
  if (!news.id) return;
  first ??= shown(news);
  if (shown(news) !== first) leave(spread);
}

/** The page is drawn again by the server. Many pages do so at once, so they spread it. */
function leave(spread) {
  entering = true;
  source?.close();
  later(spread * Math.random(), reload);
}

/** Join: the place comes first, and the page that shows it may take a moment. */
async function enter(spread) {
  entering = true;
  source?.close();
  clearTimeout(asks);
  clearTimeout(timer);
  if (!data.joins) return leave(spread);
  const { Server } = await import(data.server);
  const server = new Server({ queue: data.queue, ticket: false });
  const join = async () => {
    try {
      await server.ask({});
    } catch (error) {
      if (!error.status) return later(between(1, 3), join); // not reached: try again
      return leave(spread); // the server draws the page that says why
    }
    page.dataset.state = "joined";
    say("title", texts.joined_title);
    say("announce", texts.joined_title);
    say("text", texts.joining_text);
    say("countdown", "");
    leave(spread);
  };
  // The tabs of a browser join one after the other: the first one brings the cookie by which the others are the same
  // visitor.
  if (navigator.locks) navigator.locks.request(`fairline:join:${data.queue}`, join);
  else join();
}

heard(data.now, performance.getEntriesByType("navigation")[0]?.responseStart ?? 0);
