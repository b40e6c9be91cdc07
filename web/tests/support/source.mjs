// Loads a TypeScript module of the page into a test.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

/** Returns the exports of a module below src/. */
export async function load(path) {
  const entry = fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
  const result = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "node20" });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].contents).toString("base64")}`);
}
