// Turns what the player holds down into numbered inputs, one for each tick of the room.

import { CLIENT_FRAME_BYTES_MAX, type ClientMessage, type Input, type Keys, encode } from "./protocol.ts";
import type { Transport } from "./transport/transport.ts";

/** After a pause, in the background for example, no more inputs than this are made up for. */
const DUE_MAX = 4;

/** How many earlier inputs are repeated where messages may be lost. */
const REPEATED = 3;

export class Pilot {
  keys: Keys = { thrust: false, left: false, right: false, fire: false };
  /** The newest input's number on this connection. */
  seq = 0;
  private sent: Input[] = [];
  private nextMs = 0;
  private inputMs = 25;

  /** Inputs are numbered anew on each connection. */
  reset(tickHz: number, now: number): void {
    this.seq = 0;
    this.sent = [];
    this.inputMs = 1000 / Math.max(1, tickHz);
    this.nextMs = now;
  }

  get intervalMs(): number {
    return this.inputMs;
  }

  /** Sends the inputs that are due; returns how many bytes they took. */
  steer(transport: Transport, shownTick: number, now: number): number {
    let due = Math.floor((now - this.nextMs) / this.inputMs) + 1;
    if (due < 1) return 0;
    if (due > DUE_MAX) {
      due = 1;
      this.nextMs = now;
    }
    this.nextMs += due * this.inputMs;
    for (let count = 0; count < due; count += 1) {
      this.seq += 1;
      this.sent.push({ seq: this.seq, keys: this.keys });
    }
    const kept = transport.unreliable ? due + REPEATED : due;
    this.sent = this.sent.slice(-kept);
    return transport.sendUnreliable(batch(this.sent, due, shownTick));
  }
}

/** The message with as many of the repeated inputs as a frame has room for. */
function batch(inputs: readonly Input[], due: number, shownTick: number): string {
  const viewTick = Math.round(shownTick * 256) / 256;
  for (let first = 0; ; first += 1) {
    const payload = { inputs: inputs.slice(first), viewTick };
    const message: ClientMessage = { v: 2, kind: "command", feature: "movement", action: "input_batch", payload };
    const text = encode(message);
    if (text.length <= CLIENT_FRAME_BYTES_MAX || inputs.length - first <= due) return text;
  }
}
