// Bundles the pages into dist/, from where a release build of the program embeds them and other builds read them.
import { build } from "esbuild";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readBook } from "./book.mjs";
import { withParts } from "./parts.mjs";

/** Every page: its document here, and in dist/ under the same name. `/arena` shows `arena/index.html`. */
const PAGES = ["index.html", "arena/index.html", "outpost/index.html", "sandbox/index.html"];

const root = fileURLToPath(new URL(".", import.meta.url));
const dist = join(root, "dist");

/** The scripts and styles that a page's document names. */
const NAMED = /(?<=")\/(src\/[^"]+\.(?:ts|css))(?=")/g;

/** Where a module says which WASM file belongs to it. */
const WASM_ADDRESS = /new URL\(\s*(["'])([^"']+\.wasm)\1\s*,\s*import\.meta\.url\s*\)/g;

/** Carries along the WASM files that modules name, with a hash in their names like everything else. */
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
const entryPoints = new Set([...documents.values()].flatMap((html) => [...html.matchAll(NAMED)].map(([, path]) => path)));

await rm(dist, { recursive: true, force: true });
const result = await build({
  absWorkingDir: root,
  // Pages have files of the same name, so each is named by its folder too.
  entryPoints: [...entryPoints].map((path) => ({ in: path, out: path.replace(/^src\//, "").replace(/\.\w+$/, "").replaceAll("/", "-") })),
  outdir: "dist/assets",
  publicPath: "/assets/",
  // Names carry a hash of the content, so that browsers may keep these files for ever.
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  // What several pages import is one file for all of them.
  splitting: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  loader: { ".wasm": "file" },
  // The SDK also runs in Node.js; a page never gets that far.
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

/** The files that a script imports, and what those import in turn. */
function importsOf(file, found = new Set()) {
  for (const { path, kind } of result.metafile.outputs[file].imports) {
    if (kind !== "import-statement" || found.has(path) || !(path in result.metafile.outputs)) continue;
    found.add(path);
    importsOf(path, found);
  }
  return found;
}

for (const [page, html] of documents) {
  const scripts = [...html.matchAll(NAMED)].map(([, path]) => path).filter((path) => path.endsWith(".ts"));
  const imports = new Set(scripts.flatMap((path) => [...importsOf(outputOf(path)[0])]));
  // A browser would find these only once it has read the script.
  const preloads = [...imports].map((path) => `    <link rel="modulepreload" href="${addressOf(path)}">\n`).join("");
  const built = html.replace(NAMED, (_whole, path) => addressOf(outputOf(path)[0])).replace("  </head>", `${preloads}  </head>`);
  await mkdir(dirname(join(dist, page)), { recursive: true });
  await writeFile(join(dist, page), built);
}
await cp(join(root, "icon.svg"), join(dist, "icon.svg"));

for (const [path, output] of written) console.log(`${path}  ${(output.bytes / 1024).toFixed(1)} KiB`);
