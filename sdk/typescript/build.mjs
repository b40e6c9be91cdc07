// Compiles the package into dist/ and prints its size in a page.
import { execFileSync } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));

/**
 * Typical imports, and the maximum size of each in gzip. Rooms include the WASM core, and leave out the socket, which a
 * client loads when it opens one.
 */
const BUNDLES = [
  { name: "everything", source: `export * from "./dist/index.js";`, kilobytesMax: 155, hasCore: true },
  { name: "a client", source: `export { Client } from "./dist/index.js";`, kilobytesMax: 155, hasCore: true },
  { name: "storage alone", source: `export { Requests, Session, Storage } from "./dist/index.js";`, kilobytesMax: 6, hasCore: false },
  { name: "the socket alone", source: `export { Requests, Session } from "./dist/index.js"; export * from "./dist/socket/open.js";`, kilobytesMax: 16, hasCore: false },
];

const packed = (bytes) => gzipSync(bytes, { level: 9 }).length / 1000;
const shown = (kilobytes) => `${kilobytes.toFixed(1)} kB`;

/** Chunk that a client loads when it opens the socket. */
const LATER = "dist/socket/open.js";

/** Returns the scripts of a bundle. With `splitting`, without the socket. */
async function bundled(stdin, splitting) {
  const size = { minify: true, format: "esm", target: "es2022", platform: "neutral", legalComments: "none" };
  const { outputFiles, metafile } = await build({ stdin, bundle: true, splitting, outdir: "bundle", write: false, metafile: true, ...size });
  const loaded = new Set();
  const load = (path) => {
    const { entryPoint, imports } = metafile.outputs[path];
    if (loaded.has(path) || (splitting && entryPoint === LATER)) return;
    loaded.add(path);
    for (const { path: next } of imports) if (next in metafile.outputs) load(next);
  };
  load(Object.keys(metafile.outputs).find((path) => metafile.outputs[path].entryPoint === "<stdin>"));
  return Buffer.concat(outputFiles.filter(({ path }) => [...loaded].some((name) => path.endsWith(name))).map(({ contents }) => contents));
}

await rm(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`], { cwd: root, stdio: "inherit" });

const core = await readFile(`${root}wasm/aether_client_web_bg.wasm`);
for (const { name, source, kilobytesMax, hasCore } of BUNDLES) {
  const stdin = { contents: source, resolveDir: root };
  const script = packed(await bundled(stdin, hasCore));
  const weight = hasCore ? script + packed(core) : script;
  console.log(`${name} in gzip: ${shown(script)} of script${hasCore ? ` and ${shown(packed(core))} of WASM, ${shown(weight)} together` : ""}`);
  if (weight > kilobytesMax) throw new Error(`${name}: ${weight.toFixed(1)} kB in gzip exceed the limit of ${kilobytesMax} kB`);
}
