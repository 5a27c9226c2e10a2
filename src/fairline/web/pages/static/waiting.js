/**
 * The script of the waiting page: keeps what the server has drawn up to date. Every state but the line itself is drawn
 * by the server: when the state changes, the page is loaded again.
 */

const data = JSON.parse(document.getElementById("fairline")?.textContent ?? "{}");
const texts = data.texts ?? {};
const numerals = data.lang === "ar" ? "ar-u-nu-latn" : data.lang;
const plurals = new Intl.PluralRules(data.lang ?? "en");
const page = document.documentElement;

/** Seconds between two announcements to someone who listens to the page rather than looks at it. */
const QUIET = 60;
/** A wait has grown when it is so many times, and so many seconds, longer than it should be by now. */
const GROWN = 1.25,
  GROWN_SECONDS = 60;
/** A page that looks again within so many seconds is one that waits for staff, for so many seconds at most. */
const SOON = 2,
  LIKELY = 600;
/** Codes of refusals that have a page of their own. */
const PAGES = [
  "queue_full",
  "queue_maintenance",
  "queue_closed",
  "queue_not_found",
  "user_token_missing",
  "user_token_invalid",
  "user_token_expired",
];

// Words: the rules of pages/languages.py again

const fill = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
export const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, texts.group);
const count = (name, n, shown = number(n)) => fill(texts[name][plurals.select(n)] ?? texts[name].other, { n: shown });

/** A wait in plain words, such as "about 10–15 minutes". */
export function wait(range) {
  if (!range) return texts.wait_unknown;
  const [low, high] = range;
  if (high <= 60) return texts.wait_soon;
  if (low >= 12 * 3600) return count("wait_long", 12);
  const [name, unit] = high <= 90 * 60 ? ["wait_minutes", 60] : ["wait_hours", 3600];
  const step = unit === 60 && high > 10 * unit ? 5 : 1;
  const most = Math.ceil(high / unit / step) * step;
  const least = Math.min(Math.max(Math.floor(low / unit / step + 0.5) * step, 1), most);
  return count(name, most, least < most ? `${least}–${most}` : undefined);
}

export const ahead = (position) => (position > 1 ? count("ahead", position - 1) : texts.ahead_none);
export const behind = (n) => (n > 0 ? count("behind", n) : texts.behind_none);

// The page

const all = (name, kind = "show") => document.querySelectorAll(`[data-${kind}="${name}"]`);
const each = (name, act) => all(name).forEach(act);
const show = (name, shown = true) =>
  each(name, (it) => {
    it.hidden = !shown;
  });
const say = (name, text) =>
  each(name, (it) => {
    if (it.textContent !== text) it.textContent = text;
  });
const later = (seconds, act) => setTimeout(act, seconds * 1000);
const reload = () => location.reload();

/** Times in the reader's own clock and manner. */
function localise() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    const near = Math.abs(moment - Date.now()) < 12 * 3600_000;
    const form = near ? { timeStyle: "short" } : { dateStyle: "long", timeStyle: "short" };
    time.textContent = new Intl.DateTimeFormat(numerals, form).format(moment);
  }
}

let was = page.dataset.state;

function drawLine(answer) {
  if (answer.sold_out) return reload();
  const paused = answer.queue_status !== "active" || answer.stock_unknown;
  const state = answer.on_hold ? "on_hold" : paused ? "paused" : "waiting";
  page.dataset.state = state;
  say("title", !paused && answer.position === 1 ? texts.next : texts[`${state}_title`]);
  say("text", texts[`${state}_text`]);
  for (const name of ["dots", "turn"]) show(name, false);
  show("line");
  show("step-back", !answer.on_hold && answer.position < answer.queue_length);
  if (answer.on_hold)
    show("note", false); // whatever it says is of the line
  else if (was === "admitted") {
    say("note", texts.back_in_line);
    show("note");
    forget(); // what was promised before the call is no measure of the wait after it
  }
  was = state;
  desk = undefined;
  if (answer.on_hold) return drawOnHold();
  say("position", number(answer.position));
  for (const field of document.querySelectorAll('input[name="position"]')) field.value = answer.position;
  each("position", (it) => it.classList.toggle("long", answer.position > 9999));
  say("wait", wait(answer.estimated_wait_range));
  say("ahead", ahead(answer.position));
  say("behind", behind(answer.queue_length - answer.position));
  say("label", answer.label);
  for (const name of ["place", "tools"]) show(name);
  document.title = `${data.walk_in ? answer.label : number(answer.position)} · ${data.name}`;
  drawProgress(answer);
  noteGrowth(answer, paused);
  announce(answer);
}

