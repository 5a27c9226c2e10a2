// Priority passes, which let people move ahead in line.

import { get, post, remove } from "./admin-api.js";
import { ask, confirm, h, secret, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { dateTime, LEVELS, number } from "./admin-words.js";

export class Passes {
  constructor(queue, panel) {
    this.queue = queue;
    this.panel = panel;
    this.body = h("div");
    panel.append(
      h(
        "div",
        { class: "bar" },
        h(
          "p",
          { class: "note grow" },
          "A person who joins with a pass moves ahead, as far as the queue's settings allow.",
        ),
        h(
          "button",
          {
            type: "button",
            class: "button",
            "data-do": "issue",
            "data-needs": "operator",
            onclick: () => this.issue(),
          },
          "Issue a pass",
        ),
      ),
      h("section", { class: "card", "aria-label": "Passes" }, this.body),
    );
  }

  opened() {
    this.load();
  }

  async load() {
    try {
      const { passes } = await get(this.queue.path("/passes"));
      this.body.replaceChildren(
        table(
          "Passes",
          ["Pass", "Level", "Used", "Expires", ""],
          passes.map((pass) => [
            h("code", {}, pass.id),
            number(pass.level),
            `${number(pass.used)} of ${number(pass.uses)}`,
            dateTime(pass.expires_at),
            h(
              "button",
              {
                type: "button",
                class: "button small quiet bad",
                "data-needs": "operator",
                onclick: () => this.withdraw(pass),
              },
              "Withdraw",
            ),
          ]),
          "There are no valid passes.",
        ),
      );
      guard(this.body);
    } catch (error) {
      this.body.replaceChildren(h("p", { class: "wrong" }, error.message));
    }
  }

  issue() {
    ask(
      "Issue a pass",
      [
        {
          name: "level",
          label: "Level",
          choices: LEVELS,
          value: "2",
        },
        {
          name: "uses",
          label: "Number of uses",
          kind: "number",
          min: 1,
          max: 1_000_000,
          value: 1,
          required: true,
        },
        {
          name: "hours",
          label: "Valid for (hours)",
          kind: "number",
          min: 1,
          max: 8760,
          value: 24,
          required: true,
        },
      ],
      "Issue",
      async ({ level, uses, hours }) => {
        const issued = await post(this.queue.path("/passes"), {
          level: Number(level),
          uses,
          expires_in_seconds: hours * 3600,
        });
        secret("The pass", issued.pass, "Give it to the person who should move ahead. It is shown only once.");
        this.load();
      },
    );
  }

  async withdraw(pass) {
    if (
      !(await confirm(
        "Withdraw this pass?",
        "It stops working at once. People who have used it keep their places.",
        "Withdraw",
      ))
    )
      return;
    try {
      await remove(this.queue.path(`/passes/${encodeURIComponent(pass.id)}`));
      toast("Withdrawn.");
      this.load();
    } catch (error) {
      toast(error.message, "bad");
    }
  }
}
