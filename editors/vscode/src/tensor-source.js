// What the view shows of a tensor, by requests to the adapter. `ask(command, arguments)` makes a request.

const BITS = { bool: 8, string: 0 };

// The bits of an element of a type, which end the name of most types: `float32`, `bfloat16`, `int4`, `float8e5m2`.
function bitsOf(dtype) {
  return BITS[dtype] ?? Number(/^[a-z]+(\d+)/.exec(dtype)?.[1] ?? 0);
}

// Returns where a thread is stopped: the number and the name of the frame of its operator.
async function place(ask, threadId) {
  const { stackFrames } = await ask("stackTrace", { threadId, startFrame: 0, levels: 1 });
  return { frameId: stackFrames[0].id, name: stackFrames[0].name };
}

// Returns the statistics of a tensor, and the counts of its elements by powers of two. Its elements are not read.
async function describe(ask, frameId, tensor) {
  const { statistics, histogram } = await ask("opscope/tensor", { expression: tensor, frameId });
  return { statistics, histogram };
}

// Reads the elements of a part of a tensor, which has to be small: the adapter sends a mebibyte at most.
async function read(ask, frameId, tensor, slice) {
  const { statistics, memoryReference } = await ask("opscope/tensor", { expression: tensor + slice, frameId });
  const count = Math.ceil((statistics.count * bitsOf(statistics.dtype)) / 8);
  const { data = "" } = count > 0 ? await ask("readMemory", { memoryReference, offset: 0, count }) : {};
  return { dtype: statistics.dtype, shape: statistics.shape, data };
}

module.exports = { bitsOf, describe, place, read };