/** Put aside: there is no position to show, and no wait to tell. */
function drawOnHold() {
  if (!data.walk_in) show("place", false);
  forget();
  document.title = `${texts.on_hold_title} · ${data.name}`;
}

/** How far someone has come since they joined: the first position is remembered with the ticket it belongs to. */
function drawProgress({ label, position }) {
  const key = `fairline:first:${data.queue}`;
  let first = position;
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (kept.label === label) first = kept.first;
    else localStorage.setItem(key, JSON.stringify({ label, first }));
  } catch {
    /* without storage, progress begins with this page */
  }
  const done = first > 1 ? Math.round(Math.max(0, (first - position) / first) * 100) : 0;
  each("bar", (bar) => {
    bar.hidden = first < 2;
    bar.setAttribute("aria-valuenow", String(done));
    bar.firstElementChild.style.width = `${done}%`;
  });
}

let promised,
  before,
  grown = false;

function forget() {
  promised = before = undefined;
  grown = false;
}

/** A wait that grew is owned up to, with the reason. */
function noteGrowth(answer, paused) {
  const now = Date.now() / 1000,
    seconds = answer.estimated_wait_seconds;
  const passed = before && answer.position > before;
  before = answer.position;
  if (paused || seconds === null) promised = undefined;
  const due = promised && Math.max(0, promised.seconds - (now - promised.at));
  const slower = promised && seconds > due * GROWN + GROWN_SECONDS;
  if (passed || slower) {
    say("note", passed ? texts.grew_priority : texts.grew_slower);
    show("note");
    grown = true;
  } else if (grown && promised && seconds < due) {
    show("note", false);
    grown = false;
  }
  if (seconds !== null && (!promised || slower || seconds < due)) promised = { seconds, at: now };
}

let announced = 0;

/** Those who listen are told now and then, and more often near the front, but not of every step. */
function announce(answer) {
  const pause = answer.position <= 3 ? QUIET / 4 : QUIET;
  if (Date.now() - announced < pause * 1000) return;
  announced = Date.now();
  const told = wait(answer.estimated_wait_range);
  say("announce", told ? fill(texts.announce, { n: number(answer.position), wait: told }) : ahead(answer.position));
}

let connection = "polling";

function drawHeard(client) {
  const seconds = Math.round((Date.now() - client.heardAt) / 1000);
  const ago = seconds < 60 ? count("heard_seconds", seconds) : count("heard_minutes", Math.floor(seconds / 60));
  const known = { live: texts.heard_live, lost: texts.heard_lost, offline: texts.heard_offline };
  say("heard", known[connection] ?? (client.heardAt ? ago : ""));
  each("heard", (it) => {
    it.dataset.live = { live: "yes", lost: "no", offline: "no" }[connection] ?? "";
  });
}

// The turn

/** The way in, to the address that was asked for before the line: always on the site that the way in leads to. */
function wayBack(url) {
  if (!data.back) return url;
  const pass = new URL(url).searchParams.get("fairline_session");
  return new URL(data.back + (data.back.includes("?") ? "&" : "?") + `fairline_session=${pass}`, url).href;
}

let desk = page.dataset.state === "admitted" ? all("desk")[0]?.textContent : undefined;

/** Called to a desk: told by eye, and once by ear and hand. */
function called(answer) {
  was = page.dataset.state = "admitted";
  show("line", false);
  show("turn");
  const where = answer.desk ? fill(texts.desk, { desk: answer.desk }) : texts.admitted_called;
  say("desk", where);
  document.title = `★ ${texts.admitted_title} · ${where}`;
  const until = answer.claim_before ?? "";
  each("go-before", (it) => {
    if (!until) return it.replaceChildren();
    const [first, last] = texts.go_before.split("{time}"),
      time = document.createElement("time");
    time.dateTime = until;
    it.replaceChildren(first ?? "", time, last ?? "");
  });
  localise();
  if (where !== desk) ring();
  desk = where;
}

