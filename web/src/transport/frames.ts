// Messages on a stream: each after its length as an unsigned LEB128 number.

/** The length takes at most this many bytes, 7 bits in each. */
const LENGTH_BYTES_MAX = 4;

/** A message with its length before it. */
export function frame(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const length: number[] = [];
  let rest = message.length;
  do {
    const more = rest > 0x7f ? 0x80 : 0;
    length.push((rest & 0x7f) | more);
    rest >>>= 7;
  } while (rest > 0);
  const framed = new Uint8Array(length.length + message.length);
  framed.set(length);
  framed.set(message, length.length);
  return framed;
}

/** Cuts what arrives on a stream into messages again. */
export class FrameReader {
  private waiting = new Uint8Array(0);
  private readonly bytesMax: number;

  /** A reader that refuses messages longer than `bytesMax`. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Takes the next bytes of the stream; returns the messages that are whole now. */
  push(bytes: Uint8Array): Uint8Array[] {
    const joined = new Uint8Array(this.waiting.length + bytes.length);
    joined.set(this.waiting);
    joined.set(bytes, this.waiting.length);
    const messages: Uint8Array[] = [];
    let at = 0;
    for (;;) {
      const head = readLength(joined, at);
      if (head === undefined) break;
      if (head.length > this.bytesMax) throw new Error("A message is longer than any may be.");
      const end = head.start + head.length;
      if (end > joined.length) break;
      messages.push(joined.subarray(head.start, end));
      at = end;
    }
    this.waiting = joined.slice(at);
    return messages;
  }
}

/** The length at a position and where its message starts, or nothing if it has not arrived yet. */
function readLength(bytes: Uint8Array, at: number): { length: number; start: number } | undefined {
  let length = 0;
  for (let index = 0; index < LENGTH_BYTES_MAX; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    length |= (byte & 0x7f) << (7 * index);
    if ((byte & 0x80) === 0) return { length, start: at + index + 1 };
  }
  throw new Error("A length takes too many bytes.");
}
