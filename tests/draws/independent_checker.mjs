// Checks a draw: node independent_checker.mjs FILE. Written from the text of fairline-draw-1, not from Fairline's code.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const { draw, entries, receipt } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const bytes = (hex) => Buffer.from(hex ?? "", "hex");
const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const hmac = (key, ...parts) => createHmac("sha256", key).update(Buffer.concat(parts)).digest();
const node = (left, right) => sha256(Buffer.of(1), left, right);
function tree(leaves) {
  if (leaves.length < 2) return leaves[0] ?? sha256();
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return node(tree(leaves.slice(0, split)), tree(leaves.slice(split)));
}
const wrong = [];
const check = (name, right) => right || wrong.push(name);
const leaves = entries.map(([leaf]) => leaf);
const sorted = [...leaves].sort();
const level = new Map(entries.map(([leaf, , level]) => [leaf, level]));
const key = hmac(bytes(draw.secret), bytes(draw.randomness), bytes(draw.root));
const value = (leaf) => hmac(key, bytes(leaf), Buffer.of(1)).toString("hex");

check("scheme", draw.scheme === "fairline-draw-1");
check("commitment", sha256(bytes(draw.secret)).toString("hex") === draw.commitment);
check("count", entries.length === draw.count && new Set(leaves).size === draw.count);
check("root", tree(sorted.map(bytes)).toString("hex") === draw.root);
check(
  "levels",
  sha256(Buffer.concat(sorted.map((leaf) => Buffer.concat([bytes(leaf), Buffer.of(level.get(leaf))])))).toString(
    "hex",
  ) === draw.levels_hash,
);
if (draw.randomness !== null)
  check("randomness", draw.round !== null && sha256(bytes(draw.signature)).toString("hex") === draw.randomness);
else check("randomness", draw.round === null || draw.randomness_missing !== null);
check(
  "values",
  entries.every(([leaf, found]) => value(leaf) === found),
);
const order = []; // each level in turn goes ahead of its share of those with lower levels
for (const each of [0, 1, 2, 3]) {
  const own = entries.filter((entry) => entry[2] === each).sort((a, b) => (a[1] < b[1] ? -1 : 1));
  const share = draw.priority_policy === "strict" ? 1 : draw.priority_skip[each];
  order.splice(order.length - Math.floor(share * order.length), 0, ...own);
}
check(
  "order",
  order.every((entry, at) => entry[0] === leaves[at]),
);
if (receipt) {
  const leaf = sha256(Buffer.of(0), Buffer.from(receipt.label), Buffer.of(0), bytes(receipt.nonce));
  const root = receipt.path.reduce(
    (at, [side, hash]) => (side === "left" ? node(bytes(hash), at) : node(at, bytes(hash))),
    leaf,
  );
  check("receipt: leaf", leaf.toString("hex") === receipt.leaf && receipt.leaf === leaves[receipt.rank - 1]);
  check("receipt: path", root.toString("hex") === draw.root);
  check("receipt: value", value(receipt.leaf) === receipt.value && level.get(receipt.leaf) === receipt.level);
  check("receipt: draw", receipt.draw === draw.id && receipt.count === draw.count);
}
console.log(wrong.length ? `wrong: ${wrong.join(", ")}` : "right");
process.exitCode = wrong.length ? 1 : 0;
