// Label of a party: a JSON object in a string.

import { type JsonObject, toObject } from "./values.ts";

/** Parses a label. One of another client may be no object. */
export function labelOf(text = ""): JsonObject {
  return toObject(text);
}

/** Formats a label. */
export function labelText(label: JsonObject): string {
  return Object.keys(label).length === 0 ? "" : JSON.stringify(label);
}
