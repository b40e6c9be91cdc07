// Records as rows of numbers, the format between this client and the WASM module. The module describes the schema, and
// both sides read and write rows by it.

import type { Fields } from "../core.ts";

/** Layout of a value in a row. */
export type Kind =
  | readonly ["flag"]
  | readonly ["whole", number, number]
  | readonly ["numbers", number]
  | readonly ["choice", readonly string[]]
  | readonly ["text", number]
  | readonly ["list", number, Kind]
  | readonly ["record", readonly Field[]];

/** Name, layout and default value of a field. */
export type Field = readonly [string, Kind, readonly number[]];

export interface RecordSchema {
  readonly name: string;
  readonly channel: string;
  readonly kind: readonly ["record", readonly Field[]];
}

export interface Schema {
  readonly components: readonly RecordSchema[];
  readonly inputs: readonly RecordSchema[];
  readonly events: readonly RecordSchema[];
}

/** Reads the schema of the module. Its initial values come in a separate array; the text has their lengths. */
export function readSchema(text: string, initials: Float64Array): Schema {
  let at = 0;
  const fill = (kind: unknown): Kind => {
    const [name, second, third] = kind as [string, unknown, unknown];
    if (name === "list") return [name, second as number, fill(third)];
    return name === "record" ? [name, (second as unknown[]).map(field)] : (kind as Kind);
  };
  const field = (described: unknown): Field => {
    const [name, kind, length] = described as [string, unknown, number];
    const filled = fill(kind);
    at += length;
    return [name, filled, Array.from(initials.subarray(at - length, at))];
  };
  const record = (described: RecordSchema): RecordSchema => ({ ...described, kind: fill(described.kind) as RecordSchema["kind"] });
  const { components, inputs, events } = JSON.parse(text) as Schema;
  return { components: components.map(record), inputs: inputs.map(record), events: events.map(record) };
}

/** Reads rows one after another. */
export class RowReader {
  private readonly row: ArrayLike<number>;
  private at: number;
  private readonly end: number;

  constructor(row: ArrayLike<number>, at = 0, end = row.length) {
    this.row = row;
    this.at = at;
    this.end = end;
  }

  get isOver(): boolean {
    return this.at >= this.end;
  }

  next(): number {
    const value = this.row[this.at] as number;
    this.at += 1;
    return value;
  }

  /** Reads a record into an object. */
  record([, fields]: RecordSchema["kind"], into: Fields = {}): Fields {
    for (const [name, kind] of fields) into[name] = this.value(kind);
    return into;
  }

  private value(kind: Kind): unknown {
    switch (kind[0]) {
      case "flag":
        return this.next() !== 0;
      case "whole":
        return this.next();
      case "numbers":
        return this.numbers(kind[1]);
      case "choice":
        return kind[1][this.next()];
      case "text":
        return this.text(this.next());
      case "list":
        return Array.from({ length: this.next() }, () => this.value(kind[2]));
      case "record":
        return this.record(kind);
    }
  }

  /** Most moving values are pairs, read for every entity in every frame. */
  private numbers(count: number): number | number[] {
    if (count === 1) return this.next();
    if (count === 2) return [this.next(), this.next()];
    const numbers = [];
    for (let index = 0; index < count; index += 1) numbers.push(this.next());
    return numbers;
  }

  private text(length: number): string {
    let text = "";
    for (let index = 0; index < length; index += 1) text += String.fromCharCode(this.next());
    return text;
  }
}

/** Appends an object as a row. Absent fields get their initial value. Throws if a value does not fit. */
export function writeRecord([, fields]: RecordSchema["kind"], values: object, row: number[], name: string): void {
  for (const key of Object.keys(values)) {
    if (fields.some(([field]) => field === key)) continue;
    throw new TypeError(`${name} has no field ${key}; it has ${fields.map(([field]) => field).join(", ")}.`);
  }
  for (const [field, kind, initial] of fields) {
    const value = (values as Fields)[field];
    if (value === undefined) row.push(...initial);
    else writeValue(kind, value, row, field);
  }
}

function writeValue(kind: Kind, value: unknown, row: number[], name: string): void {
  switch (kind[0]) {
    case "flag":
      check(typeof value === "boolean", name, "true or false");
      row.push(value ? 1 : 0);
      break;
    case "whole":
      check(Number.isInteger(value) && (value as number) >= kind[1] && (value as number) <= kind[2], name, `an integer from ${kind[1]} to ${kind[2]}`);
      row.push(value as number);
      break;
    case "numbers":
      writeNumbers(kind[1], value, row, name);
      break;
    case "choice":
      check(kind[1].includes(value as string), name, `one of ${kind[1].join(", ")}`);
      row.push(kind[1].indexOf(value as string));
      break;
    case "text":
      check(typeof value === "string" && bytesOf(value) <= kind[1], name, `a string of up to ${kind[1]} bytes`);
      row.push((value as string).length);
      for (let at = 0; at < (value as string).length; at += 1) row.push((value as string).charCodeAt(at));
      break;
    case "list":
      check(Array.isArray(value) && value.length <= kind[1], name, `a list of up to ${kind[1]} values`);
      row.push((value as unknown[]).length);
      for (const element of value as unknown[]) writeValue(kind[2], element, row, name);
      break;
    case "record":
      check(typeof value === "object" && value !== null, name, "an object");
      writeRecord(kind, value as object, row, name);
  }
}

function writeNumbers(count: number, value: unknown, row: number[], name: string): void {
  if (count === 1 && Number.isFinite(value)) return void row.push(value as number);
  check(count > 1 && isNumbers(value) && value.length === count, name, count === 1 ? "a number" : `a list of ${count} numbers`);
  row.push(...(value as ArrayLike<number> & Iterable<number>));
}

/** Accepts typed arrays too, which rules in WASM return. */
function isNumbers(value: unknown): value is ArrayLike<number> {
  if (!Array.isArray(value) && !ArrayBuffer.isView(value)) return false;
  return Array.prototype.every.call(value, Number.isFinite);
}

function check(isRight: boolean, name: string, expected: string): void {
  if (!isRight) throw new TypeError(`${name} must be ${expected}.`);
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/** Turns `PlaceWall` in the game's source into `place_wall` for scripts. */
export function snakeCase(name: string): string {
  return name.replace(/(?!^)\p{Lu}/gu, "_$&").toLowerCase();
}
