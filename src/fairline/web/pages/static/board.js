/**
 * The screen at the desk. It draws what the server tells of each queue, calls new numbers out loud where sound was
 * turned on, and goes on by itself for as long as it is left on: through restarts, outages and new versions.
 */

const data = JSON.parse(document.getElementById("fairline").textContent);
const { texts = {}, queues } = data;
/** How the screen's own country writes the time, where its language is the board's. */
const locale = navigator.languages.find((each) => each.split("-")[0] === data.lang) ?? data.lang;
const numerals = data.lang === "ar" ? `${locale}-u-nu-latn` : locale;
const plurals = new Intl.PluralRules(data.lang);
const clock = new Intl.DateTimeFormat(numerals, { timeStyle: "short" });

/** Nothing heard for so long means that the connection is dead: the server says something every 15 s. */
const SILENCE = 35_000;
/** Known to be away for so long, or not heard for so long, and the screen says so. */
const LOST = 5_000,
  UNHEARD = 20_000;
/** Milliseconds between tries: at first, at most while nobody answers, and while only the stream is refused. */
const FIRST = 1_000,
  LONGEST = 15_000,
  REFUSED = 4_000;
/** A screen is loaded anew for a new version at most so often, whatever servers there are. */
const RENEW = 10 * 60_000;
/** A number that was just called stands out for so long. */
const FRESH = 12_000;
/** Numbers in the lists, and calls that may wait to be spoken. */
const MOST_ROWS = 6,
  MOST_SPOKEN = 5;

// Words: the rules of pages/languages.py again

const fill = (words, values) => words.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
export const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, texts.group);
const count = (name, n, shown = number(n)) => fill(texts[name][plurals.select(n)] ?? texts[name].other, { n: shown });
export const waiting = (n) => (n > 0 ? count("board_waiting", n) : texts.board_waiting_none);

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

/** A label in two parts: "RDEMO-000123" begins alike for everyone, so its end is what people look for. */
export function parts(label) {
  const at = label.lastIndexOf("-") + 1;
  return [label.slice(0, at), label.slice(at)];
}

/** A label as one says it: "RDEMO-A0012" is "A 12". */
export const spoken = (label) =>
  parts(label)[1].replace(/^(\D*)0*(?=\d)/, (_, letters) => (letters ? `${letters} ` : ""));

// What is drawn

const part = (within, name) => within.querySelector(`[data-show="${name}"]`);
const say = (it, text) => {
  if (it.textContent !== text) it.textContent = text;
};
const copy = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const page = part(document, "boards");
const sections = new Map(queues.map((queue) => [queue, page.appendChild(copy("board"))]));

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
  call.querySelectorAll(".prefix, .number span").forEach((it, i) => say(it, shown[i]));
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

/** Only rows that fit are shown, those at the named_desks before those who are done. */
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

/** By queue: when the last call was that this screen knows of, and whose. */
const known = new Map();
/** Queues that something may have happened in while the connection was away. */
const missed = new Set();

/** Call out loud what was called since the last look. What is on the board when the screen is turned on is not new, and
 *  who was called while the connection was away is called now only if they have not come yet. */
function hear(board) {
  const late = missed.delete(board.queue);
  const before = known.get(board.queue);
  const calls = board.called.map((call) => ({ ...call, when: Date.parse(call.at) }));
  const last = Math.max(before?.last ?? 0, ...calls.map(({ when }) => when));
  const of = (moment) => calls.filter(({ when }) => when === moment).map(({ label }) => label);
  const same = before?.last === last ? [...new Set([...before.labels, ...of(last)])].slice(-100) : of(last);
  known.set(board.queue, { last, labels: same });
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
  void section.offsetWidth; // begins the animation anew
  section.classList.add("fresh");
  standing.set(
    section,
    setTimeout(() => section.classList.remove("fresh"), FRESH),
  );
}

function callOut(board, { label, desk }) {
  const words = (shown) => fill(desk ? texts.board_call : texts.board_call_here, { number: shown, desk: desk });
  say(part(document, "announce"), words(label));
  const name = queues.length > 1 ? `${board.name}. ` : "";
  if (sound.on) sound.queue(name + words(spoken(label)));
}

// Sound

const KEPT = "fairline:board:sound";
const remember = (on) => {
  try {
    localStorage.setItem(KEPT, on ? "on" : "off");
  } catch {
    /* for this visit only */
  }
};
const remembered = () => {
  try {
    return localStorage.getItem(KEPT) === "on";
  } catch {
    return false;
  }
};

