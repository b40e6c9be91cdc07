// Compiles the package into dist/ and prints its size in a page.
import { execFileSync } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));

/** Typical imports, and the maximum size of each in gzip. Rooms include the WASM core. */
const BUNDLES = [
  { name: "everything", source: `export * from "./dist/index.js";`, kilobytesMax: 150, hasCore: true },
  { name: "a client", source: `export { Client } from "./dist/index.js";`, kilobytesMax: 150, hasCore: true },
  { name: "storage alone", source: `export { Requests, Session, Storage } from "./dist/index.js";`, kilobytesMax: 6, hasCore: false },
];

const packed = (bytes) => gzipSync(bytes, { level: 9 }).length / 1000;
const shown = (kilobytes) => `${kilobytes.toFixed(1)} kB`;

await rm(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`], { cwd: root, stdio: "inherit" });

const core = await readFile(`${root}wasm/aether_client_web_bg.wasm`);
for (const { name, source, kilobytesMax, hasCore } of BUNDLES) {
  const stdin = { contents: source, resolveDir: root };
  const options = { stdin, bundle: true, minify: true, write: false, format: "esm", target: "es2022", platform: "neutral", legalComments: "none" };
  const script = packed((await build(options)).outputFiles[0].contents);
  const weight = hasCore ? script + packed(core) : script;
  console.log(`${name} in gzip: ${shown(script)} of script${hasCore ? ` and ${shown(packed(core))} of WASM, ${shown(weight)} together` : ""}`);
  if (weight > kilobytesMax) throw new Error(`${name}: ${weight.toFixed(1)} kB in gzip exceed the limit of ${kilobytesMax} kB`);
}
