// The elements of a tensor, from its bytes.

// A float of few bits: `special` says which patterns are no finite numbers.
function small(bits, mantissa, bias, special) {
  return (pattern) => {
    const sign = pattern >> (bits - 1) ? -1 : 1;
    const exponent = (pattern & ((1 << (bits - 1)) - 1)) >> mantissa;
    const fraction = pattern & ((1 << mantissa) - 1);
    const number = special(sign, exponent, fraction);
    if (number !== undefined) return number;
    if (exponent === 0) return sign * fraction * 2 ** (1 - bias - mantissa);
    return sign * (1 + fraction / (1 << mantissa)) * 2 ** (exponent - bias);
  };
}

// As IEEE 754 has it: the highest exponent is that of infinity and NaN.
const ieee = (highest) => (sign, exponent, fraction) => {
  if (exponent !== highest) return undefined;
  return fraction ? NaN : sign * Infinity;
};
const none = () => undefined;
// The pattern of minus zero is NaN.
const unsignedZero = (sign, exponent, fraction) => (sign < 0 && exponent === 0 && fraction === 0 ? NaN : undefined);

const float16 = small(16, 10, 15, ieee(31));
const bfloat16 = small(16, 7, 127, ieee(255));
const eight = {
  float8e4m3fn: small(8, 3, 7, (sign, exponent, fraction) => (exponent === 15 && fraction === 7 ? NaN : undefined)),
  float8e4m3fnuz: small(8, 3, 8, unsignedZero),
  float8e5m2: small(8, 2, 15, ieee(31)),
  float8e5m2fnuz: small(8, 2, 16, unsignedZero),
};
const half = (view, index) => (view.getUint8(index >> 1) >> (index % 2 ? 4 : 0)) & 15;
const float4 = small(4, 1, 1, none);

// How an element of each type is read. Integers of 64 bits are `BigInt`s, complex numbers pairs.
const READ = {
  float32: (view, index) => view.getFloat32(4 * index, true),
  float64: (view, index) => view.getFloat64(8 * index, true),
  float16: (view, index) => float16(view.getUint16(2 * index, true)),
  bfloat16: (view, index) => bfloat16(view.getUint16(2 * index, true)),
  uint8: (view, index) => view.getUint8(index),
  int8: (view, index) => view.getInt8(index),
  uint16: (view, index) => view.getUint16(2 * index, true),
  int16: (view, index) => view.getInt16(2 * index, true),
  uint32: (view, index) => view.getUint32(4 * index, true),
  int32: (view, index) => view.getInt32(4 * index, true),
  uint64: (view, index) => view.getBigUint64(8 * index, true),
  int64: (view, index) => view.getBigInt64(8 * index, true),
  bool: (view, index) => view.getUint8(index) !== 0,
  complex64: (view, index) => [view.getFloat32(8 * index, true), view.getFloat32(8 * index + 4, true)],
  complex128: (view, index) => [view.getFloat64(16 * index, true), view.getFloat64(16 * index + 8, true)],
  uint4: half,
  int4: (view, index) => (half(view, index) << 28) >> 28,
  float4e2m1: (view, index) => float4(half(view, index)),
  ...Object.fromEntries(Object.entries(eight).map(([name, of]) => [name, (view, index) => of(view.getUint8(index))])),
};

// The types whose elements can be shown.
export const TYPES = Object.keys(READ);

// Returns the bytes of a text in base64.
export function bytesOf(base64) {
  const text = atob(base64);
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

// Returns an element, exactly: a number, a `BigInt`, a boolean, or the two parts of a complex number.
export function element(dtype, bytes, index) {
  return READ[dtype](new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), index);
}

// Returns the numbers that are drawn for `count` elements. That of a complex number is its magnitude.
export function numbersOf(dtype, bytes, count) {
  const read = READ[dtype];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: count }, (_, index) => {
    const value = read(view, index);
    if (!Array.isArray(value)) return Number(value);
    return value.some(Number.isNaN) ? NaN : Math.hypot(...value);
  });
}
