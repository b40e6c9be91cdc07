// How values travel: numbers of 64 bits as texts, JSON inside of texts, times by RFC 3339, and what is zero left out.

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. Games name their own type instead. */
export type JsonObject = Record<string, unknown>;

/** A whole number of 64 bits; `number` where it is one that a `number` holds exactly. */
export type Whole = bigint | number;

/** The texts of the wire. */
export type Text = string | undefined;

export function toDate(text: string): Date {
  return new Date(text);
}

/** A time that may be absent. */
export function toDateIfAny(text: Text): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

/** 64 bits, exactly. */
export function toBigInt(text: Text): bigint {
  return BigInt(text ?? "0");
}

/** The text of a whole number. A `number` that is not exact is a fault of the caller, and not to be sent. */
export function fromWhole(value: Whole): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new RangeError(`${value} is no whole number that a number holds exactly; use a bigint.`);
  }
  return value.toString();
}

/** JSON inside of a text. */
export function toJson<Value>(text: Text): Value {
  return JSON.parse(text === undefined || text === "" ? "{}" : text) as Value;
}

/** Numbers outside of texts: what is a text is matched first, and left alone. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+/g;

/** Amounts of 64 bits by name, out of JSON inside of a text, exactly. */
export function toAmounts(text: Text): Record<string, bigint> {
  const quoted = (text ?? "{}").replace(TEXT_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`));
  const amounts = Object.entries(JSON.parse(quoted) as Record<string, string>);
  return Object.fromEntries(amounts.map(([name, amount]) => [name, BigInt(amount)]));
}

/** The object without the fields that are undefined. */
export function defined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** The bytes of a text in UTF-8, in base64. */
export function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
