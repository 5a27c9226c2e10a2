/**
 * Checks a draw by the scheme fairline-draw-1, with nothing but SHA-256 and HMAC of the platform's Web Crypto. The page
 * of a draw uses it; node can import it too.
 *
 *     import { check, CHECKS } from "./draw-check.js";
 *     const results = await check({ draw, entries, receipt });
 *     // [{ name: "commitment", ok: true }, …]; `problem` says what was found where it is not
 *
 * `draw` is the answer of GET /api/v1/draws/{id}, `entries` that of its `entries_url`, and `receipt`, which may be left
 * out, that of GET /api/v1/draw/receipt.
 */

export const SCHEME = "fairline-draw-1";
/** The checks, in the order in which they are made. The second list is made where there is a receipt. */
export const CHECKS = ["scheme", "commitment", "count", "root", "levels", "randomness", "values", "order"];
export const RECEIPT_CHECKS = ["draw", "leaf", "path", "value", "rank"];

/** How many hashes are under way at once. */
const AT_ONCE = 1000;
const HASH = /^[0-9a-f]{64}$/,
  NONCE = /^[0-9a-f]{32}$/,
  HEX = /^([0-9a-f]{2})+$/;

const { subtle } = globalThis.crypto ?? {};

/** Whether this browser can check: without https it cannot. */
export const canCheck = () => !!subtle;

export const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
export const hex = (found) => Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("");
const text = (string) => new TextEncoder().encode(string);

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The hash of many parts: a list may have more of them than a call may have arguments. */
const hashOf = async (parts) => new Uint8Array(await subtle.digest("SHA-256", joined(parts)));
const sha256 = (...parts) => hashOf(parts);

const keyOf = (secret) => subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const hmac = async (key, ...parts) => new Uint8Array(await subtle.sign("HMAC", key, joined(parts)));

const ZERO = Uint8Array.of(0),
  ONE = Uint8Array.of(1);
const node = (left, right) => sha256(ONE, left, right);

/** Do something with each of many, some of them at once. `tell` is given how many more are done. */
async function forEach(many, act, tell) {
  const found = [];
  for (let first = 0; first < many.length; first += AT_ONCE) {
    const some = many.slice(first, first + AT_ONCE);
    found.push(...(await Promise.all(some.map(act))));
    tell(some.length);
  }
  return found;
}

/** The root of the tree over leaves in ascending order: that of RFC 6962. */
async function rootOf(leaves, tell) {
  if (!leaves.length) return sha256(new Uint8Array());
  let level = leaves;
  while (level.length > 1) {
    const pairs = [];
    for (let at = 0; at + 1 < level.length; at += 2) pairs.push([level[at], level[at + 1]]);
    const above = await forEach(pairs, ([left, right]) => node(left, right), tell);
    if (level.length % 2) above.push(level.at(-1));
    level = above;
  }
  return level[0];
}

/** The entries in the order in which they must be: within a level by value; a higher level goes ahead of all others, or
 *  of its share of them. */
export function ordered(entries, policy, skip) {
  const order = [];
  for (let level = 0; level <= 3; level++) {
    const members = entries.filter((entry) => entry[2] === level).sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0));
    if (!members.length) continue;
    const share = policy === "strict" ? 1 : skip[level];
    const at = order.length - Math.trunc(share * order.length);
    const behind = order.splice(at);
    for (const part of [members, behind]) for (const each of part) order.push(each);
  }
  return order;
}

const isEntry = (entry) =>
  Array.isArray(entry) &&
  entry.length === 3 &&
  HASH.test(entry[0]) &&
  HASH.test(entry[1]) &&
  Number.isInteger(entry[2]) &&
  entry[2] >= 0 &&
  entry[2] <= 3;

