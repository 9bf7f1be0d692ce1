import assert from "node:assert/strict";
import { test } from "node:test";
import { INFINITE, MINUS_INFINITE, NAN, colourOf, pixelsOf, rangeOf, scaleOf } from "../view/colours.js";

test("the ends of a scale have the ends of its colours, and what lies outside, too", () => {
  const scale = scaleOf(0, 10);
  assert.deepEqual(colourOf(0, scale), [68, 1, 84]);
  assert.deepEqual(colourOf(10, scale), [253, 231, 37]);
  assert.deepEqual(colourOf(-3, scale), colourOf(0, scale));
  assert.deepEqual(colourOf(11, scale), colourOf(10, scale));
});

test("zero is white where there are numbers on both sides", () => {
  const scale = scaleOf(-1, 4);
  assert.deepEqual([scale.min, scale.max], [-4, 4]);
  assert.deepEqual(colourOf(0, scale), [247, 247, 247]);
  assert.deepEqual(colourOf(-4, scale), [5, 48, 97]);
  assert.deepEqual(colourOf(4, scale), [103, 0, 31]);
});

test("equal numbers and the largest ones have a colour", () => {
  assert.equal(colourOf(3, scaleOf(3, 3)).length, 3);
  const most = Number.MAX_VALUE;
  assert.deepEqual(colourOf(0, scaleOf(-most, most)), [247, 247, 247]);
  assert.deepEqual(colourOf(most, scaleOf(-most, most)), [103, 0, 31]);
});

test("what is not finite has colours that no number has", () => {
  const distance = (a, b) => Math.hypot(...a.map((channel, index) => channel - b[index]));
  const specials = [NaN, Infinity, -Infinity].map((number) => colourOf(number, scaleOf(0, 1)));
  assert.deepEqual(specials, [NAN, INFINITE, MINUS_INFINITE]);
  for (const scale of [scaleOf(0, 1), scaleOf(-1, 1)]) {
    for (let step = 0; step <= 200; step += 1) {
      const colour = colourOf(scale.min + ((scale.max - scale.min) * step) / 200, scale);
      for (const special of specials) assert.ok(distance(colour, special) > 75, `${colour} and ${special}`);
    }
  }
  for (const one of specials) for (const other of specials) assert.ok(one === other || distance(one, other) > 150);
});

test("the range is that of the finite numbers", () => {
  assert.deepEqual(rangeOf([NaN, 3, -Infinity, 1, Infinity]), { min: 1, max: 3 });
  assert.equal(rangeOf([NaN, Infinity]), undefined);
});

test("each number is a pixel", () => {
  const pixels = pixelsOf(Float64Array.of(NaN, 0), scaleOf(0, 1));
  assert.deepEqual([...pixels], [...NAN, 255, 68, 1, 84, 255]);
});
