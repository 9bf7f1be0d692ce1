// Colours of numbers. Each is a list of red, green and blue.

// From dark to light, for numbers on one side of zero (viridis).
const SEQUENTIAL = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [109, 205, 89],
  [180, 222, 44], [253, 231, 37],
];

// From blue to red with white at zero, for numbers on both sides.
const DIVERGING = [
  [5, 48, 97], [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [247, 247, 247], [253, 219, 199],
  [244, 165, 130], [214, 96, 77], [178, 24, 43], [103, 0, 31],
];

// The colours of what is not finite lie far from all others.
export const NAN = [255, 0, 255];
export const INFINITE = [255, 140, 0];
export const MINUS_INFINITE = [0, 255, 255];

// Returns the scale of the numbers from `min` to `max`. If they lie on both sides of zero, it is symmetric.
export function scaleOf(min, max) {
  if (!(Number.isFinite(min) && Number.isFinite(max))) return { min: 0, max: 0, stops: SEQUENTIAL };
  if (min < 0 && max > 0) {
    const most = Math.max(-min, max);
    return { min: -most, max: most, stops: DIVERGING };
  }
  return { min, max, stops: SEQUENTIAL };
}

// Returns the lowest and the highest finite number; `undefined` if there is none.
export function rangeOf(numbers) {
  let [min, max] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (Number.isFinite(number)) {
      min = Math.min(min, number);
      max = Math.max(max, number);
    }
  }
  return min <= max ? { min, max } : undefined;
}

// Returns the colour of a number.
export function colourOf(number, scale) {
  if (Number.isNaN(number)) return NAN;
  if (!Number.isFinite(number)) return number > 0 ? INFINITE : MINUS_INFINITE;
  // Halves, because the difference of two numbers may be infinite.
  const length = scale.max / 2 - scale.min / 2;
  const part = length > 0 ? (number / 2 - scale.min / 2) / length : 0.5;
  return at(scale.stops, Math.min(Math.max(part, 0), 1));
}

// Returns the pixels of numbers, four bytes for each.
export function pixelsOf(numbers, scale) {
  const pixels = new Uint8ClampedArray(4 * numbers.length);
  numbers.forEach((number, index) => pixels.set([...colourOf(number, scale), 255], 4 * index));
  return pixels;
}

function at(stops, part) {
  const place = part * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  return stops[below].map((from, channel) => Math.round(from + (stops[below + 1][channel] - from) * (place - below)));
}
