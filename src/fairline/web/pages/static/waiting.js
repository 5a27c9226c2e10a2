/**
 * The script of the waiting page. It keeps the page of someone in line up to date. The server draws every other state:
 * when the state changes, the page is loaded again.
 */

import { fill } from "./format.js";
import {
  all,
  clock,
  count,
  data,
  drawLooks,
  each,
  later,
  localise,
  noWait,
  number,
  page,
  reload,
  say,
  show,
  texts,
  wait,
} from "./waiting-page.js";
import { called, depart, destination, offerSound, ring, uncalled } from "./waiting-turn.js";

/** Seconds between two announcements to screen readers. */
const ANNOUNCE_SECONDS = 60;
/** The wait has grown if it is this many times longer, plus this many seconds, than it should be by now. */
const GROWTH_FACTOR = 1.25,
  GROWTH_SECONDS = 20;
/** A page that checks more often than every QUICK_CHECK seconds waits for staff: for QUICK_FOR seconds at most. */
const QUICK_CHECK = 2,
  QUICK_FOR = 600;
/** Codes of refusals for which the server has a page. */
const CODES_WITH_PAGE = [
  "queue_full",
  "queue_maintenance",
  "queue_closed",
  "queue_not_found",
  "user_token_missing",
  "user_token_invalid",
  "user_token_expired",
];

const ahead = (position) => (position > 1 ? count("ahead", position - 1) : texts.ahead_none);
const behind = (n) => (n > 0 ? count("behind", n) : texts.behind_none);

const waitOf = ({ estimated_wait_range, estimated_wait_at_least_seconds, people_per_minute }) =>
  estimated_wait_range ? wait(estimated_wait_range) : noWait(estimated_wait_at_least_seconds, people_per_minute);

/** Why the wait has grown, by the cause that the server gives. */
const GREW = { others_went_ahead: "grew_priority", desk_closed: "grew_desk" };

// A test compares these with what the server writes.
export { behind, noWait, number, wait };

let lastState = page.dataset.state;
/** What a page says before a start, where one is planned. */
let start;

function drawLine(answer) {
  const held = answer.phase === "prequeue" || answer.phase === "drawing",
    closed = lastAnswer?.phase === "open" && !answer.phase && answer.queue_status === "maintenance";
  lastAnswer = answer;
  // The server draws the page of a pre-queue that has opened meanwhile, and that of an opening that has ended.
  if (closed || (held && !start)) return later(2 * Math.random(), reload);
  if (answer.sold_out && !held) return reload();
  const paused = answer.queue_status !== "active" || (answer.stock_unknown && !held);
  const state = answer.on_hold ? "on_hold" : paused ? "paused" : held ? answer.phase : "waiting";
  page.dataset.state = state;
  say("tell", held ? texts.tell_held : texts.tell);
  if (start?.drawBefore(answer, state)) return drawHeldBack(answer, state);
  say("title", !paused && answer.position === 1 ? texts.next : texts[`${state}_title`]);
  say("text", texts[`${state}_text`]);
  if (state !== lastState && lastState !== "joining")
    say("announce", `${texts[`${state}_title`]}. ${texts[`${state}_text`]} ${start?.drawn(answer) ?? ""}`);
  drawLooks(0);
  for (const name of ["dots", "turn"]) show(name, false);
  show("line");
  show("step-back", !answer.on_hold && answer.position < answer.queue_length);
  if (answer.on_hold)
    show("note", false); // the note is about the line
  else if (lastState === "admitted") {
    say("note", texts.back_in_line);
    show("note");
    forgetEstimate(); // an estimate from before the call says nothing about the wait after it
  }
  lastState = state;
  uncalled();
  if (answer.on_hold || !answer.position) return drawOnHold(state);
  say("position", number(answer.position));
  for (const field of document.querySelectorAll('input[name="position"]')) field.value = answer.position;
  each("position", (it) => it.classList.toggle("long", answer.position > 9999));
  say("wait", waitOf(answer));
  say("ahead", ahead(answer.position));
  say("behind", behind(answer.queue_length - answer.position));
  say("label", answer.label);
  for (const name of ["place", "tools"]) show(name);
  document.title = `${data.walk_in ? answer.label : number(answer.position)} · ${data.name}`;
  drawProgress(answer);
  noteGrowth(answer, paused);
  welcome(answer);
  heed(answer);
  announce(answer);
}

/** On hold: there is no position and no wait to show. */
function drawOnHold(state) {
  if (!data.walk_in) show("place", false);
  forgetEstimate();
  document.title = `${texts[`${state}_title`]} · ${data.name}`;
}