/** A chime, then the call in words, one after the other. Browsers allow it once the page was pressed. */
const sound = {
  on: false,
  audio: undefined,
  waiting: [],
  busy: false,

  async turn(on) {
    this.on = on;
    if (on) {
      this.audio ??= new AudioContext();
      await Promise.race([this.audio.resume(), rest(500)]).catch(() => {});
      this.on = this.audio.state !== "suspended";
    }
    drawSound();
    return this.on;
  },

  queue(words) {
    this.waiting = [...this.waiting, words].slice(-MOST_SPOKEN);
    if (!this.busy) this.run();
  },

  async run() {
    this.busy = true;
    while (this.on && this.waiting.length) {
      const words = this.waiting.shift();
      try {
        this.chime();
        await rest(1_000);
        await this.speak(words);
      } catch {
        /* a screen without a voice still shows the number */
      }
    }
    this.waiting = [];
    this.busy = false;
  },

  chime() {
    [
      [660, 0],
      [880, 0.3],
    ].forEach(([pitch, after]) => {
      const tone = this.audio.createOscillator(),
        volume = this.audio.createGain(),
        at = this.audio.currentTime + after;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.3, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.8);
      tone.connect(volume).connect(this.audio.destination);
      tone.start(at);
      tone.stop(at + 0.8);
    });
  },

  /** Some browsers never say that they are done. */
  async speak(words) {
    if (!window.speechSynthesis) return;
    const utterance = new SpeechSynthesisUtterance(words);
    utterance.lang = data.lang;
    utterance.rate = 0.9;
    const done = new Promise((resolve) => {
      utterance.onend = utterance.onerror = resolve;
    });
    speechSynthesis.speak(utterance);
    await Promise.race([done, rest(10_000)]);
  },
};

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const button = document.querySelector('[data-do="sound"]');

function drawSound() {
  say(button, sound.on ? texts.board_sound_off : texts.board_sound_on);
  button.setAttribute("aria-pressed", String(sound.on));
}

async function offerSound() {
  if (!window.AudioContext) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const on = await sound.turn(!sound.on);
    remember(on);
    if (on) sound.chime();
  });
  // A screen that was started to play sound by itself goes on with it; on any other the first press will do.
  if (!remembered() || (await sound.turn(true))) return;
  const press = (pressed) => {
    if (remembered() && !sound.on && pressed.target !== button) sound.turn(true);
  };
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, press, { once: true });
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
  const opened = (source = new EventSource(`/api/v1/queues/${queues.join(",")}/board/stream`));
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

/** The stream has ended, as it does now and then: ask for what there is, and try again soon; later where nobody is there. */
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
    queues.forEach((queue) => missed.add(queue));
    return false;
  } finally {
    drawLink();
  }
}

/** Another version of the server has another page: load it, if it is really there. Never into an error page, and not over
 *  and over where servers of two versions answer in turn. */
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
    /* not now: the next stream says it again */
  }
  return false;
}

function drawLink() {
  const now = Date.now();
  const lost = now - heardAt > UNHEARD || (awaySince && now - awaySince > LOST);
  say(part(document, "lost"), lost ? fill(texts.board_lost, { time: clock.format(heardAt) }) : "");
  document.body.classList.toggle("away", Boolean(lost));
}

/** Every second. A screen whose machine slept, or whose connection died without a word, starts anew. */
function tick() {
  say(part(document, "clock"), clock.format(Date.now()));
  if (source && Date.now() - heardAt > SILENCE && retry === undefined) again();
  drawLink();
}

/** There is no such queue yet, or the address is wrong: look now and then whether it is still so. */
async function lookAgain() {
  await rest(data.again * 1_000 * (1 + 0.4 * Math.random()));
  const { status } = await fetch(location.href, { cache: "no-store" }).catch(() => ({}));
  if (status === 200) location.reload();
  else lookAgain();
}

function begin() {
  page.dataset.count = String(queues.length);
  for (const [queue, section] of sections) say(part(section, "name"), queue);
  data.boards.forEach(draw);
  drawSound();
  offerSound();
  tick();
  setInterval(tick, 1_000);
  connect();
  addEventListener("resize", () => sections.forEach(fit));
  addEventListener("online", () => {
    if (!source) connect();
  });
}

if (queues.length) begin();
else lookAgain();
