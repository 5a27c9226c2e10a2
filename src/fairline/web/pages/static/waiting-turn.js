/**
 * What the waiting page does when it is someone's turn: it shows the desk and rings, or goes to the site.
 */

import { fill } from "./format.js";
import { all, data, later, page, say, sayAt, show, texts } from "./waiting-page.js";

/** The address to go to: the page that the person asked for before the line. It is always on the destination site. */
export function destination(url) {
  if (!data.back) return url;
  const token = new URL(url).searchParams.get("fairline_session");
  return new URL(`${data.back}${data.back.includes("?") ? "&" : "?"}fairline_session=${token}`, url).href;
}

let desk = page.dataset.state === "admitted" ? all("desk")[0]?.textContent : undefined;

/** Back in line: the next call rings again, also to the same desk. */
export function uncalled() {
  desk = undefined;
}

/** Called to a desk: show it, and ring and vibrate once for each desk. */
export function called(answer) {
  page.dataset.state = "admitted";
  show("line", false);
  show("turn");
  const where = answer.desk ? fill(texts.desk, { desk: answer.desk }) : texts.admitted_called;
  say("desk", where);
  document.title = `★ ${texts.admitted_title} · ${where}`;
  const until = answer.claim_before ?? "";
  if (until) sayAt("go-before", texts.go_before, until);
  else say("go-before", "");
  if (where !== desk) ring();
  desk = where;
}

export function ring() {
  chime();
  navigator.vibrate?.([300, 150, 300, 150, 300]);
}

/** Go to the site: soon if the page is visible, otherwise when it is, and in time before the place is lost. */
export function depart(url, until) {
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

/** Play two soft notes. Browsers allow sound once the page was touched, for example by a press of the button. */
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

/** The button that switches the sound on and off. */
export function offerSound() {
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
