// Starts the dashboard: loads the script of the page, and runs the two pages without a frame.

import { may, page } from "./admin-api.js";
import { show, write } from "./admin-dom.js";
import { frame } from "./admin-frame.js";
import { count, t } from "./admin-text.js";

const PAGES = {
  queues: () => import("./admin-queues.js"),
  queue: () => import("./admin-queue.js"),
  desk: () => import("./admin-desk.js"),
  keys: () => import("./admin-keys.js"),
  webhooks: () => import("./admin-webhooks.js"),
  audit: () => import("./admin-audit.js"),
};

/** Keep the part of the address after #, count down to the next attempt, and check whether someone who came by a link
 *  is signed in already. */
async function signIn() {
  document.querySelector("form").action += location.hash; // a redirect keeps what follows the # in the address
  const button = document.querySelector('[data-do="sign-in"]'),
    message = show("told");
  let left = page.wait;
  if (left) {
    button.disabled = true;
    const timer = setInterval(() => {
      left -= 1;
      write(message, left > 0 ? count("too_many_tries", left) : t("try_again_now"));
      if (left <= 0) {
        clearInterval(timer);
        button.disabled = false;
      }
    }, 1000);
  } else if (!message && !document.referrer.startsWith(location.origin)) {
    // The browser sends the cookie with a call from this page, though not with a link from another site.
    const answer = await fetch("/api/v1/admin/session", { cache: "no-store" }).catch(() => null);
    if (answer?.ok) location.replace(document.querySelector("[name=next]").value + location.hash);
  }
}

function notice() {
  if (!page.retry) return;
  let left = page.retry;
  setInterval(() => {
    left -= 1;
    write(show("retry"), left > 0 ? count("trying_again_in", left) : t("trying_again"));
    if (left === 0) location.reload();
  }, 1000);
}

/** Another language leads back to the same place: a redirect keeps what follows the # in the address. */
function speak() {
  const form = document.querySelector(".languages");
  form.addEventListener("submit", () => {
    form.action += location.hash;
  });
}

speak();
if (page.page === "sign-in") signIn();
else if (page.page === "notice") notice();
else {
  frame(["queues", "queue", "desk"].includes(page.page));
  if (may(page.needs)) (await PAGES[page.page]()).start();
}
