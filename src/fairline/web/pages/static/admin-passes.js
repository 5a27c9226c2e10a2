// Priority passes: who may go ahead of others.

import { get, post, remove } from "./admin-api.js";
import { ask, confirm, h, secret, table, toast } from "./admin-dom.js";
import { guard } from "./admin-frame.js";
import { dateTime, number } from "./admin-words.js";

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
          "A person who joins with a pass moves ahead, as far as the queue's policy allows.",
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
          ["Pass", "Level", "Used", "Until", ""],
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
          "No pass is good at the moment.",
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
          choices: [
            ["1", "Level 1"],
            ["2", "Level 2"],
            ["3", "Level 3"],
          ],
          value: "2",
        },
        {
          name: "uses",
          label: "How often it can be used",
          kind: "number",
          min: 1,
          max: 1_000_000,
          value: 1,
          required: true,
        },
        {
          name: "hours",
          label: "Good for how many hours",
          kind: "number",
          min: 1,
          max: 8760,
          value: 24,
          required: true,
        },
      ],
      "Issue",
      async ({ level, uses, hours }) => {
        const made = await post(this.queue.path("/passes"), {
          level: Number(level),
          uses,
          expires_in_seconds: hours * 3600,
        });
        secret("The pass", made.pass, "Give it to the person who should move ahead. It is shown only this once.");
        this.load();
      },
    );
  }

  async withdraw(pass) {
    if (
      !(await confirm(
        "Withdraw this pass?",
        "It is useless at once. People who have used it keep their places.",
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
