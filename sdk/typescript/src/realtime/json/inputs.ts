// Turns what the player does into numbered inputs, one for each tick of the room.

import type { Fields } from "../core.ts";
import { CLIENT_FRAME_BYTES_MAX, type Input, encode } from "./protocol.ts";

/** After a pause, in the background for example, no more inputs than this are made up for. */
const DUE_MAX = 4;

/** How many earlier inputs are repeated where messages may be lost. */
const REPEATED = 3;

/** What an input may take, so that a message has room for what is due. The server packs it into 32 bytes. */
const INPUT_TEXT_MAX = 360;

export class Inputs {
  /** The newest input's number on this connection. */
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

  /** The message with the inputs that are due, if there are any. */
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

/** The input, if it fits a message. It throws otherwise. */
export function checkedInput(input: Fields): Fields {
  if (JSON.stringify(input).length > INPUT_TEXT_MAX) throw new RangeError(`An input takes at most ${INPUT_TEXT_MAX} characters of JSON.`);
  return input;
}

/** The message with as many of the older inputs as a frame has room for. */
function batch(inputs: readonly Input[], shownTick: number): Uint8Array {
  const viewTick = Math.round(shownTick * 256) / 256;
  for (let first = 0; ; first += 1) {
    const payload = { inputs: inputs.slice(first), viewTick };
    const bytes = encode({ kind: "command", feature: "movement", action: "input_batch", payload });
    if (bytes.length <= CLIENT_FRAME_BYTES_MAX || inputs.length - first <= 1) return bytes;
  }
}
