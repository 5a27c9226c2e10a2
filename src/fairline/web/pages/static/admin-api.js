// The operators' API, with the session cookie in place of a key, and one stream of live events.

import { known, lang, t } from "./admin-text.js";

const BASE = "/api/v1/admin";

export const page = JSON.parse(document.getElementById("fairline").textContent);
const ORDER = ["viewer", "operator", "admin"];
export const may = (role) => ORDER.indexOf(page.staff?.role) >= ORDER.indexOf(role);
export const why = (role) => t("needs_role", { role: t(`role_${page.staff?.role}`), needed: t(`role_${role}`) });

/** What the server says of a refusal is in English. In the other languages the frequent ones have words here. */
function saying({ code, detail, title }) {
  if (lang !== "en" && known(`problem_${code}`)) return t(`problem_${code}`);
  return detail ?? title ?? t("no_answer");
}

/** The server refused a call, or did not answer. */
export class Refused extends Error {
  constructor(status, problem) {
    super(saying(problem));
    this.status = status;
    this.code = problem.code ?? "unreachable";
    this.field = problem.field;
  }
}

const listeners = new Set();
/** Call a function when a call is refused because the session has ended. */
export const onSignedOut = (call) => listeners.add(call);

/** Make a call. Returns `{data, version}`, or throws Refused. */
export async function call(method, path, body, headers = {}) {
  let answer;
  try {
    answer = await fetch(BASE + path, {
      method,
      headers: {
        Accept: "application/json",
        "X-Fairline-Admin": "1",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new Refused(0, {});
  }
  const text = await answer.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    data = { detail: t("not_json") };
  }
  if (!answer.ok) {
    if (answer.status === 401) for (const listener of listeners) listener();
    throw new Refused(answer.status, data ?? {});
  }
  return { data, version: answer.headers.get("etag") };
}

export const get = async (path) => (await call("GET", path)).data;
export const post = async (path, body = {}, headers) => (await call("POST", path, body, headers)).data;
export const remove = async (path, headers) => (await call("DELETE", path, undefined, headers)).data;
export const queuePath = (queue, rest = "") => `/queues/${encodeURIComponent(queue)}${rest}`;

const SILENT_SECONDS = 13;
const HIDDEN_SECONDS = 60;

/**
 * A stream of live events. It reconnects automatically, and closes while the page is hidden. `on.now` and `on.event`
 * get the messages. `on.state` gets "live", "lost" (with the time since when) or "ended" (with a code).
 */
export class Live {
  constructor(path, on) {
    this.path = path;
    this.on = on;
    this.heardAt = Date.now();
    this.tries = 0;
    this.lostAt = null;
    this.open();
    setInterval(() => this.look(), 1000);
    document.addEventListener("visibilitychange", () => this.visible());
    addEventListener("online", () => this.again(0));
    addEventListener("offline", () => {
      this.close();
      this.lost();
      this.again(3);
    });
  }

  open() {
    this.close();
    clearTimeout(this.timer);
    this.source = new EventSource(BASE + this.path);
    const hear = (name, tell) =>
      this.source.addEventListener(name, (event) => {
        this.heardAt = Date.now();
        tell(JSON.parse(event.data));
      });
    hear("now", (data) => {
      this.live();
      this.on.now(data);
    });
    hear("event", (data) => this.on.event?.(data));
    hear("left_out", (data) => this.on.leftOut?.(data));
    hear("away", () => {
      this.lost("store");
    });
    hear("ended", (data) => this.refused(data.code));
    this.source.onerror = () => {
      this.lost();
      if (this.source?.readyState === EventSource.CLOSED) this.ask();
    };
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  /** A refused stream does not say why it was refused; a plain call does. */
  async ask() {
    this.close();
    try {
      await get(this.path);
      this.again(1);
    } catch (error) {
      if (error.status === 401 || error.status === 404) this.refused(error.code);
      else this.again();
    }
  }

  refused(code) {
    if (code === "store_unavailable") return;
    this.ended = true;
    this.close();
    clearTimeout(this.timer);
    this.on.state("ended", code);
  }

  again(seconds = Math.min(10, 1 + this.tries++)) {
    if (this.ended) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), seconds * 1000 + Math.random() * 300);
  }

  live() {
    this.tries = 0;
    this.lostAt = null;
    this.on.state("live");
  }

  lost(what = "server") {
    if (this.ended) return;
    this.lostAt ??= Date.now();
    this.missing = what;
    this.on.state("lost", { since: this.lostAt, what });
  }

  look() {
    if (this.lostAt) this.lost(this.missing);
    if (this.ended || !this.source || document.hidden) return;
    if (Date.now() - this.heardAt > SILENT_SECONDS * 1000) {
      this.heardAt = Date.now();
      this.lost();
      this.open();
    }
  }

  visible() {
    clearTimeout(this.hiding);
    if (document.hidden) this.hiding = setTimeout(() => this.close(), HIDDEN_SECONDS * 1000);
    else if (!this.source && !this.ended) this.again(0);
  }
}
