// Messages that the server cut into parts, put together again.

import type { Fragment } from "./protocol.ts";

/** The most parts of one message, and the most unfinished messages; the server keeps to the same limits. */
const PARTS_MAX = 256;
const UNFINISHED_MAX = 4;

/** Collects parts until a message is whole. */
export class Fragments {
  private readonly unfinished = new Map<number, (string | undefined)[]>();

  /** Takes a part; returns the text of the message once all of its parts are there. */
  add(fragment: Fragment): string | undefined {
    const { message, index, total, data } = fragment;
    if (total < 1 || total > PARTS_MAX || index < 0 || index >= total) return undefined;
    const parts = this.unfinished.get(message) ?? new Array<string | undefined>(total).fill(undefined);
    if (parts.length !== total) return undefined;
    parts[index] = data;
    if (parts.includes(undefined)) {
      this.keep(message, parts);
      return undefined;
    }
    this.unfinished.delete(message);
    return new TextDecoder().decode(join(parts as string[]));
  }

  private keep(message: number, parts: (string | undefined)[]): void {
    this.unfinished.set(message, parts);
    // The oldest is given up first, so that parts which never come hold no memory.
    for (const oldest of this.unfinished.keys()) {
      if (this.unfinished.size <= UNFINISHED_MAX) break;
      this.unfinished.delete(oldest);
    }
  }
}

function join(parts: readonly string[]): Uint8Array {
  const decoded = parts.map((part) => Uint8Array.from(atob(part), (character) => character.charCodeAt(0)));
  const whole = new Uint8Array(decoded.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of decoded) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
