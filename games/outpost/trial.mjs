// Runs the trial of a game's rules as a WASM module, and compares its hash with the pinned one.
//
//   node games/outpost/trial.mjs MODULE.wasm EXPORT SEED TICKS HASH
//
// The modules are the examples `outpost-trial` and `arena-trial`, built for wasm32-unknown-unknown. The pinned hashes are
// in the tests of the same name.

import { readFile } from "node:fs/promises";

const [path, name, seed, ticks, expected] = process.argv.slice(2);
if (expected === undefined) {
  console.error("usage: node trial.mjs MODULE.wasm EXPORT SEED TICKS HASH");
  process.exit(2);
}
const { instance } = await WebAssembly.instantiate(await readFile(path), {});
const started = performance.now();
const hash = BigInt.asUintN(64, instance.exports[name](BigInt(seed), Number(ticks)));
const milliseconds = (performance.now() - started).toFixed(0);
const found = hash.toString(16).padStart(16, "0");
console.log(`${name}: ${found} after ${ticks} ticks, in ${milliseconds} ms`);
if (found !== expected) {
  console.error(`${name}: the native hash is ${expected}; the rules differ between platforms`);
  process.exit(1);
}