function ring() {
  chime();
  navigator.vibrate?.([300, 150, 300, 150, 300]);
}

/** Into the site: soon if someone looks, else when they do, and in time before the place is lost. */
function depart(url, until) {
  show("line", false);
  show("turn");
  page.dataset.state = "admitted";
  document.title = `★ ${texts.admitted_title}`;
  for (const link of all("go", "do")) {
    link.href = url;
    link.hidden = false;
  }
  const go = () => location.replace(url);
  if (!document.hidden) return void later(1.5, go);
  chime();
  const left = until ? (new Date(until) - Date.now()) / 2000 : 60;
  later(Math.max(10, left), go);
  document.addEventListener("visibilitychange", () => later(0.5, go), { once: true });
}

let audio,
  wanted = data.walk_in === true;

/** Two soft notes. Browsers allow sound once the page was touched, which the press of the button is. */
function chime() {
  if (!wanted) return;
  audio ??= new AudioContext();
  audio.resume();
  [
    [660, 0],
    [880, 0.25],
  ].forEach(([pitch, after]) => {
    const tone = audio.createOscillator(),
      volume = audio.createGain(),
      at = audio.currentTime + after;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.2, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.6);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + 0.6);
  });
}

function offerSound() {
  for (const button of all("sound", "do")) {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(wanted));
    button.addEventListener("click", () => {
      wanted = !wanted;
      button.setAttribute("aria-pressed", String(wanted));
      chime();
    });
  }
}

// What the page does

async function waitInLine() {
  const { WaitingRoomClient } = await import(data.client);
  const client = new WaitingRoomClient({
    queue: data.queue,
    ...(data.walk_in ? { join: false } : {}),
    ...(data.state === "joining" ? { ticket: false } : {}),
    onPositionUpdate: (_position, _length, _wait, answer) => drawLine(answer),
    onAdmitted: (url, _pass, answer) => {
      if (data.walk_in) called(answer);
      else if (url) depart(wayBack(url), answer.claim_before);
      else if (page.dataset.state !== "admitted") reload();
    },
    onRecalled: ring,
    onState: ({ status }) => {
      if (["active", "completed"].includes(status) && status !== data.status) reload();
    },
    onExpired: reload,
    onMessage: (text) => {
      say("message", text);
      show("message-box", !!text);
    },
    onConnection: (state) => {
      connection = state;
      drawHeard(client);
    },
    onError: ({ code }) => {
      if (PAGES.includes(code)) {
        client.stop();
        later(1 + 2 * Math.random(), reload);
      } else if (code.startsWith("token_")) reload();
      else if (code === "already_in_line") {
        show("dots", false);
        say("text", texts.elsewhere_text);
      } else if (code === "rate_limited") say("text", texts.limited_text);
    },
  });
  if (data.ticket) drawLine(data.ticket);
  offerSound();
  client.start();
  setInterval(() => drawHeard(client), 1000);
}

/** A page that has nothing to show yet looks now and then whether it is still so, and ever more seldom; where staff may
 *  do something the next moment it stays quick for as long as that is likely. */
function lookAgain(seconds) {
  later(seconds, async () => {
    let retry = Math.min(seconds, 60);
    try {
      const { headers } = await fetch(location.href, { method: "HEAD", cache: "no-store" });
      const state = headers.get("X-Fairline-State");
      if (state && state !== data.state) return reload();
      retry = Number(headers.get("Retry-After")) || seconds;
      if (data.retry < SOON && performance.now() < LIKELY * 1000) return lookAgain(data.retry);
    } catch {
      /* not reached: look later */
    }
    lookAgain(retry * (1.02 + 0.4 * Math.random()));
  });
}

localise();
const going = document.querySelector('[data-do="go"][href]');
if (data.state === "admitted" && going) depart(going.href);
else if (data.client && data.texts && Object.keys(texts).length) waitInLine();
else if (data.retry) lookAgain(data.retry);
