// Before the night of an opening: its settings compared with now, the checklist, and the rehearsal.

import { get, may, page, post, why } from "./admin-api.js";
import { badge, dialog, h, table, write } from "./admin-dom.js";

import { chosen } from "./admin-settings-control.js";
import { number, t } from "./admin-text.js";
import { dateTime, openingName, value } from "./admin-words.js";

const POLL_SECONDS = 0.7;
const PEOPLE = 50;
const STATES = {
  ok: { label: t("opening_check_ok"), tone: "good" },
  look: { label: t("opening_check_look"), tone: "warn" },
  problem: { label: t("opening_check_problem"), tone: "bad" },
};
const RESULTS = {
  running: { label: t("opening_rehearsing"), tone: "info" },
  passed: { label: t("opening_rehearsal_passed"), tone: "good" },
  failed: { label: t("opening_rehearsal_failed"), tone: "bad" },
};

const closing = (close) =>
  h("div", { class: "tools" }, h("button", { type: "button", class: "button", onclick: close }, t("close")));

/** Show the settings as they will be, where they differ from now. */
export async function previewOpening(queue, opening) {
  const title = t("opening_preview_title", { name: openingName(opening) });
  const body = h("div", { class: "stack", role: "status" }, h("p", { class: "note" }, t("loading")));
  dialog(title, (close) => [h("h2", {}, title), body, closing(close)], "wide");
  try {
    const [now, then] = await Promise.all([get(queue.path()), get(queue.path(`/openings/${opening.id}/preview`))]);
    const differ = page.form
      .flatMap(({ fields }) => fields)
      .filter(({ name }) => JSON.stringify(now[name]) !== JSON.stringify(then[name]));
    const shown = ({ name, choices }, from) =>
      choices && from[name] !== null ? chosen(from[name]) : value(from[name]);
    body.replaceChildren(
      table(
        title,
        [t("opening_column_setting"), t("openings_now"), t("opening_column_during")],
        differ.map((field) => [
          field.label,
          h("span", { "data-was": field.name }, shown(field, now)),
          h("b", { "data-will": field.name }, shown(field, then)),
        ]),
        t("opening_preview_same"),
      ),
    );
  } catch (error) {
    body.replaceChildren(h("p", { class: "wrong" }, error.message));
  }
}

/** Show the checklist, with the rehearsal below. */
export function checkOpening(queue, opening) {
  const path = queue.path(`/openings/${opening.id}`);
  const title = t("opening_check_title", { name: openingName(opening) });
  const sum = h("p", { role: "status" }),
    list = h("ul", { class: "checks" }),
    people = h("input", { id: "opening-people", type: "number", class: "number", min: 1, max: 10_000_000, step: 1 }),
    again = h("button", { class: "button quiet", "data-do": "check-again" }, t("opening_check_again"));

  let turn;
  async function check() {
    const mine = Symbol("turn");
    turn = mine;
    again.disabled = true;
    write(sum, t("opening_checking"));
    try {
      const expected = people.value && people.validity.valid ? `?people=${people.value}` : "";
      const { checks } = await get(`${path}/checklist${expected}`);
      if (turn !== mine) return;
      const many = (state) => number(checks.filter((each) => each.state === state).length);
      write(sum, t("opening_check_sum", { ok: many("ok"), look: many("look"), problem: many("problem") }));
      list.replaceChildren(...checks.map(checkLine));
    } catch (error) {
      if (turn === mine) write(sum, error.message);
    }
    if (turn === mine) again.disabled = false;
  }

  const rehearsal = rehearsalPart(path, check);
  const element = dialog(
    title,
    (close) => [
      h("h2", {}, title),
      h(
        "form",
        {
          class: "row",
          onsubmit: (event) => {
            event.preventDefault();
            check();
          },
        },
        h("label", { for: people.id }, t("opening_people")),
        people,
        again,
      ),
      sum,
      list,
      rehearsal.element,
      closing(close),
    ],
    "wide",
  );
  element.addEventListener("close", () => rehearsal.stop());
  check();
  rehearsal.load();
}

const checkLine = ({ check, state, title, found, advice }) =>
  h(
    "li",
    { "data-check": check, "data-state": state },
    badge(STATES[state]),
    h("div", {}, h("h3", {}, title), h("p", {}, found), advice ? h("p", { class: "note" }, advice) : null),
  );

/** The rehearsal: a button, how far it is, and how it went. `over` is called when one is over. */
function rehearsalPart(path, over) {
  const said = h("div", { class: "row", role: "status", "data-show": "rehearsal" }),
    steps = h("ol", { class: "checks" }),
    mistake = h("p", { class: "wrong", role: "alert", hidden: true });
  const begin = h(
    "button",
    {
      type: "button",
      class: "button quiet",
      "data-do": "rehearse",
      disabled: !may("operator"),
      title: may("operator") ? null : why("operator"),
      onclick: start,
    },
    t("opening_rehearse"),
  );
  const element = h(
    "section",
    { class: "stack rehearsal", "aria-labelledby": "rehearsal-title" },
    h("h3", { id: "rehearsal-title" }, t("opening_rehearsal")),
    h("p", { class: "note" }, t("opening_rehearse_text", { n: number(PEOPLE) })),
    h("div", { class: "row" }, begin),
    mistake,
    said,
    steps,
  );
  let timer, was;

  async function start() {
    begin.disabled = true;
    mistake.hidden = true;
    try {
      draw(await post(`${path}/rehearsal`));
    } catch (error) {
      mistake.textContent = error.message;
      mistake.hidden = false;
      begin.disabled = false;
    }
  }

  async function load() {
    try {
      draw((await get(`${path}/rehearsal`)).rehearsal);
    } catch {
      timer = setTimeout(load, POLL_SECONDS * 3000);
    }
  }

  function draw(rehearsal) {
    const state = rehearsal?.state ?? "",
      running = state === "running";
    if (state !== was) {
      const when = rehearsal?.ended_at ? h("span", { class: "note" }, dateTime(rehearsal.ended_at)) : null;
      said.replaceChildren(
        ...(rehearsal
          ? [badge(RESULTS[state]), when]
          : [h("p", { class: "note" }, t("opening_rehearsal_none"))]
        ).filter(Boolean),
      );
    }
    steps.replaceChildren(...(rehearsal?.steps ?? []).map(stepLine));
    begin.disabled = running || !may("operator");
    if (running) timer = setTimeout(load, POLL_SECONDS * 1000);
    else if (was === "running") over();
    was = state;
  }

  return { element, load, stop: () => clearTimeout(timer) };
}

const PASSED = { label: t("opening_passed"), tone: "good" };
const FAILED = { label: t("opening_failed"), tone: "bad" };
const stepLine = ({ step, passed, title, found }) =>
  h(
    "li",
    { "data-step": step, "data-passed": String(passed) },
    badge(passed ? PASSED : FAILED),
    h("div", {}, h("h4", {}, title), h("p", {}, found)),
  );
