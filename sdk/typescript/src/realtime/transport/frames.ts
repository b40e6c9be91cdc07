// Messages on a stream: each prefixed with its length as an unsigned LEB128 number, in its shortest form and not 0.

/** Maximum size of the length, with 7 bits in each byte. */
const LENGTH_BYTES_MAX = 4;

/** Returns a message with its length prefix. */
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

/** Splits a stream into messages. */
export class FrameReader {
  private readonly bytesMax: number;
  /** Received bytes of the length or of the message. */
  private parts: Uint8Array[] = [];
  private partsBytes = 0;
  /** Length of the message, once known. */
  private wanted: number | undefined;

  /** Creates a reader that rejects messages longer than `bytesMax`. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Takes the next bytes of the stream and returns completed messages. Throws on invalid framing. */
  push(bytes: Uint8Array): Uint8Array[] {
    const messages: Uint8Array[] = [];
    let rest = bytes;
    while (rest.length > 0) {
      if (this.wanted === undefined) {
        rest = this.readLength(rest);
        continue;
      }
      const taken = rest.subarray(0, this.wanted - this.partsBytes);
      this.parts.push(taken);
      this.partsBytes += taken.length;
      rest = rest.subarray(taken.length);
      if (this.partsBytes === this.wanted) messages.push(this.takeParts());
    }
    return messages;
  }

  /** Reads one byte of the length; returns the bytes after it. */
  private readLength(bytes: Uint8Array): Uint8Array {
    const byte = bytes[0] as number;
    this.parts.push(bytes.subarray(0, 1));
    this.partsBytes += 1;
    if ((byte & 0x80) !== 0) {
      if (this.partsBytes === LENGTH_BYTES_MAX) throw new Error("The length prefix of a message has too many bytes.");
      return bytes.subarray(1);
    }
    if (byte === 0) throw new Error("The length prefix of a message is 0 or not in its shortest form.");
    const length = this.takeParts().reduce((sum, part, index) => sum | ((part & 0x7f) << (7 * index)), 0);
    if (length > this.bytesMax) throw new Error(`A message of ${length} bytes exceeds the limit of ${this.bytesMax}.`);
    this.wanted = length;
    return bytes.subarray(1);
  }

  private takeParts(): Uint8Array {
    const whole = new Uint8Array(this.partsBytes);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.parts = [];
    this.partsBytes = 0;
    this.wanted = undefined;
    return whole;
  }
}
