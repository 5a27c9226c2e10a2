// Numbers, times and events in words. Times are in the reader's time zone.

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const precise = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 4 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const full = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

export const number = (value) =>
  value === null || value === undefined
    ? "–"
    : Math.abs(value) < 10 && value % 1
      ? fine.format(value)
      : whole.format(value);
export const plural = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const share = (value) => (value === null || value === undefined ? "–" : `${whole.format(value * 100)} %`);
export const timeOfDay = (at) => clock.format(new Date(at));
export const timeExact = (at) => exact.format(new Date(at));
export const dateTime = (at) => (at ? full.format(new Date(at)) : "–");

/** A duration in words: "40 seconds", "12 minutes", "2 h 5 min". */
export function duration(seconds, short = false) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (short) {
    if (s < 60) return `${s} s`;
    if (s < 3600) return s % 60 && s < 600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.round(s / 60)} min`;
  } else {
    if (s < 90) return plural(s, "second");
    if (s < 5400) return plural(Math.round(s / 60), "minute");
  }
  if (s < 86400 * 2) {
    const minutes = Math.round(s / 60);
    return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes / 60} h`;
  }
  return plural(Math.round(s / 86400), "day");
}

/** How long ago, or how long from now. */
export function ago(at, now = Date.now()) {
  const seconds = (now - new Date(at)) / 1000;
  if (seconds < -1) return `in ${duration(-seconds, true)}`;
  return seconds < 2 ? "just now" : `${duration(seconds, true)} ago`;
}

/** A field for the language of a person's notices. It starts with the browser's language, if `[code, name]` has it. */
export function languageField(languages) {
  const codes = languages.map(([code]) => code);
  const value = navigator.languages.map((each) => each.split("-")[0]).find((each) => codes.includes(each)) ?? codes[0];
  return { name: "language", label: "Language of notices", choices: languages, value };
}

/** The levels of priority, as choices of a field. */
export const LEVELS = ["1", "2", "3"].map((level) => [level, `Level ${level}`]);

export const STATUS = {
  active: { label: "Open", tone: "good" },
  paused: { label: "Paused", tone: "warn" },
  maintenance: { label: "Maintenance", tone: "bad" },
};
/** The badge of a queue: its status, and whether more people can join now. */
export const queueBadge = ({ status, takes_more: takesMore }) =>
  status === "active" && !takesMore ? { label: "Takes no more people", tone: "warn" } : STATUS[status];

export const STATE = {
  waiting: { label: "Waiting", tone: "info" },
  admitted: { label: "Let in, on the way", tone: "warn" },
  active: { label: "Inside", tone: "good" },
  completed: { label: "Done", tone: "" },
  expired: { label: "Left", tone: "" },
};

export const REASON = {
  heartbeat_timeout: "connection lost",
  cancelled: "cancelled",
  left: "left",
  claim_timeout: "did not come in time",
  no_show: "did not show up",
  session_timeout: "session timed out",
  terminated: "ended by staff",
  revoked: "revoked",
  transferred: "transferred to another queue",
  closed: "the day ended",
};

/** Kinds of events, for the filter and for the colour of the dot. */
export const KINDS = {
  join: { label: "Joins", types: ["joined", "prioritised", "put_on_hold", "released", "stepped_back", "moved"] },
  in: { label: "Let in and inside", types: ["admitted", "called", "recalled", "returned", "started", "reinstated"] },
  end: { label: "Done and left", types: ["completed", "expired", "transferred"] },
  set: { label: "Settings and other events", types: [] },
};

export const kindOf = (type) => Object.keys(KINDS).find((kind) => KINDS[kind].types.includes(type)) ?? "set";

/** What happened, as the rest of a sentence that starts with the ticket. */
export function eventWords(event) {
  const where = event.detail ? ` to ${event.detail}` : "";
  switch (event.type) {
    case "joined":
      return "joined the line";
    case "prioritised":
      return event.detail ? `was moved up to level ${event.detail}` : "was moved up";
    case "put_on_hold":
      return "was put on hold";
    case "released":
      return "is back in line";
    case "stepped_back":
      return event.detail ? `let ${plural(Number(event.detail), "person", "people")} go first` : "let others go first";
    case "nearly":
      return "is near the front of the line";
    case "moved":
      return "moved to another device";
    case "reinstated":
      return `came after all${event.detail ? `, to ${event.detail}` : ""}`;
    case "transferred":
      return event.detail ? `was transferred to ${event.detail.split(" ")[0]}` : "was transferred to another queue";
    case "admitted":
      return "was let in";
    case "called":
      return `was called${where}`;
    case "recalled":
      return `was called again${where}`;
    case "returned":
      return "was put back in line";
    case "started":
      return "is inside";
    case "completed":
      return "is done";
    case "expired":
      return REASON[event.detail] ? `left: ${REASON[event.detail]}` : "left";
    case "queue_created":
      return "Queue created";
    case "settings_changed":
      return "Settings changed";
    case "clock_stopped":
      return event.detail
        ? `The queue was stopped for ${duration(Number(event.detail))}: nobody lost a place`
        : "The queue was stopped: nobody lost a place";
    default:
      return event.type.replaceAll("_", " ");
  }
}

/** A setting's value as text. */
export function value(found) {
  if (found === null || found === undefined) return "unset";
  if (found === "") return "empty";
  if (typeof found === "boolean") return found ? "yes" : "no";
  if (typeof found === "number") return precise.format(found); // not rounded further: 0.04 is not 0
  const text = typeof found === "string" ? found : JSON.stringify(found);
  return text.length > 90 ? `${text.slice(0, 88)}…` : text;
}
