// Messages that are longer than a frame travel in parts, and are put together again.

import { type Fragment, fromBase64, toBase64 } from "./protocol.ts";

/** The most parts of one message, the most bytes of one, and the most unfinished messages; both sides keep to them. */
const PARTS_MAX = 256;
const MESSAGE_BYTES_MAX = 65_536;
const UNFINISHED_MAX = 4;

/** The bytes of a part that a client cuts: in base64 and with what is around them they fit a frame. */
const CLIENT_PART_BYTES = 300;

/** Cuts a message into parts. It throws if it is longer than any may be. */
export function cut(message: number, bytes: Uint8Array): Fragment[] {
  const total = Math.ceil(bytes.length / CLIENT_PART_BYTES);
  if (bytes.length > MESSAGE_BYTES_MAX || total > PARTS_MAX) throw new RangeError("The message is longer than any may be.");
  return Array.from({ length: total }, (_, index) => {
    const part = bytes.subarray(index * CLIENT_PART_BYTES, (index + 1) * CLIENT_PART_BYTES);
    return { message, index, total, data: toBase64(part) };
  });
}

/** Collects parts until a message is whole. */
export class Fragments {
  private readonly unfinished = new Map<number, (string | undefined)[]>();

  /** Takes a part; returns the message once all of its parts are there. It throws if the part fits nowhere. */
  add({ message, index, total, data }: Fragment): Uint8Array | undefined {
    const parts = this.unfinished.get(message) ?? new Array<string | undefined>(total > PARTS_MAX ? 0 : total).fill(undefined);
    if (parts.length !== total || !(index >= 0 && index < total)) throw new RangeError("A part fits no message.");
    parts[index] = data;
    if (parts.includes(undefined)) {
      this.keep(message, parts);
      return undefined;
    }
    this.unfinished.delete(message);
    return join(parts as string[]);
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
  const decoded = parts.map(fromBase64);
  const whole = new Uint8Array(decoded.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of decoded) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
