// Values of the services API: 64-bit integers as strings, JSON inside strings, RFC 3339 times, zero values left out.

import { toBase64 } from "../base64.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. Games pass their own type instead. */
export type JsonObject = Record<string, unknown>;

/** A 64-bit integer; a `number` if it is a safe integer. */
export type Integer = bigint | number;

/** A string field of an answer. */
export type Text = string | undefined;

export function toDate(text: string): Date {
  return new Date(text);
}

/** Parses a time that may be absent. */
export function toDateIfAny(text: Text): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

/** Parses a 64-bit integer. */
export function toBigInt(text: Text): bigint {
  return BigInt(text ?? "0");
}

/** Formats an integer. Throws for a `number` that is not exact. */
export function fromInteger(value: Integer): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is not a safe integer; pass a bigint.`);
  }
  return value.toString();
}

/** Parses JSON inside a string. */
export function toJson<Value>(text: Text): Value {
  return JSON.parse(text === undefined || text === "" ? "{}" : text) as Value;
}

/** Returns the cursor of another page; absent if there is none. */
export function cursorOf(text: Text): Text {
  return text === "" ? undefined : text;
}

/** Parses a JSON object inside a string that another client wrote. Anything else is an empty object. */
export function toObject(text = ""): JsonObject {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

/** Matches strings first, so that numbers inside them are left alone. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+/g;

/** Parses 64-bit amounts by name from JSON inside a string, without loss. */
export function toAmounts(text: Text): Record<string, bigint> {
  const quoted = (text ?? "{}").replace(TEXT_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`));
  const amounts = Object.entries(JSON.parse(quoted) as Record<string, string>);
  return Object.fromEntries(amounts.map(([name, amount]) => [name, BigInt(amount)]));
}

/** Returns the object without its undefined fields. */
export function defined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** Encodes the UTF-8 bytes of a string in base64. */
export function base64(text: string): string {
  return toBase64(new TextEncoder().encode(text));
}