/** Check a draw, and a receipt if there is one. `onStep` is given how much is done, from 0 to 1. */
export async function check({ draw, entries, receipt }, onStep = () => {}) {
  const results = [];
  const steps = 2 * (entries?.length ?? 0) || 1;
  let done = 0;
  const tell = (more) => {
    done += more;
    onStep(Math.min(1, done / steps));
  };
  /** Make a check; what it returns is what is wrong, if anything is. */
  const make = async (name, find) => {
    let problem;
    try {
      problem = await find();
    } catch (error) {
      problem = String(error?.message ?? error);
    }
    results.push(problem ? { name, ok: false, problem } : { name, ok: true });
  };
  const differs = (found, said) => (found === said ? "" : `${found} is not ${said}`);

  const list = Array.isArray(entries) && entries.every(isEntry) ? entries : null;
  const unreadable = list ? "" : "the list is not one of entries";
  const randomness = draw.randomness ? bytes(draw.randomness) : new Uint8Array();
  const drawn = HASH.test(draw.secret ?? "") && HASH.test(draw.root ?? "");
  const prk = drawn && (await keyOf(await hmac(await keyOf(bytes(draw.secret)), randomness, bytes(draw.root))));
  const valueFor = async (leaf) => hex(await hmac(prk, bytes(leaf), ONE));

  await make("scheme", () => {
    if (draw.scheme !== SCHEME) return `the scheme is ${draw.scheme}`;
    if (!drawn) return "the order has not been drawn yet";
    return "";
  });
  await make("commitment", async () => drawn && differs(hex(await sha256(bytes(draw.secret))), draw.commitment));
  await make("count", () => {
    if (unreadable) return unreadable;
    if (list.length !== draw.count) return `there are ${list.length} entries, not ${draw.count}`;
    const leaves = new Set(list.map(([leaf]) => leaf));
    return leaves.size === list.length ? "" : "an entry is in the list twice";
  });
  await make("root", async () => {
    if (unreadable) return unreadable;
    const sorted = [...list].sort(([a], [b]) => (a < b ? -1 : 1));
    const leaves = sorted.map(([leaf]) => bytes(leaf));
    const levels = sorted.map(([, , level]) => Uint8Array.of(level));
    const fixed = leaves.flatMap((leaf, at) => [leaf, levels[at]]);
    return differs(hex(await rootOf(leaves, tell)), draw.root) || differs(hex(await hashOf(fixed)), draw.levels_hash);
  });
  await make("levels", async () => {
    if (unreadable) return unreadable;
    const parts = [...list]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([leaf, , level]) => [bytes(leaf), Uint8Array.of(level)]);
    return differs(hex(await sha256(...parts.flat())), draw.levels_hash);
  });
  await make("randomness", async () => {
    const { round, signature } = draw;
    if (round === null) return draw.randomness === null && signature === null ? "" : "it names no round";
    if (draw.randomness === null)
      return draw.randomness_missing && signature === null ? "" : "it is missing, and nothing says why";
    if (!HEX.test(signature ?? "")) return "there is no signature";
    return differs(hex(await sha256(bytes(signature))), draw.randomness);
  });
  await make("values", async () => {
    if (unreadable) return unreadable;
    if (draw.randomness && hex(await sha256(bytes(draw.signature ?? ""))) !== draw.randomness) {
      return "the randomness is not the SHA-256 of its signature";
    }
    const values = await forEach(list, ([leaf]) => valueFor(leaf), tell);
    const wrong = values.findIndex((value, at) => value !== list[at][1]);
    return wrong < 0 ? "" : `the value at place ${wrong + 1} is wrong`;
  });
  await make("order", () => {
    if (unreadable) return unreadable;
    const right = ordered(list, draw.priority_policy, draw.priority_skip ?? []);
    const wrong = list.findIndex((entry, at) => entry !== right[at]);
    return wrong < 0 ? "" : `the entry at place ${wrong + 1} does not belong there`;
  });
  if (receipt) {
    await make("draw", () =>
      receipt.draw === draw.id && receipt.count === draw.count ? "" : `the receipt is for the draw ${receipt.draw}`,
    );
    await make("leaf", async () => {
      if (!NONCE.test(receipt.nonce) || !/^[1-9]\d*$/.test(receipt.label)) return "the number or the nonce is none";
      return differs(hex(await sha256(ZERO, text(receipt.label), ZERO, bytes(receipt.nonce))), receipt.leaf);
    });
    await make("path", async () => {
      let found = bytes(receipt.leaf);
      for (const [side, sibling] of receipt.path) {
        if (side !== "left" && side !== "right") return `a side of the path is ${side}`;
        found = await (side === "left" ? node(bytes(sibling), found) : node(found, bytes(sibling)));
      }
      return differs(hex(found), draw.root);
    });
    await make("value", async () => differs(await valueFor(receipt.leaf), receipt.value));
    await make("rank", () => {
      if (unreadable) return unreadable;
      const [leaf, value, level] = list[receipt.rank - 1] ?? [];
      return leaf === receipt.leaf && value === receipt.value && level === receipt.level
        ? ""
        : `another entry is at place ${receipt.rank}`;
    });
  }
  onStep(1);
  return results;
}
