// Bundles the page into dist/, from where the server's build takes it in.
import { build } from "esbuild";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const dist = join(root, "dist");

await rm(dist, { recursive: true, force: true });
const result = await build({
  absWorkingDir: root,
  entryPoints: ["src/main.ts", "src/style.css"],
  outdir: "dist/assets",
  // Names carry a hash of the content, so that browsers may keep these files for ever.
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const written = Object.entries(result.metafile.outputs);
const nameOf = (entryPoint) => {
  const found = written.find(([, output]) => output.entryPoint === entryPoint);
  if (found === undefined) throw new Error(`${entryPoint} was not built`);
  return `/assets/${basename(found[0])}`;
};

const html = await readFile(join(root, "index.html"), "utf8");
await mkdir(dist, { recursive: true });
await writeFile(
  join(dist, "index.html"),
  html.replace("/src/style.css", nameOf("src/style.css")).replace("/src/main.ts", nameOf("src/main.ts")),
);
await cp(join(root, "icon.svg"), join(dist, "icon.svg"));

for (const [path, output] of written) console.log(`${path}  ${(output.bytes / 1024).toFixed(1)} KiB`);
