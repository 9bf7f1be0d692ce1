import assert from "node:assert/strict";
import { test } from "node:test";
import { around, clamp, extent, first, indexOf, moved, slice } from "../view/window.js";

test("a small tensor is shown at once, matrix by matrix", () => {
  const shape = [8, 16, 4, 5];
  assert.equal(slice(shape, first(shape)), "[0, 0, 0:4, 0:5]");
  assert.equal(slice(shape, { leading: [7, 15], row: 0, column: 0 }), "[7, 15, 0:4, 0:5]");
  assert.deepEqual(indexOf(shape, { leading: [7, 15], row: 0, column: 0 }, 3, 4), [7, 15, 3, 4]);
});

test("vectors are rows, and a scalar is one element", () => {
  assert.equal(slice([10], first([10])), "[0:10]");
  assert.deepEqual(indexOf([10], first([10]), 0, 9), [9]);
  assert.equal(slice([], first([])), "");
  assert.deepEqual(indexOf([], first([]), 0, 0), []);
  assert.deepEqual(extent([], first([])), { rows: 1, columns: 1 });
});

test("no window has more than 256 rows and columns, and all windows together have everything", () => {
  const shape = [3, 1000, 700];
  const seen = { rows: new Set(), columns: new Set() };
  for (let [down, position] = [0, first(shape)]; down < 4; down += 1, position = moved(shape, position, 1, 0)) {
    for (let [right, at] = [0, position]; right < 3; right += 1, at = moved(shape, at, 0, 1)) {
      const { rows, columns } = extent(shape, at);
      assert.ok(rows <= 256 && columns <= 256);
      for (let row = 0; row < rows; row += 1) seen.rows.add(at.row + row);
      for (let column = 0; column < columns; column += 1) seen.columns.add(at.column + column);
    }
  }
  assert.deepEqual([seen.rows.size, seen.columns.size], [1000, 700]);
});

test("indices and slices count from the beginning of the tensor", () => {
  const [shape, position] = [[3, 1000, 700], { leading: [2], row: 300, column: 444 }];
  assert.equal(slice(shape, position), "[2, 300:556, 444:700]");
  assert.deepEqual(indexOf(shape, position, 10, 20), [2, 310, 464]);
});

test("a position outside of the tensor becomes the nearest one inside", () => {
  assert.deepEqual(clamp([4, 300, 10], { leading: [9], row: 299, column: 5 }), { leading: [3], row: 44, column: 0 });
  assert.deepEqual(clamp([4, 300, 10], { leading: [-1], row: -5, column: NaN }), { leading: [0], row: 0, column: 0 });
  assert.deepEqual(clamp([0, 3], { leading: [], row: 0, column: 0 }), { leading: [], row: 0, column: 0 });
  assert.deepEqual(moved([1000, 1000], { leading: [], row: 700, column: 0 }, 1, -1), { leading: [], row: 744, column: 0 });
});

test("an element is in the window around it, and an index of some axes chooses these", () => {
  const shape = [5, 1000, 1000];
  for (const index of [[4, 0, 999], [0, 500, 127], [2, 999, 0]]) {
    const position = around(shape, index, first(shape));
    assert.equal(position.leading[0], index[0]);
    assert.ok(index[1] >= position.row && index[1] < position.row + 256);
    assert.ok(index[2] >= position.column && index[2] < position.column + 256);
  }
  const before = { leading: [1], row: 30, column: 40 };
  assert.deepEqual(around(shape, [3], before), { leading: [3], row: 30, column: 40 });
  assert.deepEqual(around(shape, [], before), before);
});
