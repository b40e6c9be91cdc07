// Conversion of values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromInteger, toAmounts, toBigInt } from "../../dist/services/values.js";

test("64-bit integers stay exact", () => {
  assert.equal(toBigInt("9223372036854775807"), 9223372036854775807n);
  assert.equal(toBigInt(undefined), 0n);
  assert.equal(fromInteger(-9223372036854775808n), "-9223372036854775808");
  assert.equal(fromInteger(12), "12");
  for (const value of [1.5, Number.NaN, 2 ** 53]) assert.throws(() => fromInteger(value), RangeError);
});

test("wallet amounts stay exact, with any names", () => {
  assert.deepEqual(toAmounts('{"coins":9223372036854775807,"a:12,\\"b\\"":-3}'), { coins: 9223372036854775807n, 'a:12,"b"': -3n });
  assert.deepEqual(toAmounts(undefined), {});
});
