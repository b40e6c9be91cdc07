// Runs a game's rules for the module: one call for each step, with the same two objects every time.

import type { Fields } from "../core.ts";
import { report } from "../report.ts";
import type { Rules } from "../rules.ts";
import type { Channels } from "./channels.ts";
import { type RecordSchema, RowReader, type Schema, writeRecord } from "./layout.ts";

/** Room for a state that grows in one step. */
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

  /**
   * Steps the state at `pointer`, which is followed by the input. Writes the new state there and returns its length.
   */
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
    // The memory may have grown, which invalidates the old view.
    new Float64Array(this.memory.buffer, pointer, row.length).set(row);
    return row.length;
  };

  /** Reports the first error only: rules that fail do so in every step. The state stays unchanged. */
  private failed(error: unknown): void {
    if (!this.hasReported) report(error);
    this.hasReported = true;
  }
}
