// Records as rows, the format of the WASM module.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RowReader, readSchema, snakeCase, writeRecord } from "../../dist/realtime/wasm/layout.js";

const DESCRIBED = {
  components: [
    {
      name: "Ship",
      channel: "movement",
      kind: ["record", [
        ["position", ["numbers", 2], 2],
        ["heading", ["numbers", 1], 1],
        ["hull", ["whole", 0, 100], 1],
        ["lit", ["flag"], 1],
        ["look", ["choice", ["crate", "rock"]], 1],
        ["engine", ["record", [["heat", ["numbers", 1], 1]]], 1],
        ["name", ["text", 8], 1],
        ["cargo", ["list", 3, ["record", [["kind", ["whole", 0, 9], 1]]]], 1],
      ]],
    },
  ],
  inputs: [],
  events: [],
};
// Nested fields come before their parent.
const INITIALS = Float64Array.of(0, 0, 0.5, 100, 1, 0, 20, 20, 0, 7, 0);
const schema = readSchema(JSON.stringify(DESCRIBED), INITIALS);
const { kind } = schema.components[0];
const SHIP = { position: [1, 2.5], heading: -0.25, hull: 30, lit: false, look: "rock", engine: { heat: 3 }, name: "Zoë🚀", cargo: [{ kind: 4 }, { kind: 9 }] };

function row(values) {
  const numbers = [];
  writeRecord(kind, values, numbers, "The ship");
  return numbers;
}

test("a written record is read back", () => {
  const written = row(SHIP);
  assert.deepEqual(written.slice(0, 7), [1, 2.5, -0.25, 30, 0, 1, 3]);
  assert.deepEqual(new RowReader(written).record(kind), SHIP);
});

test("absent fields get their initial value", () => {
  assert.deepEqual(new RowReader(row({})).record(kind), { position: [0, 0], heading: 0.5, hull: 100, lit: true, look: "crate", engine: { heat: 20 }, name: "", cargo: [] });
});

test("vectors may be typed arrays", () => {
  assert.deepEqual(row({ position: Float32Array.of(3, 4) }).slice(0, 2), [3, 4]);
});

test("invalid values are rejected with a message", () => {
  for (const [values, text] of [
    [{ boost: 1 }, "The ship has no field boost; it has position, heading, hull, lit, look, engine, name, cargo."],
    [{ position: [1] }, "position must be a list of 2 numbers."],
    [{ position: [1, Number.NaN] }, "position must be a list of 2 numbers."],
    [{ heading: "north" }, "heading must be a number."],
    [{ hull: 101 }, "hull must be an integer from 0 to 100."],
    [{ hull: 1.5 }, "hull must be an integer from 0 to 100."],
    [{ lit: 1 }, "lit must be true or false."],
    [{ look: "tree" }, "look must be one of crate, rock."],
    [{ name: "too long for it" }, "name must be a string of up to 8 bytes."],
    [{ cargo: [{}, {}, {}, {}] }, "cargo must be a list of up to 3 values."],
    [{ engine: 3 }, "engine must be an object."],
  ]) {
    assert.throws(() => row(values), { message: text });
  }
});

test("event names equal those of the server's JSON", () => {
  assert.deepEqual(["Hit", "PlaceWall", "ABTest"].map(snakeCase), ["hit", "place_wall", "a_b_test"]);
});
