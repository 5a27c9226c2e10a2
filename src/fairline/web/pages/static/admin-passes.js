// Priority passes, which let people move ahead in line.

import { get, post, remove } from "./admin-api.js";
import { ask, confirm, h, redraw, secret, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { number, t } from "./admin-text.js";
import { dateTime, LEVELS } from "./admin-words.js";

export class Passes {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div");
    panel.append(
      h(
        "div",
        { class: "bar" },
        h("p", { class: "note grow" }, t("passes_lead")),
        h(
          "button",
          {
            type: "button",
            class: "button",
            "data-do": "issue",
            "data-needs": "operator",
            onclick: () => this.issue(),
          },
          t("issue_pass"),
        ),
      ),
      h("section", { class: "card", "aria-label": t("tab_passes") }, this.body),
    );
  }

  opened() {
    this.load();
  }

  async load() {
    try {
      const { passes } = await get(this.queue.path("/passes"));
      redraw(
        this.body,
        table(
          t("tab_passes"),
          [t("pass"), t("level_field"), t("used"), t("expires"), ""],
          passes.map((pass) => [
            h("code", {}, pass.id),
            number(pass.level),
            t("used_of", { n: number(pass.used), all: number(pass.uses) }),
            dateTime(pass.expires_at),
            h(
              "button",
              {
                type: "button",
                class: "button small quiet bad",
                "data-needs": "operator",
                onclick: () => this.withdraw(pass),
              },
              t("withdraw"),
            ),
          ]),
          t("no_passes"),
        ),
      );
      guard(this.body);
    } catch (error) {
      this.body.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
  }

  issue() {
    ask(
      t("issue_pass"),
      [
        {
          name: "level",
          label: t("level_field"),
          choices: LEVELS,
          value: "2",
        },
        {
          name: "uses",
          label: t("uses"),
          kind: "number",
          min: 1,
          max: 1_000_000,
          value: 1,
          required: true,
        },
        {
          name: "hours",
          label: t("valid_hours"),
          kind: "number",
          min: 1,
          max: 8760,
          value: 24,
          required: true,
        },
      ],
      t("issue"),
      async ({ level, uses, hours }) => {
        const issued = await post(this.queue.path("/passes"), {
          level: Number(level),
          uses,
          expires_in_seconds: hours * 3600,
        });
        secret(t("the_pass"), issued.pass, t("pass_once"));
        this.load();
      },
    );
  }

  async withdraw(pass) {
    if (!(await confirm(t("withdraw_ask"), t("withdraw_text"), t("withdraw")))) return;
    try {
      await remove(this.queue.path(`/passes/${encodeURIComponent(pass.id)}`));
      toast(t("withdrawn"));
      this.load();
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
