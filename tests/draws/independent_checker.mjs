// Checks a draw: node independent_checker.mjs FILE. Written from the text of fairline-draw-1, not from Fairline's code.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const { draw, entries, receipt } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const bytes = (hex) => Buffer.from(hex ?? "", "hex");
const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const hmac = (key, ...parts) => createHmac("sha256", key).update(Buffer.concat(parts)).digest();
const same = (found, hex) => found.toString("hex") === hex;
const node = (left, right) => sha256(Buffer.of(1), left, right);
function tree(leaves) {
  let split = 1; // the largest power of two below the count
  while (split * 2 < leaves.length) split *= 2;
  return leaves.length < 2 ? (leaves[0] ?? sha256()) : node(tree(leaves.slice(0, split)), tree(leaves.slice(split)));
}
const wrong = [];
const check = (name, right) => right || wrong.push(name);
const leaves = entries.map(([leaf]) => leaf);
const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
const key = hmac(bytes(draw.secret), bytes(draw.randomness), bytes(draw.root));
const value = (leaf) => hmac(key, bytes(leaf), Buffer.of(1)).toString("hex");
let order = []; // each level in turn goes ahead of its share of those with lower levels
for (const level of [0, 1, 2, 3]) {
  const own = entries.filter((entry) => entry[2] === level).sort(([, a], [, b]) => (a < b ? -1 : 1));
  const share = draw.priority_policy === "strict" ? 1 : draw.priority_skip[level];
  const at = order.length - Math.floor(share * order.length);
  order = [...order.slice(0, at), ...own, ...order.slice(at)];
}
const levels = Buffer.concat(sorted.map(([leaf, , level]) => Buffer.concat([bytes(leaf), Buffer.of(level)])));
const alone = draw.round === null || draw.randomness_missing !== null;
check("scheme", draw.scheme === "fairline-draw-1");
check("commitment", same(sha256(bytes(draw.secret)), draw.commitment));
check("count", entries.length === draw.count && new Set(leaves).size === draw.count);
check("root", same(tree(sorted.map(([leaf]) => bytes(leaf))), draw.root) && same(sha256(levels), draw.levels_hash));
check("randomness", draw.randomness === null ? alone : !alone && same(sha256(bytes(draw.signature)), draw.randomness));
check(
  "values",
  entries.every((entry) => value(entry[0]) === entry[1]) && order.every((each, at) => each === entries[at]),
);
if (receipt) {
  const leaf = sha256(Buffer.of(0), Buffer.from(receipt.label), Buffer.of(0), bytes(receipt.nonce));
  const up = (at, [side, hash]) => (side === "left" ? node(bytes(hash), at) : node(at, bytes(hash)));
  const [listed, , level] = entries[receipt.rank - 1] ?? [];
  check("receipt", same(leaf, receipt.leaf) && listed === receipt.leaf && level === receipt.level);
  check("receipt", same(receipt.path.reduce(up, leaf), draw.root) && value(receipt.leaf) === receipt.value);
  check("receipt", receipt.draw === draw.id && receipt.count === draw.count);
}
console.log(wrong.length ? `wrong: ${wrong.join(", ")}` : "right");
process.exitCode = wrong.length ? 1 : 0;
