/**
 * The form for taking a number, and the page that moves one to another phone. Both work without this script, except
 * that only a script can read the code of a move from the address: without it, a code is typed. The script sends each
 * tap once, and again if the network fails: always with the key of the form, so that it makes only one ticket.
 */

/** Seconds: before the second attempt, between attempts at most, and to wait for an answer. */
const FIRST = 0.5,
  LONGEST = 8,
  ANSWER = 15;
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const home = () => document.querySelector('form[data-do="take"]');

/** Whether our server answered. Its pages name their state; the answer of a proxy does not. */
const isOurs = (response) => response.headers.has("X-Fairline-State");
/** Whether the server has trouble or is busy, so that a later attempt may succeed. */
const troubled = (response) =>
  isOurs(response)
    ? response.headers.get("X-Fairline-State") === "trouble"
    : response.status >= 500 || [408, 425, 429].includes(response.status);

/** Send a form until there is a useful answer. A server in trouble is asked again, like one that cannot be reached. */
async function send(form, onTrouble) {
  for (let wait = FIRST; ; wait = Math.min(LONGEST, wait * 2)) {
    try {
      const body = new URLSearchParams(new FormData(form));
      const response = await fetch(form.action, { method: "POST", body, signal: AbortSignal.timeout(ANSWER * 1000) });
      if (!troubled(response)) return { response, html: await response.text() };
    } catch {
      /* not reached, or no answer in time */
    }
    onTrouble();
    await pause(wait * (0.8 + 0.4 * Math.random()));
  }
}

/** Show the same page with mistakes at their fields. The cursor goes to the first one. */
function replace(html) {
  // The colours are set already, and a style with the nonce of another page would be refused.
  const answer = new DOMParser().parseFromString(html.replace(/<style.*?<\/style>/s, ""), "text/html");
  const here = document.querySelector("main"),
    main = answer.querySelector("main");
  if (!here || !main) throw new Error("An own template has no <main>.");
  document.title = answer.title;
  document.documentElement.dataset.state = answer.documentElement.dataset.state;
  here.replaceWith(main);
  (document.querySelector("[autofocus]") ?? document.querySelector("h1"))?.focus();
  scrollTo(
    0,
    Math.max(0, (document.querySelector(".wrong:not([hidden])")?.closest(".field, form").offsetTop ?? 0) - 24),
  );
}

let busy = false;

async function take(form) {
  if (busy) return;
  busy = true;
  const button = form.querySelector("button"),
    words = button.textContent;
  const trouble = form.querySelector('[data-show="trouble"]');
  const say = (text) => {
    trouble.textContent = text;
    trouble.hidden = false;
  };
  button.disabled = true;
  button.textContent = form.dataset.sending;
  try {
    const { response, html } = await send(form, () => say(form.dataset.offline));
    if (response.redirected) location.replace(response.url);
    else if (isOurs(response)) replace(html);
    else {
      // Refused by a proxy, or too large to be read: what was filled in stays.
      say(form.dataset.refused);
      trouble.scrollIntoView({ block: "center" });
    }
  } catch {
    form.submit(); // the browser can still send it itself
  } finally {
    busy = false;
    if (button.isConnected) {
      button.disabled = false;
      button.textContent = words;
    }
  }
}

document.addEventListener("submit", (event) => {
  if (event.target !== home()) return;
  event.preventDefault();
  take(event.target);
});

/** The number that a code moves, written as in `data-here`; empty if it cannot be read. */
function numberOf(code) {
  try {
    const { n, j } = JSON.parse(atob(code.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    return `${n}.${j}`;
  } catch {
    return "";
  }
}

for (const form of document.querySelectorAll('form[data-do="move"]')) {
  // Take the code out of the address, where others could read it, but keep it for a reload.
  const code = location.hash.slice(1) || history.state?.code || "",
    { here } = form.dataset;
  history.replaceState({ code }, "", location.pathname + location.search);
  // If this phone has the number already, there is nothing to move.
  if (here && (!code || numberOf(code) === here)) location.replace(form.dataset.else);
  form.elements.code.value = code;
  for (const it of form.querySelectorAll('[data-show="typed"]')) it.hidden = !!code;
  form.hidden = !code && !!here;
}
