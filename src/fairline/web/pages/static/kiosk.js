/**
 * The kiosk: takes a number at a press, shows it, prints it, and returns to the start automatically. It never leaves
 * its page, so that nobody sees an error page of the browser when the network fails. Each press has its own key, and is
 * sent again with the same key until it is answered.
 */

/** Seconds: how long a number is shown, how long another language stays without a touch, how often the start page is
 *  loaded again, and how long to wait for an answer. */
const SHOW_NUMBER = 20,
  KEEP_LANGUAGE = 40,
  RELOAD = 20,
  ANSWER_WITHIN = 10;
/** Seconds between two attempts to send a press. */
const RETRY = 1.5;
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const key = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const startUrl = document.body.dataset.home;

let start = document.documentElement.dataset.state === "start" ? copy(document) : undefined;
let busy = false,
  timer = 0;

/** Copy a page, so that it can be shown again without the network. */
function copy(page) {
  const { lang, dir, dataset } = page.documentElement;
  return { lang, dir, state: dataset.state ?? "", title: page.title, body: page.body.cloneNode(true) };
}

function show({ lang, dir, state, title, body }) {
  Object.assign(document.documentElement, { lang, dir });
  document.documentElement.dataset.state = state;
  document.title = title;
  document.body.replaceWith(body.cloneNode(true));
  prepare();
}

/** Prepare a page that was just shown: local times, the print button, the timer that leads back to the start. */
function prepare() {
  const { lang, dataset } = document.documentElement;
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.textContent = new Intl.DateTimeFormat(lang === "ar" ? "ar-u-nu-latn" : lang, {
      dateStyle: "medium",
      timeStyle: "short",
    }).format(new Date(time.dateTime));
  }
  for (const button of document.querySelectorAll('[data-do="print"]')) button.hidden = false;
  const taken = dataset.state === "taken";
  goHome(taken ? SHOW_NUMBER : lang === start?.lang && dataset.state === "start" ? RELOAD : KEEP_LANGUAGE);
  if (taken && "prints" in document.body.dataset) print();
}

function showOffline(offline) {
  for (const note of document.querySelectorAll('[data-show="offline"]')) note.hidden = !offline;
}

/** Load one of our pages. Throws if there is no answer, or if it is the page that says the server has trouble. */
async function load(url, options = {}) {
  const response = await fetch(url, {
    ...options,
    cache: "no-store",
    signal: AbortSignal.timeout(ANSWER_WITHIN * 1000),
  });
  const state = response.headers.get("X-Fairline-State");
  if (!state || state === "trouble") throw new Error(`HTTP ${response.status}`);
  // The colours are set already, and a style with the nonce of another page would be refused.
  const html = (await response.text()).replace(/<style.*?<\/style>/s, "");
  return copy(new DOMParser().parseFromString(html, "text/html"));
}

function goHome(seconds) {
  clearTimeout(timer);
  timer = setTimeout(home, seconds * 1000);
}

/** Show the start page: at once as it was, then as it is now. */
async function home() {
  if (busy) return;
  if (start && document.documentElement.dataset.state !== "start") show(start);
  try {
    const page = await load(startUrl);
    if (busy || document.documentElement.dataset.state === "taken") return;
    if (page.state === "start") start = page;
    if (document.activeElement === document.body || page.state !== document.documentElement.dataset.state) show(page);
    showOffline(false);
  } catch {
    showOffline(true);
  }
  goHome(RELOAD);
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
      showOffline(true);
      await pause(RETRY);
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
          showOffline(false);
        },
        () => showOffline(true),
      );
  }
});
document.addEventListener("pointerdown", () => {
  if (!busy && document.documentElement.dataset.state === "start") goHome(KEEP_LANGUAGE);
});
addEventListener("afterprint", () => goHome(SHOW_NUMBER / 2));
prepare();
