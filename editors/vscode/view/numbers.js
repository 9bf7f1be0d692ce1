// Numbers as text.

// Returns a number in at most five digits, for people.
export function short(number) {
  if (number === null || number === undefined) return "none";
  if (!Number.isFinite(number)) return special(number);
  const size = Math.abs(number);
  if (number === 0 || (size >= 1e-4 && size < 1e7)) return String(Number(number.toPrecision(size >= 1e5 ? 7 : 5)));
  return number.toExponential(3).replace("e+", "e");
}

// Returns a power of two, or zero, in a few characters: `0.25`, `2^-30`.
export function power(number) {
  const text = String(number);
  return text.length <= 6 ? text : `${number < 0 ? "-" : ""}2^${Math.round(Math.log2(Math.abs(number)))}`;
}

// Returns the shortest text that reads back as an element of this type.
export function exact(dtype, value) {
  if (Array.isArray(value)) {
    const part = dtype === "complex64" ? "float32" : "float64";
    const [real, imaginary] = value.map((number) => exact(part, number));
    return `${real}${/^[-+]/.test(imaginary) ? "" : "+"}${imaginary}j`;
  }
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return special(value);
  if (Object.is(value, -0)) return "-0";
  if (dtype !== "float32") return String(value);
  for (let digits = 1; digits < 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return String(rounded);
  }
  return String(Number(value.toPrecision(9)));
}

function special(number) {
  if (Number.isNaN(number)) return "NaN";
  return number > 0 ? "inf" : "-inf";
}
