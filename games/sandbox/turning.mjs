// Runs the golden run of the sandbox as a WASM module, and compares the hash of every tick with the recorded one.
//
//   node games/sandbox/turning.mjs MODULE.wasm
//
// The module is the example `sandbox-turning`, built for wasm32-unknown-unknown.

import { readFile } from "node:fs/promises";

const [path] = process.argv.slice(2);
const golden = await readFile(new URL("rules/tests/golden/turning-600.txt", import.meta.url), "utf8");
const recorded = golden.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const { instance } = await WebAssembly.instantiate(await readFile(path), {});
for (const [index, expected] of recorded.entries()) {
  const found = BigInt.asUintN(64, instance.exports.sandbox_turning_hash(index + 1)).toString(16).padStart(16, "0");
  if (found === expected) continue;
  console.error(`sandbox: the hash after tick ${index + 1} is ${found}, and ${expected} natively; the rules differ between platforms`);
  process.exit(1);
}
if (recorded.length === 0) throw new Error("the golden file has no hashes");
console.log(`sandbox: ${recorded.length} ticks with the recorded hashes`);
