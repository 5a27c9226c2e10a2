/**
 * The server as the browser client sees it: calls with the ticket's token, and what this browser keeps of its ticket.
 *
 * @typedef {object} Answer The status of a ticket, as the API answers it.
 * @property {"waiting"|"admitted"|"active"|"completed"|"expired"} status
 * @property {string} label
 * @property {number|null} position
 * @property {number} queue_length
 * @property {number|null} estimated_wait_seconds
 * @property {[number, number]|null} estimated_wait_range
 * @property {string} queue_status
 * @property {string} [reason]
 * @property {string} [message]
 * @property {string} [redirect_url]
 * @property {string} [session_token]
 * @property {string} [claim_before]
 * @property {number} [next_heartbeat_seconds]
 * @property {number} heartbeat_interval_seconds
 * @property {string} [held_until]
 * @property {string} [token]
 *
 * @typedef {Error & {code: string, status: number, retry: boolean, retryAfter?: number}} ClientError
 */

/** Seconds for an answer. */
const ANSWER = 15;
/** With these statuses the server asks to try again later. An answer that is not from our server is tried again too. */
const AGAIN = [408, 425, 429];
export const STATUSES = ["waiting", "admitted", "active", "completed", "expired"];

const random = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** Use storage; null if it is forbidden. What would be stored then lasts as long as the page. */
const recall = (/** @type {() => string|null} */ read) => {
  try {
    return read();
  } catch {
    return null;
  }
};

export class Server {
  #base;
  #queue;
  #id = random();
  /** The name of this line in this browser. */
  key;
  /** Whether the token is in a cookie. */
  cookies;
  /** @type {string|undefined} */
  token;
  /** Whether this browser may have a ticket. */
  known;
  /** How far this device's clock is ahead, in milliseconds. */
  skew = 0;

  /** @param {{queue: string, url?: string, token?: string, ticket?: false}} options */
  constructor({ queue, url, token, ticket }) {
    this.#base = (url ?? new URL(import.meta.url).origin).replace(/\/$/, "");
    this.#queue = queue;
    this.key = `fairline:${this.#base}:${queue}`;
    this.cookies = !token && new URL(this.#base, location.href).origin === location.origin;
    this.token = token;
    if (!this.cookies) this.token ??= recall(() => sessionStorage.getItem(this.key)) ?? undefined;
    this.known = !!this.token || (this.cookies && ticket !== false);
  }

  /** Send a heartbeat, which also returns the status; or join, if there is no ticket. `join` is what to send with it;
   *  false never joins. @returns {Promise<Answer>} */
  async ask(/** @type {object|false|undefined} */ join) {
    if (!this.known) return this.#join(join);
    try {
      return await this.#call("/api/v1/heartbeat", {});
    } catch (error) {
      const { status, code } = /** @type {ClientError} */ (error);
      // A person who moved to another device must not take a second place here.
      if (status !== 401 || !code || code === "token_moved" || join === false) throw error;
      // There is a token but no cookie was sent: this browser stores none.
      if (this.cookies && this.token && code === "token_missing") this.cookies = false;
      else this.forget();
      return this.ask(join);
    }
  }

  /** A person who has a place gets the same one. @returns {Promise<Answer>} */
  async #join(/** @type {object|false|undefined} */ join) {
    const client = this.cookies ? {} : { client_id: this.#clientId() };
    const answer = await this.#call(`/api/v1/queues/${encodeURIComponent(this.#queue)}/join`, { ...client, ...join });
    this.known = true;
    return answer;
  }

  /** Give up the place for good. */
  async leave() {
    await this.#call("/api/v1/leave", { final: true });
    this.forget();
  }

  /** Ask to keep the place for as long as the server does after a page was closed. The answer is not waited for. */
  sayClosed() {
    const body = { final: false, closed: true, ...(this.cookies ? {} : { token: this.token }) };
    navigator.sendBeacon(this.#url("/api/v1/leave"), JSON.stringify(body));
  }

  /** A new stream of the ticket's status. */
  stream() {
    return new EventSource(this.#url("/api/v1/stream", this.cookies ? {} : { token: this.token ?? "" }));
  }

  /** Forget the ticket. */
  forget() {
    this.token = undefined;
    this.known = false;
    recall(() => {
      sessionStorage.removeItem(this.key);
      return null;
    });
  }

  /** @returns {Promise<any>} */
  async #call(/** @type {string} */ path, /** @type {object} */ body) {
    const response = await fetch(this.#url(path), {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(this.token && !this.cookies && { Authorization: `Bearer ${this.token}` }),
      },
      body: JSON.stringify(body),
      credentials: this.cookies ? "same-origin" : "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(ANSWER * 1000),
    });
    if (!response.ok) throw this.#error(response, await response.json().catch(() => null));
    if (response.status === 204) return {};
    // Clocks differ: deadlines are shown by this device's. The date is up to two seconds old: the promise is no later
    // than the deadline. Another origin cannot read it.
    const date = Date.parse(response.headers.get("Date") ?? "");
    if (date) this.skew = Date.now() - date - 2000;
    const answer = await response.json();
    // For example, a network that people must sign in to answers every request with its own page.
    if (!STATUSES.includes(answer?.status)) throw new Error("The answer is not from the line.");
    if (answer.token) this.#keep(answer.token);
    return answer;
  }

  #error(/** @type {Response} */ response, /** @type {any} */ problem) {
    const error = new Error(problem?.detail ?? `HTTP ${response.status}`);
    const code = typeof problem?.code === "string" ? problem.code : ""; // without one, it is not from our server
    return Object.assign(error, {
      code,
      reason: problem?.reason,
      status: response.status,
      retry: !code || AGAIN.includes(response.status) || response.status >= 500,
      retryAfter: Number(response.headers.get("Retry-After")) || undefined,
    });
  }

  #url(/** @type {string} */ path, query = {}) {
    return `${this.#base}${path}?${new URLSearchParams({ queue: this.#queue, ...query })}`;
  }

  #keep(/** @type {string} */ token) {
    this.token = token;
    if (!this.cookies)
      recall(() => {
        sessionStorage.setItem(this.key, token);
        return null;
      });
  }

  /** A secret of this browser, by which a person gets the same place again. */
  #clientId() {
    const name = "fairline:client";
    const id = recall(() => localStorage.getItem(name)) ?? this.#id;
    recall(() => {
      localStorage.setItem(name, id);
      return null;
    });
    return id;
  }
}
