/**
 * The form for taking a number, and the page that takes one to another phone. Both work without this, but for the code
 * of a move, which only a script can read off the address. With it, a tap is sent once, and again by itself where the
 * network drops: always with the key the form came with, so that it makes one ticket.
 */

/** Seconds: between two tries, at most; for an answer. */
const FIRST = 0.5,
  LONGEST = 8,
  ANSWER = 15;
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const home = () => document.querySelector('form[data-do="take"]');

/** Ours say what they show; what a proxy answers in our place does not. */
const ours = (response) => response.headers.has("X-Fairline-State");
/** In trouble, or only busy: a server that is asked again later may answer. */
const troubled = (response) =>
  ours(response)
    ? response.headers.get("X-Fairline-State") === "trouble"
    : response.status >= 500 || [408, 425, 429].includes(response.status);

/** An answer that says something, whatever it takes. A server in trouble is asked again, like one that is not reached. */
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

/** The same page with mistakes at their fields: the cursor goes to the first. */
function replace(html) {
  // The colours are there already, and what came with another page's nonce would be refused.
  const answer = new DOMParser().parseFromString(html.replace(/<style.*?<\/style>/s, ""), "text/html");
  const here = document.querySelector("main"),
    main = answer.querySelector("main");
  if (!here || !main) throw new Error("a template of one's own, without a main part");
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
    else if (ours(response)) replace(html);
    else {
      // Refused before it came to us, or too large to be read: what was filled in stays.
      say(form.dataset.refused);
      trouble.scrollIntoView({ block: "center" });
    }
  } catch {
    form.submit(); // whatever it was, the browser's own way is left
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

/** The number that a code takes along, as the page names the one that is here; empty where it cannot be read. */
function numberOf(code) {
  try {
    const { n, j } = JSON.parse(atob(code.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    return `${n}.${j}`;
  } catch {
    return "";
  }
}

for (const form of document.querySelectorAll('form[data-do="move"]')) {
  // Out of the address, where others could read it, but still there after a reload.
  const code = location.hash.slice(1) || history.state?.code || "",
    { here } = form.dataset;
  history.replaceState({ code }, "", location.pathname + location.search);
  // Without a code, or with that of the number which is here, there is nothing to take along.
  if (!code || (here && numberOf(code) === here)) location.replace(form.dataset.else);
  form.elements.code.value = code;
  form.hidden = !code;
}
