/**
 * The page of a draw: a button that checks all of it in this browser, and one that downloads all of it as one file.
 */

import { canCheck, check } from "./draw-check.js";
import { timeLocale } from "./format.js";

const data = JSON.parse(document.getElementById("fairline")?.textContent ?? "{}");
const { texts } = data;
const shown = (name) => document.querySelector(`[data-show="${name}"]`);
const button = document.querySelector('[data-do="check"]');
const download = document.querySelector('[data-do="download"]');

for (const time of document.querySelectorAll("time[datetime]")) {
  const form = { dateStyle: "full", timeStyle: "long" };
  time.textContent = new Intl.DateTimeFormat(timeLocale(data.lang), form).format(new Date(time.dateTime));
}

async function answer(url) {
  const response = await fetch(url, { cache: "no-store" });
  if (!response.ok) throw new Error(`${response.status} of ${url}`);
  return response.text();
}

/** The texts of all answers, as they came. */
async function read() {
  const [draw, entries, receipt] = await Promise.all([
    answer(data.draw),
    answer(data.entries),
    data.receipt ? answer(data.receipt) : undefined,
  ]);
  return { draw, entries, ...(receipt && { receipt }) };
}

/** Show how far it is, or what came of it. */
function say(text, ok) {
  const result = shown("result");
  result.textContent = text;
  result.dataset.ok = ok === undefined ? "" : ok ? "yes" : "no";
}

function draw(results) {
  shown("checks").replaceChildren(
    ...results.map(({ name, ok, problem }) => {
      const row = document.createElement("li");
      const mark = document.createElement("b");
      mark.textContent = ok ? texts.draws_ok : texts.draws_bad;
      row.dataset.ok = ok ? "yes" : "no";
      row.dataset.check = name;
      row.append(mark, ` ${texts[`check_${name}`]}`);
      if (problem) {
        const why = document.createElement("code");
        why.dir = "ltr";
        why.textContent = problem;
        row.append(document.createElement("br"), why);
      }
      return row;
    }),
  );
}

button?.addEventListener("click", async () => {
  if (!canCheck()) return say(texts.draws_secure);
  button.disabled = true;
  say(texts.draws_checking);
  shown("checks").replaceChildren();
  try {
    const file = Object.entries(await read()).map(([name, text]) => [name, JSON.parse(text)]);
    const results = await check(Object.fromEntries(file), (part) => {
      shown("progress").hidden = part >= 1;
      shown("progress").value = part;
    });
    const ok = results.every((each) => each.ok);
    draw(results);
    say(ok ? texts.draws_right : texts.draws_wrong, ok);
  } catch {
    say(texts.draws_unread);
  }
  button.disabled = false;
});

download?.addEventListener("click", async () => {
  try {
    const parts = Object.entries(await read()).flatMap(([name, text], at) => [at ? "," : "{", `"${name}":`, text]);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([...parts, "}\n"], { type: "application/json" }));
    link.download = `draw-${data.id}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch {
    say(texts.draws_unread);
  }
});

for (const each of [button, download]) if (each) each.hidden = false;
