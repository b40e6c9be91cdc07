// How values travel.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromWhole, toAmounts, toBigInt } from "../../dist/services/values.js";

test("64 bits stay exact", () => {
  assert.equal(toBigInt("9223372036854775807"), 9223372036854775807n);
  assert.equal(toBigInt(undefined), 0n);
  assert.equal(fromWhole(-9223372036854775808n), "-9223372036854775808");
  assert.equal(fromWhole(12), "12");
  for (const value of [1.5, Number.NaN, 2 ** 53]) assert.throws(() => fromWhole(value), RangeError);
});

test("amounts of a wallet stay exact, whatever their names are", () => {
  assert.deepEqual(toAmounts('{"coins":9223372036854775807,"a:12,\\"b\\"":-3}'), { coins: 9223372036854775807n, 'a:12,"b"': -3n });
  assert.deepEqual(toAmounts(undefined), {});
});
