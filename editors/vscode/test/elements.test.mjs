import assert from "node:assert/strict";
import { test } from "node:test";
import { TYPES, bytesOf, element, numbersOf } from "../view/elements.js";
import { exact, power, short } from "../view/numbers.js";

const bytes = (...list) => Uint8Array.from(list);
const of = (array) => new Uint8Array(array.buffer);

test("elements of every type are read as the numbers that they are", () => {
  const cases = [
    ["float32", of(Float32Array.of(1.5, -0.1)), [1.5, Math.fround(-0.1)]],
    ["float64", of(Float64Array.of(0.1, -Infinity)), [0.1, -Infinity]],
    ["float16", of(Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00, 0xfc00, 0x7bff)), [1, -2, 2 ** -24, Infinity, -Infinity, 65504]],
    ["bfloat16", of(Uint16Array.of(0x3f80, 0x4049, 0xff80, 0x0001)), [1, 3.140625, -Infinity, 2 ** -133]],
    ["float8e4m3fn", bytes(0x38, 0x7e, 0xb8, 0x01), [1, 448, -1, 2 ** -9]],
    ["float8e4m3fnuz", bytes(0x40, 0x7f, 0x01), [1, 240, 2 ** -10]],
    ["float8e5m2", bytes(0x3c, 0x7b, 0xfc, 0x01), [1, 57344, -Infinity, 2 ** -16]],
    ["float8e5m2fnuz", bytes(0x40, 0x7f, 0x01), [1, 57344, 2 ** -17]],
    ["float4e2m1", bytes(0x21, 0x9f, 0x07), [0.5, 1, -6, -0.5, 6]],
    ["int4", bytes(0x87, 0x0f), [7, -8, -1]],
    ["uint4", bytes(0x87, 0x0f), [7, 8, 15]],
    ["uint8", bytes(0, 255), [0, 255]],
    ["int8", bytes(0, 255), [0, -1]],
    ["uint16", of(Uint16Array.of(65535)), [65535]],
    ["int16", of(Int16Array.of(-2)), [-2]],
    ["uint32", of(Uint32Array.of(4294967295)), [4294967295]],
    ["int32", of(Int32Array.of(-3)), [-3]],
    ["uint64", of(BigUint64Array.of(2n ** 63n)), [2 ** 63]],
    ["int64", of(BigInt64Array.of(-5n)), [-5]],
    ["bool", bytes(1, 0), [1, 0]],
    ["complex64", of(Float32Array.of(3, -4)), [5]],
    ["complex128", of(Float64Array.of(0, 2, 1, 0)), [2, 1]],
  ];
  for (const [dtype, stored, expected] of cases) {
    assert.deepEqual([...numbersOf(dtype, stored, expected.length)], expected, dtype);
  }
  assert.deepEqual(cases.map(([dtype]) => dtype).sort(), [...TYPES].sort());
});

test("patterns that are no number are NaN", () => {
  const cases = [
    ["float16", of(Uint16Array.of(0x7e00))],
    ["bfloat16", of(Uint16Array.of(0xffc0))],
    ["float8e4m3fn", bytes(0x7f)],
    ["float8e4m3fn", bytes(0xff)],
    ["float8e4m3fnuz", bytes(0x80)],
    ["float8e5m2", bytes(0x7d)],
    ["float8e5m2fnuz", bytes(0x80)],
    ["complex64", of(Float32Array.of(Infinity, NaN))],
  ];
  for (const [dtype, stored] of cases) assert.ok(Number.isNaN(numbersOf(dtype, stored, 1)[0]), dtype);
});

test("bytes come out of base64 as they were", () => {
  const all = Uint8Array.from({ length: 256 }, (_, index) => index);
  assert.deepEqual(bytesOf(Buffer.from(all).toString("base64")), all);
  assert.deepEqual(bytesOf(""), new Uint8Array());
});

test("an element is written so that it reads back as itself", () => {
  for (const value of [0.1, 1 / 3, 16777216, 1e-45, 3.4028235e38, -2.5, 1e10]) {
    const number = Math.fround(value);
    assert.equal(Math.fround(Number(exact("float32", number))), number);
  }
  assert.equal(exact("float32", Math.fround(0.1)), "0.1");
  assert.equal(exact("float32", -0), "-0");
  assert.equal(exact("float64", 0.1), "0.1");
  assert.equal(exact("int64", element("int64", of(BigInt64Array.of(9007199254740993n)), 0)), "9007199254740993");
  assert.equal(exact("bool", true), "true");
  assert.equal(exact("complex64", [1, -2]), "1-2j");
  assert.equal(exact("complex64", [1, 0.5]), "1+0.5j");
  assert.deepEqual([NaN, Infinity, -Infinity].map((value) => exact("float16", value)), ["NaN", "inf", "-inf"]);
});

test("numbers for people are short", () => {
  const cases = [[0, "0"], [0.123456, "0.12346"], [123456, "123456"], [1e9, "1.000e9"], [-2.5e-7, "-2.500e-7"], [null, "none"], [NaN, "NaN"]];
  for (const [number, text] of cases) assert.equal(short(number), text);
});

test("powers of two take little room", () => {
  const cases = [[0, "0"], [0.0625, "0.0625"], [-0.125, "-0.125"], [2 ** -30, "2^-30"], [-(2 ** 64), "-2^64"], [1024, "1024"]];
  for (const [number, text] of cases) assert.equal(power(number), text);
});
