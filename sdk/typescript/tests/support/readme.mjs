// What stands in the README.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The package's folder. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The game, as it stands there. */
export async function readmeGame() {
  const text = await readFile(`${root}README.md`, "utf8");
  return text.split("```ts\n")[1].split("```")[0];
}
