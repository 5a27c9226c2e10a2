// Lists in the settings form that grow and shrink.

import { h } from "./admin-dom.js";
import { t } from "./admin-text.js";

/** Those who listen to a list take its change as input. */
const changed = (rows) => rows.dispatchEvent(new Event("input", { bubbles: true }));

/** A button that adds a row. */
export const adding = (label, rows, row) =>
  h(
    "button",
    {
      type: "button",
      class: "button small quiet",
      onclick: () => {
        rows.appendChild(row()).querySelector("input")?.focus();
        changed(rows);
      },
    },
    label,
  );

/** A button in a row that removes it. */
export const removing = (row) =>
  h(
    "button",
    {
      type: "button",
      class: "button small quiet remove",
      "aria-label": t("setting_remove"),
      title: t("setting_remove"),
      onclick: () => {
        const rows = row().parentElement;
        row().remove();
        changed(rows);
      },
    },
    "×",
  );
