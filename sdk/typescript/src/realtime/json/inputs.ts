// Numbers the player's inputs, one for each tick of the room.

import type { Fields } from "../core.ts";
import { CLIENT_FRAME_BYTES_MAX, type Input, encode } from "./protocol.ts";

/** Maximum number of inputs made up for after a pause, for example in the background. */
const DUE_MAX = 4;

/** Number of earlier inputs repeated where messages may be lost. */
const REPEATED = 3;

/**
 * Maximum size of an input in JSON, so that a message has room for those that are due. The server packs one into 32
 * bytes.
 */
const INPUT_TEXT_MAX = 360;

export class Inputs {
  /** Number of the newest input or movement on this connection. */
  seq = 0;
  private readonly inputMs: number;
  private readonly isRepeated: boolean;
  private sent: Input[] = [];
  private nextMs: number;

  constructor(tickHz: number, isRepeated: boolean, nowMs: number) {
    this.inputMs = 1000 / Math.max(1, tickHz);
    this.isRepeated = isRepeated;
    this.nextMs = nowMs;
  }

  /** Takes the next number for a movement. Numbers in a batch have no gaps, so earlier inputs are not repeated. */
  takeNumber(): number {
    this.seq += 1;
    this.sent = [];
    return this.seq;
  }

  /** Returns the message with the inputs that are due, if there are any. */
  due(keys: Fields, shownTick: number, nowMs: number): Uint8Array | undefined {
    let due = Math.floor((nowMs - this.nextMs) / this.inputMs) + 1;
    if (due < 1) return undefined;
    if (due > DUE_MAX) {
      due = 1;
      this.nextMs = nowMs;
    }
    this.nextMs += due * this.inputMs;
    for (let count = 0; count < due; count += 1) {
      this.seq += 1;
      this.sent.push({ seq: this.seq, keys });
    }
    this.sent = this.sent.slice(-(this.isRepeated ? due + REPEATED : due));
    return batch(this.sent, shownTick);
  }
}

/** Returns the input. Throws if it is too long for a message. */
export function checkedInput(input: Fields): Fields {
  if (JSON.stringify(input).length > INPUT_TEXT_MAX) throw new RangeError(`The input exceeds ${INPUT_TEXT_MAX} characters of JSON.`);
  return input;
}

/** Builds the message with as many earlier inputs as fit a frame. */
function batch(inputs: readonly Input[], shownTick: number): Uint8Array {
  const viewTick = Math.round(shownTick * 256) / 256;
  for (let first = 0; ; first += 1) {
    const payload = { inputs: inputs.slice(first), viewTick };
    const bytes = encode({ kind: "command", feature: "movement", action: "input_batch", payload });
    if (bytes.length <= CLIENT_FRAME_BYTES_MAX || inputs.length - first <= 1) return bytes;
  }
}
