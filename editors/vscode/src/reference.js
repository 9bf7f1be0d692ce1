// References to tensors: `output[0]`, `value("name")`, and a part of one, such as `output[0][3, :4]`.

const TENSOR = /^\s*(?:(?:input|output|weight)(?:\s*\[\s*\d+\s*\])?|value\s*\(\s*"(?:[^"\\]|\\.)*"\s*\))/;

// Splits a reference into the tensor and the index at which the reference points in it: a number for each of the first
// axes, as far as they are numbers. Returns `undefined` for what does not name a tensor.
function split(reference) {
  const found = TENSOR.exec(reference);
  if (!found) return undefined;
  const part = reference.slice(found[0].length).trim();
  if (part !== "" && !/^\[.*\]$/.test(part)) return undefined;
  const index = [];
  for (const entry of part.slice(1, -1).split(",")) {
    if (!/^\s*\d+\s*$/.test(entry)) break;
    index.push(Number(entry));
  }
  return { tensor: found[0].trim(), index };
}

module.exports = { split };