/** Before the start: there is a place, and no position. */
function drawHeldBack(answer, state) {
  for (const name of ["dots", "turn", "note", "step-back"]) show(name, false);
  show("place", !!data.walk_in);
  show("line");
  show("tools");
  say("label", answer.label);
  lastState = state;
  forgetEstimate();
  welcome(answer);
  heed(answer);
}

/** Show the progress since the person joined. The first position is stored together with the ticket it belongs to. */
function drawProgress({ label, position }) {
  const key = `fairline:first:${data.queue}`;
  let first = position;
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (kept.label === label) first = kept.first;
    else localStorage.setItem(key, JSON.stringify({ label, first }));
  } catch {
    /* without storage, progress starts with this page */
  }
  const done = first > 1 ? Math.round(Math.max(0, (first - position) / first) * 100) : 0;
  each("bar", (bar) => {
    bar.hidden = first < 2;
    bar.setAttribute("aria-valuenow", String(done));
    bar.firstElementChild.style.width = `${done}%`;
  });
}

/** Seconds after which someone who opens the page again has been away. */
const AWAY_SECONDS = 20;
let here = false;

/** Welcome someone who comes back to the place they left by closing the page. */
function welcome({ label }) {
  const key = `fairline:seen:${data.queue}`;
  try {
    const seen = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (!here && seen.label === label && Date.now() - seen.at > AWAY_SECONDS * 1000) {
      say("note", texts.welcome_back);
      show("note");
    }
    localStorage.setItem(key, JSON.stringify({ label, at: Date.now() }));
  } catch {
    /* without storage, nobody is recognised */
  }
  here = true;
}

let estimate,
  lastPosition,
  growthNoted = false;

function forgetEstimate() {
  estimate = lastPosition = undefined;
  growthNoted = false;
}

/** If the wait has grown, say so and say why. */
function noteGrowth(answer, paused) {
  const now = Date.now() / 1000,
    seconds = answer.estimated_wait_seconds;
  const overtaken = lastPosition && answer.position > lastPosition;
  lastPosition = answer.position;
  if (paused || seconds === null) estimate = undefined;
  const due = estimate && Math.max(0, estimate.seconds - (now - estimate.at));
  const slower = estimate && seconds > due * GROWTH_FACTOR + GROWTH_SECONDS;
  if (overtaken || slower) {
    say("note", texts[overtaken ? "grew_priority" : (GREW[answer.wait_changed?.cause] ?? "grew_slower")]);
    show("note");
    growthNoted = true;
  } else if (growthNoted && estimate && seconds < due) {
    show("note", false);
    growthNoted = false;
  }
  if (seconds !== null && (!estimate || slower || seconds < due)) estimate = { seconds, at: now };
}

let announced = 0;

/** Screen readers announce the position now and then, more often near the front, though not at every step. */
function announce(answer) {
  const pause = answer.position <= 3 ? ANNOUNCE_SECONDS / 4 : ANNOUNCE_SECONDS;
  if (Date.now() - announced < pause * 1000) return;
  announced = Date.now();
  const waitText = wait(answer.estimated_wait_range);
  say(
    "announce",
    waitText ? fill(texts.announce, { n: number(answer.position), wait: waitText }) : ahead(answer.position),
  );
}

let connection = "polling";

function drawHeard(client) {
  const seconds = Math.round((Date.now() - client.heardAt) / 1000);
  const ago = seconds < 60 ? count("heard_seconds", seconds) : count("heard_minutes", Math.floor(seconds / 60));
  const cut = connection === "lost" || connection === "offline";
  const text = cut ? drawCut(client) : connection === "live" ? texts.heard_live : client.heardAt ? ago : "";
  say("heard", text);
  each("heard", (it) => {
    it.dataset.live = connection === "live" ? "yes" : cut ? "no" : "";
  });
  drawLooks();
}

let cutAs = "";

/** Without a connection: until when the place is held, and what is true after that. It is announced when it changes. */
function drawCut({ answer, heldUntil }) {
  const offline = connection === "offline";
  const over = heldUntil > 0 && Date.now() >= heldUntil;
  const name =
    answer?.status !== "waiting"
      ? "heard_joining"
      : !heldUntil
        ? "heard_kept"
        : over
          ? "heard_over"
          : offline
            ? "heard_offline"
            : "heard_lost";
  const text = fill(texts[name], { time: clock(heldUntil) });
  if (name !== cutAs) say("announce", text);
  cutAs = name;
  return text;
}

