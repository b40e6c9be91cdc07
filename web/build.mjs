// Bundles the pages into dist/. A release build of the program embeds them; other builds read them from there.
import { build } from "esbuild";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readBook } from "./book.mjs";
import { withParts } from "./parts.mjs";

/** Pages, with the same path here and in dist/. `/arena` shows `arena/index.html`. */
const PAGES = ["index.html", "arena/index.html", "outpost/index.html", "quilt/index.html", "sandbox/index.html", "lobby/index.html"];

const root = fileURLToPath(new URL(".", import.meta.url));
const dist = join(root, "dist");

/** Scripts and styles in a page's HTML. */
const SOURCES = /(?<=")\/(src\/[^"]+\.(?:ts|css))(?=")/g;

/** References to WASM files in modules. */
const WASM_ADDRESS = /new URL\(\s*(["'])([^"']+\.wasm)\1\s*,\s*import\.meta\.url\s*\)/g;

/** Copies the WASM files that modules refer to, with a hash in their names. */
const wasm = {
  name: "wasm",
  setup({ onLoad }) {
    onLoad({ filter: /\.(?:ts|js|mjs)$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const imports = [];
      const contents = source.replace(WASM_ADDRESS, (_whole, _quote, file) => {
        imports.push(`import wasmFile${imports.length} from ${JSON.stringify(file.replace(/^(?!\.)/, "./"))};\n`);
        return `new URL(wasmFile${imports.length - 1}, import.meta.url)`;
      });
      if (imports.length === 0) return undefined;
      return { contents: imports.join("") + contents, loader: path.endsWith(".ts") ? "ts" : "js", resolveDir: dirname(path) };
    });
  },
};

const documents = new Map();
const documentOf = async (page) => withParts(await readFile(join(root, page), "utf8"), join(root, "parts"));
for (const page of PAGES) documents.set(page, await documentOf(page));
const frame = await documentOf("docs/page.html");
for (const { address, title, html } of await readBook(join(root, ".."))) {
  documents.set(`${address.slice(1)}/index.html`, frame.replace("{title}", () => title).replace("{text}", () => html));
}
const entryPoints = new Set([...documents.values()].flatMap((html) => [...html.matchAll(SOURCES)].map(([, path]) => path)));

await rm(dist, { recursive: true, force: true });
const result = await build({
  absWorkingDir: root,
  // Pages have files of the same name, so outputs include the folder's name.
  entryPoints: [...entryPoints].map((path) => ({ in: path, out: path.replace(/^src\//, "").replace(/\.\w+$/, "").replaceAll("/", "-") })),
  outdir: "dist/assets",
  publicPath: "/assets/",
  // Names contain a hash of the content, so that browsers may cache the files forever.
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  // Modules that several pages import become one shared file.
  splitting: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  loader: { ".wasm": "file" },
  // Only used in Node.js, never in a page.
  external: ["node:*"],
  plugins: [wasm],
  metafile: true,
  logLevel: "warning",
});

const written = Object.entries(result.metafile.outputs);
const addressOf = (file) => `/assets/${basename(file)}`;
const outputOf = (entryPoint) => {
  const found = written.find(([, output]) => output.entryPoint === entryPoint);
  if (found === undefined) throw new Error(`${entryPoint} was not built`);
  return found;
};

/** Returns the files that a script imports, directly or indirectly. */
function importsOf(file, found = new Set()) {
  for (const { path, kind } of result.metafile.outputs[file].imports) {
    if (kind !== "import-statement" || found.has(path) || !(path in result.metafile.outputs)) continue;
    found.add(path);
    importsOf(path, found);
  }
  return found;
}

for (const [page, html] of documents) {
  const scripts = [...html.matchAll(SOURCES)].map(([, path]) => path).filter((path) => path.endsWith(".ts"));
  const imports = new Set(scripts.flatMap((path) => [...importsOf(outputOf(path)[0])]));
  // A browser would find these only after reading the script.
  const preloads = [...imports].map((path) => `    <link rel="modulepreload" href="${addressOf(path)}">\n`).join("");
  const built = html.replace(SOURCES, (_whole, path) => addressOf(outputOf(path)[0])).replace("  </head>", `${preloads}  </head>`);
  await mkdir(dirname(join(dist, page)), { recursive: true });
  await writeFile(join(dist, page), built);
}
await cp(join(root, "icon.svg"), join(dist, "icon.svg"));

for (const [path, output] of written) console.log(`${path}  ${(output.bytes / 1024).toFixed(1)} KiB`);
