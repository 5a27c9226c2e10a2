/**
 * The browser client of Fairline: it takes a place in a line, keeps it, and reports how it moves.
 *
 *     import {WaitingRoomClient} from "https://line.example/static/fairline.js";
 *     const onAdmitted = (url) => location.replace(url);
 *     new WaitingRoomClient({queue: "sale", onPositionUpdate: console.log, onAdmitted}).start();
 *
 * What it says to the server is in fairline-server.js, which it imports.
 *
 * On the server's own pages the ticket's token is in a cookie that no script can read. Elsewhere it is stored for the
 * tab.
 *
 * @typedef {import("./fairline-server.js").Answer} Answer
 * @typedef {"live"|"polling"|"lost"|"offline"} Connection
 * @typedef {import("./fairline-server.js").ClientError} ClientError
 *
 * @typedef {object} Options
 * @property {string} queue The queue's id.
 * @property {string} [url] The server; by default the one that this file comes from.
 * @property {string} [token] A ticket's token, if the site has joined for the person already.
 * @property {false} [ticket] False: this browser has none yet, so the client joins without a heartbeat first.
 * @property {object|false} [join] What to send with a join: user_token, user_id, priority_pass, name, phone, email,
 *   language, party_size, series, group, metadata. False never joins: the ticket was taken elsewhere, as in a walk-in
 *   line, and closing the page gives up nothing.
 * @property {boolean} [stream] False uses heartbeats only.
 * @property {(position: number, length: number, wait: number|null, answer: Answer) => void} [onPositionUpdate]
 * @property {(url: string, sessionToken: string, answer: Answer) => void} [onAdmitted]
 * @property {(answer: Answer) => void} [onRecalled] Staff have called them again.
 * @property {(reason: string) => void} [onExpired]
 * @property {(error: ClientError) => void} [onError]
 * @property {(text: string) => void} [onMessage]
 * @property {(answer: Answer) => void} [onState] Every answer.
 * @property {(connection: Connection) => void} [onConnection]
 */

import { Server, STATUSES } from "./fairline-server.js";

/**
 * Seconds: without a message on a stream, until it is given up; until the page is told; until the first one; between
 * attempts to open a stream that fails; between attempts at most; and at most if the server names a time and there is
 * no place to lose.
 */
const SILENCE = 45,
  QUIET = 5,
  FIRST_WORD = 10,
  STREAM_AGAIN = 60,
  LONGEST = 30,
  LONGEST_TOLD = 3600;
const EVENTS = ["position", ...STATUSES.slice(1)];

/** About this many seconds, at random, so that clients that lost the connection together do not return together. */
const about = (/** @type {number} */ seconds) => seconds * (0.8 + 0.4 * Math.random());

export class WaitingRoomClient {
  /** @type {Options} */ #options;
  /** @type {Answer|undefined} */ #last;
  /** @type {EventSource|undefined} */ #source;
  /** @type {BroadcastChannel|undefined} */ #channel;
  /** @type {AbortController|undefined} */ #life;
  /** @type {Connection|undefined} */ #connection;
  /** @type {Server} */ #server;
  #timer = 0;
  #busy = false;
  #leads = false;
  #spoke = false;
  #failures = 0;
  #streamFailures = 0;
  #streamAgain = 0;
  #message = "";
  #heardAt = 0;
  #heldUntil = 0;
  #nextAt = 0;
  #quiet = 0;

  /** @param {Options} options */
  constructor(options) {
    this.#options = { stream: true, ...options };
    this.#server = new Server(options);
  }

  /** The last answer. */
  get answer() {
    return this.#last;
  }

  /** When the server last sent something, in milliseconds since 1970; 0 if never. */
  get heardAt() {
    return this.#heardAt;
  }

  /** Until when the place is kept at least, by this device's clock, in milliseconds since 1970; 0 if that is not known
   *  or has no end. */
  get heldUntil() {
    return this.#heldUntil;
  }

  /** When the server is asked next, in milliseconds since 1970. */
  get nextAt() {
    return this.#nextAt;
  }