let heed = () => {};

/** What someone wishes to be told is loaded once they open it, or have wished it before. */
function offerTelling() {
  const key = `fairline:tell:${data.queue}`;
  for (const box of all("tell", "do")) {
    box.hidden = false;
    let loaded = false;
    const load = async () => {
      if (loaded) return;
      loaded = true;
      const { offer } = await import(data.tell);
      heed = offer(box, { texts, data, say, ring, key });
      if (lastAnswer) heed(lastAnswer);
    };
    box.addEventListener("toggle", load, { once: true });
    try {
      if (localStorage.getItem(key)) load();
    } catch {
      /* without storage, nothing was wished for */
    }
  }
}

let lastAnswer;

/** Another tab gives up the place: show so too, once the server knows. */
function followOut(tries) {
  later(1, async () => {
    const seen = await fetch(data.left, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
    const state = seen?.headers.get("X-Fairline-State");
    if (state === "leaving" || state === "expired" || tries < 1) location.assign(data.left);
    else followOut(tries - 1);
  });
}

// Starting

async function waitInLine() {
  if (data.start) start = await import(data.start);
  const { WaitingRoomClient } = await import(data.client);
  const client = new WaitingRoomClient({
    queue: data.queue,
    ...(data.walk_in ? { join: false } : {}),
    ...(data.state === "joining" ? { ticket: false } : {}),
    onPositionUpdate: (_position, _length, _wait, answer) => drawLine(answer),
    onAdmitted: (url, _pass, answer) => {
      if (data.walk_in) {
        lastState = "admitted";
        called(answer);
      } else if (url) depart(destination(url), answer.claim_before);
      else if (page.dataset.state !== "admitted") reload();
    },
    onRecalled: ring,
    onState: ({ status, now }) => {
      if (now) start?.heard(now);
      if (["active", "completed"].includes(status) && status !== data.status) reload();
    },
    onExpired: (reason) => (reason === "left" ? followOut(20) : reload()),
    onMessage: (text) => {
      say("message", text);
      if (text && text !== data.message) say("announce", `${texts.message_label}: ${text}`);
      show("message-box", !!text);
    },
    onConnection: (state) => {
      connection = state;
      if (state === "live" || state === "polling") cutAs = "";
      drawHeard(client);
    },
    onError: ({ code }) => {
      if (CODES_WITH_PAGE.includes(code)) {
        client.stop();
        later(1 + 2 * Math.random(), reload);
      } else if (code.startsWith("token_")) reload();
      else if (code === "already_in_line") {
        client.stop();
        location.assign(data.elsewhere);
      } else if (code === "rate_limited") {
        say("title", texts.limited_title);
        say("text", texts.limited_text);
        show("dots", false);
        setTimeout(() => drawLooks(client.nextAt)); // the client says when, once it has chosen
      }
    },
  });
  if (data.ticket) drawLine(data.ticket);
  offerSound();
  offerTelling();
  for (const form of all("leave", "do")) form.addEventListener("submit", () => client.left());
  client.start();
  setInterval(() => drawHeard(client), 1000);
}

/** Check now and then whether the state of the page has changed, less and less often. Where staff may act at any
 *  moment, keep checking quickly for as long as that is likely. */
function checkAgain(seconds) {
  drawLooks(Date.now() + seconds * 1000);
  later(seconds, async () => {
    let retry = Math.min(seconds, 60);
    try {
      const { headers } = await fetch(location.href, { method: "HEAD", cache: "no-store" });
      const state = headers.get("X-Fairline-State");
      if (state && state !== data.state) return reload();
      // Others have joined the group, or have left it.
      if (data.here && data.here !== headers.get("X-Fairline-Here")) return reload();
      retry = Number(headers.get("Retry-After")) || seconds;
      if (data.retry < QUICK_CHECK && performance.now() < QUICK_FOR * 1000) return checkAgain(data.retry);
    } catch {
      /* not reached: check later */
    }
    checkAgain(retry * (1.02 + 0.4 * Math.random()));
  });
}

localise();
const going = document.querySelector('[data-do="go"][href]');
if (data.state === "admitted" && going) depart(going.href);
else if (data.client) waitInLine();
else if (data.start) import(data.start).then(({ follow }) => follow());
if (data.retry && !data.client && !data.follows) {
  checkAgain(data.retry);
  if (all("again").length) {
    setInterval(drawLooks, 1000);
  }
}
