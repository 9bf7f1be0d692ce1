// The bars of a histogram, whose bins are powers of two, from the lowest number to the highest.

// Returns a bar for each bin, with its height from 0 to 1.
export function bars(bins, isLogarithmic) {
  const of = (count) => (isLogarithmic ? Math.log2(count + 1) : count);
  const most = Math.max(...bins.map((bin) => bin.count), 1);
  return bins.map((bin) => ({ ...bin, height: of(bin.count) / of(most) }));
}

// Returns which bars have a label under them: the ones at both ends, zero, and some between, `most` at most.
export function labelled(bins, most) {
  const zero = Math.max(bins.findIndex((bin) => bin.to === 0), 0);
  const step = Math.max(Math.ceil(bins.length / most), 1);
  return bins.map((_, index) => (index - zero) % step === 0);
}

// Returns the numbers of a bin as text: `[1, 2)`, and of a negative one `(-2, -1]`.
export function rangeText(bin, text) {
  if (bin.to === 0) return "0";
  return bin.to > 0 ? `[${text(bin.from)}, ${text(bin.to)})` : `(${text(bin.to)}, ${text(bin.from)}]`;
}
