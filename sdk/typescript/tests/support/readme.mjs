// Code blocks of the README.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Folder of the package. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the game of the README. */
export async function readmeGame() {
  const text = await readFile(`${root}README.md`, "utf8");
  return text.split("```ts\n")[1].split("```")[0];
}
