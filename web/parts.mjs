// Parts of documents that several pages have in common.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A line such as `<!-- part: head title="Arena" -->`. */
const PLACE = /^( *)<!-- part: ([a-z-]+)((?: [a-z]+="[^"]*")*) -->\n/gm;
const VALUE = /([a-z]+)="([^"]*)"/g;
const NAME = /\{([a-z]+)\}/g;

/**
 * Puts the parts that a document names in their places: `<!-- part: head title="Arena" -->` stands for `head.html` in the
 * folder, with `Arena` for `{title}`. A line of a part is left out if a value for it is not given.
 */
export async function withParts(document, folder) {
  const names = new Set([...document.matchAll(PLACE)].map(([, , name]) => name));
  const parts = new Map();
  for (const name of names) parts.set(name, await readFile(join(folder, `${name}.html`), "utf8"));
  return document.replace(PLACE, (_whole, indent, name, given) => {
    const values = new Map([...given.matchAll(VALUE)].map(([, key, value]) => [key, value]));
    const lines = parts.get(name).trimEnd().split("\n");
    const wanted = lines.filter((line) => [...line.matchAll(NAME)].every(([, key]) => values.has(key)));
    return wanted.map((line) => `${indent}${line.replace(NAME, (_name, key) => values.get(key))}\n`).join("");
  });
}
