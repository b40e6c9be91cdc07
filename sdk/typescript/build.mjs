// Compiles the package into dist/, and prints what it weighs in a page.
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));

/** What games of different appetites import, and the most that each may weigh. */
const APPETITES = [
  { what: "everything", source: `export * from "./dist/index.js";`, kibibytesMax: 20 },
  { what: "a client", source: `export { Client } from "./dist/index.js";`, kibibytesMax: 18 },
  { what: "storage alone", source: `export { Requests, Session, Storage } from "./dist/index.js";`, kibibytesMax: 6 },
];

await rm(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`], { cwd: root, stdio: "inherit" });

for (const { what, source, kibibytesMax } of APPETITES) {
  const stdin = { contents: source, resolveDir: root };
  const options = { stdin, bundle: true, minify: true, write: false, format: "esm", target: "es2022", platform: "neutral", legalComments: "none" };
  const bytes = (await build(options)).outputFiles[0].contents;
  const kibibytes = gzipSync(bytes, { level: 9 }).length / 1024;
  console.log(`${what}: ${(bytes.length / 1024).toFixed(1)} KiB, ${kibibytes.toFixed(1)} KiB in gzip`);
  if (kibibytes > kibibytesMax) throw new Error(`${what} weighs more than ${kibibytesMax} KiB in gzip`);
}
