// Fragments of messages that are longer than a frame.

import { fromBase64, toBase64 } from "../../base64.ts";
import type { Fragment } from "./protocol.ts";

/** Limits that both sides use: fragments of one message, bytes of one message, and incomplete messages. */
const FRAGMENTS_MAX = 256;
const MESSAGE_BYTES_MAX = 65_536;
const INCOMPLETE_MAX = 4;

/** Bytes of a client's fragment: in base64 and with its envelope it fits a frame. */
const CLIENT_FRAGMENT_BYTES = 300;

/** Splits a message into fragments. Throws if it is too long. */
export function cut(message: number, bytes: Uint8Array): Fragment[] {
  const total = Math.ceil(bytes.length / CLIENT_FRAGMENT_BYTES);
  if (bytes.length > MESSAGE_BYTES_MAX || total > FRAGMENTS_MAX) throw new RangeError(`A message of ${bytes.length} bytes exceeds the limit of ${MESSAGE_BYTES_MAX}.`);
  return Array.from({ length: total }, (_, index) => {
    const part = bytes.subarray(index * CLIENT_FRAGMENT_BYTES, (index + 1) * CLIENT_FRAGMENT_BYTES);
    return { message, index, total, data: toBase64(part) };
  });
}

/** Collects fragments until a message is complete. */
export class Fragments {
  private readonly incomplete = new Map<number, (string | undefined)[]>();

  /** Adds a fragment; returns the message once it is complete. Throws if the fragment is invalid. */
  add({ message, index, total, data }: Fragment): Uint8Array | undefined {
    const parts = this.incomplete.get(message) ?? new Array<string | undefined>(total > FRAGMENTS_MAX ? 0 : total).fill(undefined);
    if (parts.length !== total || !(index >= 0 && index < total)) throw new RangeError("A fragment does not belong to its message.");
    parts[index] = data;
    if (parts.includes(undefined)) {
      this.store(message, parts);
      return undefined;
    }
    this.incomplete.delete(message);
    return join(parts as string[]);
  }

  private store(message: number, parts: (string | undefined)[]): void {
    this.incomplete.set(message, parts);
    // Drops the oldest first, so that fragments of lost messages use no memory.
    for (const oldest of this.incomplete.keys()) {
      if (this.incomplete.size <= INCOMPLETE_MAX) break;
      this.incomplete.delete(oldest);
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
