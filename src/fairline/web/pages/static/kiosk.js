/**
 * The kiosk: takes a number at a press, shows it, prints it, and goes back to the start by itself. It never leaves its
 * page, so that a network that drops leaves nobody in front of a browser's error. Each press has a key of its own, and
 * is sent again with the same one until it is answered.
 */

/** Seconds: a number is shown; another language stays without a touch; the start is looked at anew; for an answer. */
const SHOWN = 20,
  STAYS = 40,
  FRESH = 20,
  ANSWER = 10;
/** Seconds between two tries of a press. */
const AGAIN = 1.5;
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const key = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const at = document.body.dataset.home;

let start = document.documentElement.dataset.state === "start" ? copy(document) : undefined;
let busy = false,
  timer = 0;

/** A page as it is, to be shown again without the network. */
function copy(page) {
  const { lang, dir, dataset } = page.documentElement;
  return { lang, dir, state: dataset.state ?? "", title: page.title, body: page.body.cloneNode(true) };
}

function show({ lang, dir, state, title, body }) {
  Object.assign(document.documentElement, { lang, dir });
  document.documentElement.dataset.state = state;
  document.title = title;
  document.body.replaceWith(body.cloneNode(true));
  settle();
}

/** What a page needs once it is there: times in the reader's manner, the way to print, the way home. */
function settle() {
  const { lang, dataset } = document.documentElement;
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.textContent = new Intl.DateTimeFormat(lang === "ar" ? "ar-u-nu-latn" : lang, {
      dateStyle: "medium",
      timeStyle: "short",
    }).format(new Date(time.dateTime));
  }
  for (const button of document.querySelectorAll('[data-do="print"]')) button.hidden = false;
  const taken = dataset.state === "taken";
  goHome(taken ? SHOWN : lang === start?.lang && dataset.state === "start" ? FRESH : STAYS);
  if (taken && "prints" in document.body.dataset) print();
}

function offline(is) {
  for (const note of document.querySelectorAll('[data-show="offline"]')) note.hidden = !is;
}

/** A page of ours; throws where none came, or only that we are in trouble. */
async function load(url, options = {}) {
  const response = await fetch(url, { ...options, cache: "no-store", signal: AbortSignal.timeout(ANSWER * 1000) });
  const state = response.headers.get("X-Fairline-State");
  if (!state || state === "trouble") throw new Error(`HTTP ${response.status}`);
  // The colours are there already, and what came with another page's nonce would be refused.
  const html = (await response.text()).replace(/<style.*?<\/style>/s, "");
  return copy(new DOMParser().parseFromString(html, "text/html"));
}

function goHome(seconds) {
  clearTimeout(timer);
  timer = setTimeout(home, seconds * 1000);
}

/** The start: as it was at once, then as it is now. */
async function home() {
  if (busy) return;
  if (start && document.documentElement.dataset.state !== "start") show(start);
  try {
    const page = await load(at);
    if (busy || document.documentElement.dataset.state === "taken") return;
    if (page.state === "start") start = page;
    if (document.activeElement === document.body || page.state !== document.documentElement.dataset.state) show(page);
    offline(false);
  } catch {
    offline(true);
  }
  goHome(FRESH);
}

async function take(form, submitter) {
  if (busy) return;
  busy = true;
  clearTimeout(timer);
  const body = new URLSearchParams(new FormData(form, submitter));
  body.set("key", key());
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  for (;;) {
    try {
      const page = await load(form.action, { method: "POST", body });
      busy = false;
      show(page);
      return;
    } catch {
      offline(true);
      await pause(AGAIN);
    }
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  take(event.target, event.submitter);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]"),
    what = event.target.closest?.("[data-do]")?.dataset.do;
  if (what === "print") print();
  if (what === "home" && start) {
    event.preventDefault();
    show(start);
    home();
  } else if (link?.hreflang) {
    event.preventDefault();
    if (!busy)
      load(link.href).then(
        (page) => {
          show(page);
          offline(false);
        },
        () => offline(true),
      );
  }
});
document.addEventListener("pointerdown", () => {
  if (!busy && document.documentElement.dataset.state === "start") goHome(STAYS);
});
addEventListener("afterprint", () => goHome(SHOWN / 2));
settle();
