// Putting someone in line at the desk.

import { may, page } from "./admin-api.js";
import { newKey } from "./admin-desk-press.js";
import { joinedWords } from "./admin-desk-words.js";
import { ask } from "./admin-dom.js";
import { joinBody, joinFields } from "./admin-join.js";
import { t } from "./admin-text.js";

export function add(desk) {
  if (!may("operator")) return;
  const key = newKey(),
    { series = [], series_texts: texts } = desk.floor ?? {};
  const seriesField = {
    name: "series",
    label: t("series"),
    choices: series.map((each) => [each, [each, texts?.[each]].filter(Boolean).join(": ")]),
    value: series[0],
  };
  const fields = joinFields(page.languages, ...(series.length > 1 ? [seriesField] : []));
  ask(t("add_someone"), fields, t("put_in_line"), (values) => join(desk, joinBody(values), key));
}

/** A mistake in what was typed is shown in the form. If the network fails, the page keeps trying and says so. */
async function join(desk, body, key) {
  const sent = desk.presses.send({ title: t("add_someone"), path: "/join", body, key });
  const unanswered = new Promise((close) => {
    desk.noAnswer = close;
  });
  let late = false;
  const said = sent
    .then((answer) => {
      if (answer?.data) desk.say(joinedWords(answer.data));
      desk.read();
    })
    .catch((error) => {
      if (!late) throw error;
      desk.say(error.message, "bad");
    });
  await Promise.race([
    said,
    unanswered.then(() => {
      late = true;
    }),
  ]);
}
