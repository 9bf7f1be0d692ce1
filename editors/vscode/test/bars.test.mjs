import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, labelled, rangeText } from "../view/bars.js";

const BINS = [
  { from: -1, to: -2, count: 3 },
  { from: 0, to: 0, count: 0 },
  { from: 0.5, to: 1, count: 12 },
];

test("the highest bar has the height 1", () => {
  assert.deepEqual(bars(BINS, false).map((bar) => bar.height), [0.25, 0, 1]);
  const [few, empty, many] = bars(BINS, true).map((bar) => bar.height);
  assert.ok(few > 0.5 && few < 1 && empty === 0 && many === 1);
  assert.deepEqual(bars([{ from: 0, to: 0, count: 0 }], true).map((bar) => bar.height), [0]);
});

test("zero has a label, and only so many others", () => {
  const many = Array.from({ length: 100 }, (_, index) => ({ from: index - 50, to: index - 50, count: 1 }));
  const named = labelled(many, 12);
  assert.ok(named[50] && named.filter(Boolean).length <= 13);
  assert.deepEqual(labelled(BINS, 12), [true, true, true]);
});

test("the bound nearer to zero belongs to a bin", () => {
  assert.deepEqual(BINS.map((bin) => rangeText(bin, String)), ["(-2, -1]", "0", "[0.5, 1)"]);
});