  /** Take a place, or return to the one this browser has, and keep it. */
  start() {
    if (this.#life) return;
    this.#life = new AbortController();
    const { signal } = this.#life;
    for (const [target, type] of /** @type {[EventTarget, string][]} */ ([
      [document, "visibilitychange"],
      [window, "focus"],
      [window, "online"],
      [window, "pageshow"],
    ]))
      target.addEventListener(type, () => this.#wake(), { signal });
    window.addEventListener("offline", () => this.#tell("offline"), { signal });
    window.addEventListener("pagehide", () => this.#hide(), { signal });
    if ("BroadcastChannel" in window) {
      this.#channel = new BroadcastChannel(this.#server.key);
      this.#channel.onmessage = ({ data }) => this.#overhear(data);
      this.#say({ hello: true });
    }
    this.#takeTurn(signal);
  }

  /** Stop all calls. The place is kept for a while: start again, or reload, to return to it. */
  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#quiet);
    this.#life?.abort();
    this.#source?.close();
    this.#channel?.close();
    this.#life = this.#source = this.#channel = undefined;
    this.#leads = false;
  }

  /** Give up the place for good. */
  async leave() {
    this.stop();
    await this.#server.leave();
  }

  /** The place is being given up in another way, as by a form of the page: no tab of this browser may keep it. */
  left() {
    this.#say({ left: true });
    this.stop();
  }

  /** One tab of a browser talks to the server, and the others listen to it. When it closes, the next one takes over. */
  #takeTurn(/** @type {AbortSignal} */ signal) {
    const lead = () => {
      this.#leads = true;
      return this.#update();
    };
    if (!navigator.locks || !this.#channel) return void lead();
    this.#schedule(about(5));
    navigator.locks
      .request(
        this.#server.key,
        { signal },
        () =>
          new Promise((done) => {
            signal.addEventListener("abort", done);
            lead();
          }),
      )
      .catch(() => {}); // stopped before it could lead
  }

  /** Send a heartbeat, which also returns the status; or join, if there is no ticket. One request at a time. */
  async #update() {
    if (this.#busy || !this.#life) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    let next = 0;
    try {
      const answer = await this.#server.ask(this.#options.join);
      if (!this.#life) return;
      this.#failures = 0;
      this.#heard(answer);
      if (!this.#life) return;
      next = about(answer.next_heartbeat_seconds ?? answer.heartbeat_interval_seconds);
      if (this.#leads && this.#options.stream && Date.now() >= this.#streamAgain) next = this.#open();
      else this.#tell("polling");
    } catch (error) {
      next = this.#failed(/** @type {ClientError} */ (error));
    } finally {
      this.#busy = false;
    }
    if (this.#life) this.#schedule(next);
  }

  /** @returns {number} The seconds until the next try. */
  #failed(/** @type {any} */ error) {
    if (!this.#life) return 0;
    if (error.status === 410 && error.code) {
      this.#expired(error.reason);
      return 0;
    }
    // Without a status the server was not reached, or did not answer in time. That is an error of the browser, and some
    // of them cannot take a code.
    const unreachable = { code: "unreachable", status: 0, retry: true };
    const failed = error.status ? error : Object.assign(new Error(error.message, { cause: error }), unreachable);
    // A limit is an answer: the connection is there.
    if (failed.code === "rate_limited") this.#tell("polling");
    else if (failed.retry) this.#tell(navigator.onLine ? "lost" : "offline");
    else this.stop();
    this.#tellSite("onError", failed);
    const wait = Math.min(LONGEST, 2 ** this.#failures++);
    if (!failed.retryAfter) return about(wait);
    return Math.min(failed.retryAfter, this.#server.known ? LONGEST : LONGEST_TOLD) * (1 + 0.4 * Math.random());
  }

  /** The stream is faster, and counts as a heartbeat while it is open. @returns {number} */
  #open() {
    if (!this.#source) {
      const source = this.#server.stream();
      this.#source = source;
      this.#spoke = false;
      const on = (/** @type {string} */ type, /** @type {(data: any) => void} */ act) =>
        source.addEventListener(type, (/** @type {any} */ event) => {
          if (source !== this.#source) return;
          this.#spoke = true;
          this.#streamFailures = 0;
          this.#tell(type === "away" ? "lost" : "live");
          this.#listen();
          this.#schedule(SILENCE);
          act(event.data && JSON.parse(event.data));
        });
      for (const type of EVENTS) on(type, (answer) => this.#heard(answer));
      on("message", ({ text }) => this.#tellMessage(text));
      on("recalled", (answer) => {
        this.#heard(answer);
        this.#tellSite("onRecalled", answer);
      });
      on("moved", () => {
        this.#drop();
        this.#schedule(0);
      });
      on("away", () => {});
      on("alive", (news) => this.#last && this.#heard({ ...this.#last, ...news }));
      source.onerror = () => source === this.#source && this.#drop();
    }
    return FIRST_WORD;
  }

  /** The server says something every few seconds: a page that hears nothing is not up to date, though the stream may
   *  still go on. */
  #listen() {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#source && this.#tell(navigator.onLine ? "lost" : "offline"), QUIET * 1000);
  }

  /** The stream has ended or is silent: send a heartbeat, and open another one. */
  #drop() {
    clearTimeout(this.#quiet);
    this.#source?.close();
    this.#source = undefined;
    // One without any message may be blocked on the way for good; heartbeats get through.
    if (!this.#spoke && ++this.#streamFailures >= 2) this.#streamAgain = Date.now() + about(STREAM_AGAIN) * 1000;
    this.#schedule(this.#spoke ? about(1.5) : 0);
  }

  #heard(/** @type {Answer} */ answer) {
    this.#heardAt = Date.now();
    this.#pass(answer);
    this.#take(answer);
  }

  #take(/** @type {Answer} */ answer) {
    this.#last = answer;
    this.#server.known ||= this.#server.cookies;
    const held = answer.status === "waiting" ? Date.parse(answer.held_until ?? "") : 0;
    this.#heldUntil = held ? held + this.#server.skew : 0;
    this.#tellSite("onState", answer);
    this.#tellMessage(answer.message ?? "");
    if (answer.status === "waiting") {
      this.#tellSite(
        "onPositionUpdate",
        answer.position ?? 0,
        answer.queue_length,
        answer.estimated_wait_seconds,
        answer,
      );
    } else if (answer.status === "admitted") {
      if (answer.redirect_url) this.stop();
      this.#tellSite("onAdmitted", answer.redirect_url ?? "", answer.session_token ?? "", answer);
    } else if (answer.status === "expired") this.#expired(answer.reason);
  }

  #expired(reason = "") {
    this.stop();
    this.#server.forget();
    this.#tellSite("onExpired", reason);
  }

  #tellMessage(/** @type {string} */ text) {
    if (text === this.#message) return;
    this.#message = text;
    this.#tellSite("onMessage", text);
  }

  #tell(/** @type {Connection} */ connection) {
    if (connection === this.#connection) return;
    this.#connection = connection;
    this.#say({ connection });
    this.#tellSite("onConnection", connection);
  }

  /** An error in the site's own function is reported as an error of the page, and the place is kept. */
  #tellSite(/** @type {`on${string}`} */ name, /** @type {any[]} */ ...news) {
    try {
      /** @type {any} */ (this.#options)[name]?.(...news);
    } catch (error) {
      setTimeout(() => {
        throw error;
      });
    }
  }

  // The other tabs

  #say(/** @type {object} */ what) {
    this.#channel?.postMessage(what);
  }

  #pass(/** @type {Answer} */ answer) {
    this.#say({ answer, at: this.#heardAt, skew: this.#server.skew, connection: this.#connection });
  }

  #overhear(/** @type {any} */ said) {
    if (said.hello && this.#leads && this.#last) this.#pass(this.#last);
    if (said.left && this.#life) {
      this.stop();
      return this.#tellSite("onExpired", "left");
    }
    if (this.#leads || !this.#life) return;
    if (said.connection) {
      this.#connection = said.connection;
      this.#tellSite("onConnection", said.connection);
    }
    if (said.skew !== undefined) this.#server.skew = said.skew;
    if (said.at) {
      this.#heardAt = said.at;
      this.#schedule(about(SILENCE));
    }
    if (said.answer) this.#take(said.answer);
  }

  // The tab

  /** The tab is visible again, or the network is back: ask for what was missed. */
  #wake() {
    if (!this.#life) return;
    if (document.visibilityState === "hidden") return this.#goAway(); // phones end hidden pages without a word
    if (this.#connection === "live" && Date.now() - this.#heardAt > QUIET * 1000) this.#tell("lost");
    if ((this.#leads && !this.#source) || this.#connection !== "live" || Date.now() - this.#heardAt > 20_000)
      this.#schedule(about(0.2));
  }

  /** The page closes, and has said so when it was hidden. An open stream would count as a heartbeat. */
  #hide() {
    clearTimeout(this.#timer);
    clearTimeout(this.#quiet);
    this.#source?.close();
    this.#source = undefined;
  }

  /** Ask the server to keep the place for as long as it does after a page was closed. */
  #goAway() {
    if (this.#last?.status !== "waiting" || this.#options.join === false) return;
    this.#server.sayClosed();
  }

  #schedule(/** @type {number} */ seconds) {
    clearTimeout(this.#timer);
    const wait = seconds >= 0 && seconds <= 2 * LONGEST_TOLD ? seconds : LONGEST; // an invalid time would fire at once
    this.#nextAt = Date.now() + wait * 1000;
    this.#timer = setTimeout(() => (this.#source ? this.#drop() : this.#update()), wait * 1000);
  }
}
