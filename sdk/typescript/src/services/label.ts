// Label of a party: a JSON object in a string.

import type { JsonObject } from "./values.ts";

/** Parses a label. One of another client may be no object. */
export function labelOf(text = ""): JsonObject {
  try {
    const label: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof label === "object" && label !== null ? (label as JsonObject) : {};
  } catch {
    return {};
  }
}

/** Formats a label. */
export function labelText(label: JsonObject): string {
  return Object.keys(label).length === 0 ? "" : JSON.stringify(label);
}
