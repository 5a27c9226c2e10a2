// Sends one press of a button at a time. A press without an answer is sent again, and is never done twice.

import { get, post, queuePath } from "./admin-api.js";

/** A press that had no answer when the page was closed is sent again within this time. */
const REMEMBERED_SECONDS = 120;
const LONGEST_PAUSE_SECONDS = 4;

/** Whether it is unknown if the press was done. Every other error is an answer. */
const unanswered = (error) => [0, 502, 504].includes(error.status) || error.code === "store_unavailable";

export const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** What a press can change of a ticket. Heartbeats change none of it. */
export const changeable = (ticket) =>
  JSON.stringify([
    ticket.status,
    ticket.on_hold,
    ticket.desk,
    ticket.admitted_at,
    ticket.started_at,
    ticket.ended_at,
    ticket.priority,
    ticket.status === "admitted" ? ticket.deadline : null,
  ]);

/**
 * A press is `{title, path, body}`, and either `key` (by which the server knows a repeated press), or `ticket` and
 * `seen` (it is repeated only if the ticket has not changed since), or neither if a repeat changes nothing.
 */
export class Presses {
  constructor(queue, on) {
    this.queue = queue;
    this.on = on;
    this.place = `fairline-press:${queue}`;
    this.now = null;
    addEventListener("online", () => this.hurry());
  }

  /** The press that had no answer when the page was closed; `late` if that is too long ago to send it again. */
  left() {
    const kept = this.read();
    if (!kept) return null;
    this.keep(null);
    return { ...kept, late: Date.now() - kept.at > REMEMBERED_SECONDS * 1000 };
  }

  /** Send a press; null while another is under way. Returns the answer, or throws the refusal. */
  async send(press, again = false) {
    if (this.now) return null;
    this.now = { ...press, at: press.at ?? Date.now() };
    this.stopped = false;
    this.keep(this.now);
    this.on.busy(this.now);
    try {
      return await this.until(this.now, again ? 1 : 0);
    } finally {
      this.now = null;
      this.keep(null);
      this.on.busy(null);
    }
  }

  async until(press, tries) {
    for (; ; tries += 1) {
      try {
        return await this.once(press, tries > 0);
      } catch (error) {
        if (!unanswered(error)) throw error;
        if (this.stopped) return { stopped: true };
        this.on.trouble(press, error, tries);
        await this.pause(Math.min(LONGEST_PAUSE_SECONDS, 0.5 * 2 ** tries));
        if (this.stopped) return { stopped: true };
      }
    }
  }

  async once(press, again) {
    if (again && press.ticket) {
      const ticket = await get(queuePath(this.queue, `/tickets/${press.ticket}`));
      if (changeable(ticket) !== press.seen) return { data: ticket, again };
    }
    const data = await post(
      queuePath(this.queue, press.path),
      press.body ?? {},
      press.key ? { "Idempotency-Key": press.key } : {},
    );
    return { data, again };
  }

  /** Stop trying. The line shows whether the press was done. */
  stop() {
    this.stopped = true;
    this.hurry();
  }

  /** The connection is back: try again now. */
  hurry() {
    this.wake?.();
  }

  pause(seconds) {
    return new Promise((go) => {
      const timer = setTimeout(go, seconds * 1000);
      this.wake = () => {
        clearTimeout(timer);
        go();
      };
    });
  }

  // A tablet that is reloaded, or loses power for a moment, still has the key of its press.
  keep(press) {
    try {
      if (press) sessionStorage.setItem(this.place, JSON.stringify(press));
      else sessionStorage.removeItem(this.place);
    } catch {
      // Without storage only this page remembers the press.
    }
  }

  read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.place));
    } catch {
      return null;
    }
  }
}
