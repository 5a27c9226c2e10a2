/**
 * "Tell me when it's nearly my turn", and that an opening has started: a notification, also by Web Push when the page
 * is closed, and a screen that stays on. It is loaded when someone opens it.
 */

const SECONDS = 60;
/** The phases of an opening before its start. */
const HELD_BACK = ["prequeue", "drawing"];

import { fill } from "./format.js";

/** The controls in `box`; `ring` plays the sound that the page has. The returned function takes every answer. */
export function offer(box, { texts, data, say, ring, key }) {
  const when = box.querySelector("select");
  const [notify, awake] = ["notify", "awake"].map((name) => box.querySelector(`[data-do="${name}"]`));
  let wanted = false,
    told = false,
    pushed = false,
    label = "",
    held = false,
    lock;

  const stored = (value) => {
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem(key) ?? "{}");
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      /* without storage, the wish lasts as long as the page */
    }
    return {};
  };

  /** Say what will be told; before an opening has started, its start is told as well. */
  const tell = (text, wish = true) => {
    const whole = held && wish ? `${text} ${texts.tell_start}` : text;
    say("told", whole);
    say("announce", whole);
  };

  function show() {
    notify.setAttribute("aria-pressed", String(wanted));
    awake.setAttribute("aria-pressed", String(!!lock));
  }

  /** Ask the server to tell at the moment that is chosen. */
  function ask(how, to) {
    const moment = { [when.value[0] === "p" ? "place" : "minutes"]: Number(when.value.slice(1)) };
    return fetch(`/api/v1/${how}?queue=${encodeURIComponent(data.queue)}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...to, ...moment, language: data.lang }),
    });
  }

  /** Ask the server to tell by e-mail, and say beside the field why it does not. */
  async function mail(event) {
    event.preventDefault();
    const field = event.target.elements.email;
    const email = field.value.trim();
    const answer = await ask("mail", { email }).catch(() => ({ ok: false }));
    const example = fill(texts.email_bad, { example: "ada@example.com" });
    const wrong = { 422: example, 429: texts.tell_mail_limit }[answer.status] ?? texts.tell_mail_failed;
    say("mail-wrong", answer.ok ? "" : wrong);
    field.setAttribute("aria-invalid", String(!answer.ok));
    if (answer.ok) tell(fill(texts.tell_mailed, { email }));
  }

  /** Ask the server to tell this browser by Web Push; false where that is not possible. */
  async function subscribe() {
    if (!navigator.serviceWorker || !window.PushManager) return false;
    try {
      const registration = await navigator.serviceWorker.register(data.worker);
      await active(registration);
      const old = await registration.pushManager.getSubscription();
      await old?.unsubscribe(); // what was wished for before is forgotten with it
      if (!wanted) return false;
      const options = { userVisibleOnly: true, applicationServerKey: data.push_key };
      const subscription = await registration.pushManager.subscribe(options);
      const { endpoint, keys } = subscription.toJSON();
      const answer = await ask("push", { endpoint, ...keys });
      return answer.ok;
    } catch {
      return false; // no push service can be reached: the page tells while it is open
    }
  }

  async function active(registration) {
    const worker = registration.active ?? registration.installing ?? registration.waiting;
    while (worker.state !== "activated") {
      await new Promise((done) => worker.addEventListener("statechange", done, { once: true }));
    }
  }

  async function choose() {
    told = false;
    if (wanted && (await Notification.requestPermission()) !== "granted") {
      wanted = false;
      tell(texts.tell_blocked, false);
    }
    stored({ wanted, when: when.value, label });
    show();
    pushed = await subscribe();
    if (wanted) tell(pushed ? texts.tell_push : texts.tell_open);
  }

  async function keepAwake(on) {
    lock = on ? await navigator.wakeLock.request("screen").catch(() => undefined) : await lock?.release();
    show();
  }

  notify.hidden = !window.Notification;
  awake.hidden = !navigator.wakeLock;
  notify.addEventListener("click", () => {
    wanted = !wanted;
    if (!wanted) say("told", "");
    choose();
  });
  when.addEventListener("change", () => {
    told = false;
    stored({ wanted, when: when.value, label });
    if (wanted) choose();
  });
  box.querySelector('[data-do="mail"]')?.addEventListener("submit", mail);
  awake.addEventListener("click", () => keepAwake(!lock));
  // A lock ends when the page is hidden.
  document.addEventListener("visibilitychange", () => lock && !document.hidden && keepAwake(true));

  function notifyNow(title) {
    if (!wanted || pushed) return;
    try {
      new Notification(title, { body: `${data.name} · ${label}`, tag: label });
    } catch {
      /* some browsers show notifications of service workers only */
    }
  }

  return (answer) => {
    const before = held;
    held = HELD_BACK.includes(answer.phase);
    if (before && !held) notifyNow(texts.tell_started);
    if (!label) {
      label = answer.label;
      const before = stored();
      if (before.label === label) {
        when.value = before.when;
        wanted = before.wanted && window.Notification?.permission === "granted";
        pushed = wanted && !!window.PushManager;
      }
      show();
    }
    const number = Number(when.value.slice(1));
    const seconds = answer.estimated_wait_seconds;
    const byTime = when.value[0] === "m";
    const near =
      answer.position && (byTime ? seconds !== null && seconds <= number * SECONDS : answer.position <= number);
    if (!near || told) return;
    told = true;
    ring();
    notifyNow(texts.tell_title);
  };
}
