// Runs a game's rules for the module: one call for each step, and the same two objects every time.

import type { Fields } from "../core.ts";
import { report } from "../report.ts";
import type { Rules } from "../rules.ts";
import type { Channels } from "./channels.ts";
import { type RecordSchema, RowReader, type Schema, writeRecord } from "./layout.ts";

/** How much more than the old state and the input there is room for. */
const MARGIN = 64;

export class Stepper {
  private readonly memory: WebAssembly.Memory;
  private readonly rules: Rules;
  private readonly channels: Channels;
  private stateKind: RecordSchema["kind"] | undefined;
  private inputKind: RecordSchema["kind"] | undefined;
  private readonly state: Fields = {};
  private readonly input: Fields = {};
  private readonly row: number[] = [];
  private hasReported = false;

  constructor(memory: WebAssembly.Memory, rules: Rules, channels: Channels) {
    this.memory = memory;
    this.rules = rules;
    this.channels = channels;
  }

  learn({ components, inputs }: Schema): void {
    this.stateKind = components.find(({ channel }) => channel === this.rules.channel)?.kind;
    this.inputKind = inputs[0]?.kind;
    for (const name of Object.keys(this.state)) delete this.state[name];
    for (const name of Object.keys(this.input)) delete this.input[name];
  }

  /** At the pointer lie the state and after it the input; the new state is left there. Returns its length. */
  readonly step = (pointer: number, stateLength: number, inputLength: number, seconds: number): number => {
    const { stateKind, inputKind, state, input, row } = this;
    if (stateKind === undefined || inputKind === undefined) return stateLength;
    const before = new Float64Array(this.memory.buffer, pointer, stateLength + inputLength);
    new RowReader(before, 0, stateLength).record(stateKind, state);
    new RowReader(before, stateLength).record(inputKind, input);
    try {
      this.rules.step(state, input, seconds, this.channels);
      row.length = 0;
      writeRecord(stateKind, state, row, "The state");
      if (row.length > (stateLength + inputLength) * 2 + MARGIN) throw new RangeError("The state has grown too much in one step.");
    } catch (error) {
      this.failed(error);
      return stateLength;
    }
    // The memory may have grown meanwhile, and the old view of it is gone then.
    new Float64Array(this.memory.buffer, pointer, row.length).set(row);
    return row.length;
  };

  /** Rules that fail leave the state as it was. They would fail sixty times a second, so it is told once. */
  private failed(error: unknown): void {
    if (!this.hasReported) report(error);
    this.hasReported = true;
  }
}
