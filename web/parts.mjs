// HTML parts that several pages share.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A line such as `<!-- part: head title="Arena" -->`. */
const PART = /^( *)<!-- part: ([a-z-]+)((?: [a-z]+="[^"]*")*) -->\n/gm;
const VALUE = /([a-z]+)="([^"]*)"/g;
const NAME = /\{([a-z]+)\}/g;

/**
 * Inserts parts into a document: `<!-- part: head title="Arena" -->` becomes `head.html` of the folder, with `Arena` in
 * place of `{title}`. A line of a part is left out if one of its values is missing.
 */
export async function withParts(document, folder) {
  const names = new Set([...document.matchAll(PART)].map(([, , name]) => name));
  const parts = new Map();
  for (const name of names) parts.set(name, await readFile(join(folder, `${name}.html`), "utf8"));
  return document.replace(PART, (_whole, indent, name, given) => {
    const values = new Map([...given.matchAll(VALUE)].map(([, key, value]) => [key, value]));
    const lines = parts.get(name).trimEnd().split("\n");
    const wanted = lines.filter((line) => [...line.matchAll(NAME)].every(([, key]) => values.has(key)));
    return wanted.map((line) => `${indent}${line.replace(NAME, (_name, key) => values.get(key))}\n`).join("");
  });
}
