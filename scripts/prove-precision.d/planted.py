"""The groups of operators that half precision breaks, by kind. A group takes the trunk, of any scale, and gives as much, of scale 1,
that depends on each of its marked operators."""

import numpy as np
from onnx import TensorProto, helper

LONGEST = 4000
"""As many elements have the inputs that are counted."""


def uniform(b, low, high):
    return float(np.float32(b.rng.uniform(low, high)))


# Overflow: squares above 65,504, and what takes them.


def rms_overflow(b, x, room):
    scale = uniform(b, 300, 1500)
    y = b.op("Mul", b.norm(x), b.number(scale))
    square = b.op("Pow", y, b.number(2), keep=True) if b.rng.random() < 0.7 else b.op("Mul", y, y, keep=True)
    if b.rng.random() < 0.5:
        total, by = b.op("ReduceMean", square, axes=[-1], keepdims=1, keep=True), 1.0
    else:
        total, by = b.op("ReduceSum", square, b.integers(-1), keepdims=1, keep=True), b.width**0.5
    if room > 3 and b.rng.random() < 0.5:
        total = b.op("Add", total, b.number(1e-3), keep=True)
    root = b.op("Sqrt", total, keep=True)
    return b.linear(b.op("Div", y, root), gain=by)


def sum_overflow(b, x, room):
    """The squares are small enough, their sum is not."""
    scale = uniform(b, 1.3, 2) * (70_000 / (b.rows * b.width)) ** 0.5
    y = b.op("Mul", b.norm(x), b.number(scale))
    total = b.op("ReduceSum", b.op("Mul", y, y), b.integers(-2, -1), keepdims=1, keep=True)
    y = b.op("Div", y, b.op("Sqrt", total, keep=True))
    return b.linear(y, gain=(b.rows * b.width) ** 0.5)


# Softmax without the maximum subtracted.


def softmax_overflow(b, x, room):
    scores = b.linear(b.norm(x), gain=uniform(b, 9, 13), bias=False)
    return b.linear(written_softmax(b, scores), gain=b.width**0.5)


def softmax_attention(b, x, room):
    y = b.norm(x)
    key = b.op("Transpose", b.linear(y, bias=False), perm=[0, 2, 1])
    scores = b.op("MatMul", b.linear(y, gain=uniform(b, 10, 14) / b.width**0.5, bias=False), key)
    return b.op("MatMul", written_softmax(b, scores), b.linear(y))


def written_softmax(b, scores):
    exp = b.op("Exp", scores, keep=True)
    return b.op("Div", exp, b.op("ReduceSum", exp, b.integers(-1), keepdims=1, keep=True), keep=True)


# Sums of what float16 has no normal numbers for.


def softmax_underflow(b, x, room):
    scores = b.op("Sub", b.op("Mul", b.norm(x), b.number(uniform(b, 1, 1.5))), b.number(uniform(b, 24, 28)))
    return b.linear(written_softmax(b, scores), gain=b.width**0.5)


def tiny_variance(b, x, room):
    y = b.op("Mul", b.norm(x), b.number(uniform(b, 1.2e-4, 2.5e-4)))
    square = b.op("Pow", y, b.number(2), keep=True) if b.rng.random() < 0.5 else b.op("Mul", y, y, keep=True)
    mean = b.op("ReduceMean", square, axes=[-1], keepdims=1, keep=True)
    if room > 3 and b.rng.random() < 0.5:
        mean = b.op("Add", mean, b.number(1e-12), keep=True)
    return b.linear(b.op("Div", y, b.op("Sqrt", mean, keep=True)))


def tiny_product(b, x, room):
    y, size = b.norm(x), uniform(b, 0.8e-4, 2e-4)
    one, other = (b.op("Mul", b.linear(y), b.number(size)) for _ in range(2))
    product = b.op("Mul", one, other, keep=True)
    if b.rng.random() < 0.5:
        total = b.op("ReduceSum", product, b.integers(-1), keepdims=1, keep=True)
    else:
        total = b.op("MatMul", product, b.normal(b.width, b.width, scale=b.width**-0.5), keep=True)
    y = b.op("Div", total, b.number(size**2 * 2), keep=True)
    return b.op("Mul", b.op("Tanh", y), b.linear(b.norm(x)))


# Long accumulations, where what is added is less than the distance of two numbers of float16.


def window_sums(b, x, room):
    """Sums over windows, as differences of a running sum."""
    length, half = b.rows * b.width, b.rows * b.width // 2
    y = b.op("Mul", b.op("Sigmoid", b.linear(b.norm(x), gain=1.5)), b.number(uniform(b, 8000, 16_000) / length))
    y = b.op("Reshape", b.op("Add", y, b.number(uniform(b, 20_000, 30_000) / length)), b.integers(0, length))
    running = b.op("CumSum", y, b.weight(np.array(-1, np.int64)), keep=True)
    late = b.op("Slice", running, b.integers(half), b.integers(length), b.integers(-1), keep=True)
    early = b.op("Slice", running, b.integers(half - 1), b.integers(length - 1), b.integers(-1), keep=True)
    y = b.op("Sub", late, early, keep=True)
    y = b.norm(b.op("Reshape", y, b.integers(0, b.rows, b.width // 2)), b.width // 2)
    return b.linear(y, b.width // 2)


def stalled_chain(b, x, room):
    """A chain of additions to a large value, of which the large value is taken again."""
    y, far = b.norm(x), uniform(b, 3000, 8000)
    total = b.op("Add", y, b.number(far), keep=True)
    steps = int(b.rng.integers(1, max(2, room - 1)))
    for _ in range(min(steps, room - 2)):
        total = b.op("Add", total, b.linear(y, gain=0.7), keep=True)
    return b.linear(b.op("Sub", total, b.number(far), keep=True))


def long_loop(b, x, room):
    """Many additions in a loop, as many as the built-in engine allows. The operator that has to stay wide is in the body."""
    count, name = int(b.rng.integers(800, 1001)), b.name("Loop")
    step = b.op("Mul", b.op("Sigmoid", b.linear(b.norm(x), gain=1.5)), b.number(uniform(b, 1, 4)))
    with b.within(name.rsplit("/")[-1]), b.aside() as nodes:
        go_on = b.op("Identity", f"{name}_more")
        total = b.op("Add", f"{name}_total", step, keep=True)
    shape = [b.inputs[0].type.tensor_type.shape.dim[0].dim_param or b.batch, b.rows, b.width]
    values = [("index", TensorProto.INT64, []), ("more", TensorProto.BOOL, []), ("total", TensorProto.FLOAT, shape)]
    values = [helper.make_tensor_value_info(f"{name}_{each}", *of) for each, *of in values]
    results = [(go_on, TensorProto.BOOL, []), (total, TensorProto.FLOAT, shape)]
    body = helper.make_graph(nodes, "body", values, [helper.make_tensor_value_info(*each) for each in results])
    trips, always = b.weight(np.array(count, np.int64), "trips"), b.weight(np.array(True), "always")
    b.nodes.append(helper.make_node("Loop", [trips, always, b.norm(x)], [f"{name}_output_0"], name, body=body))
    return b.linear(b.norm(b.op("Mul", f"{name}_output_0", b.number(1 / count))))


# Counts above 2,048, which float16 has only every second one of.


def ones(b, length, name="counted", rows=None):
    """An input of ones and few zeros, as a mask is, and the value of it as float32."""
    shape = (rows, length) if rows else (1, length)
    name = b.name(name).strip("/")
    if b.rng.random() < 0.5:
        draw = lambda rng: (rng.random(shape) < 0.98).astype(np.int64)  # noqa: E731
        value = b.input(name, list(shape), draw, TensorProto.INT64)
        return b.op("Cast", value, to=TensorProto.FLOAT)
    value = b.input(name, list(shape), lambda rng: rng.uniform(-0.1, 4, shape).astype(np.float32))
    return b.op("Sign", b.op("Relu", value))


def count_positions(b, x, room):
    """Positions from a mask, as RoBERTa has them, look up a table."""
    length = int(b.rng.integers(3400, LONGEST))
    position = b.op("CumSum", ones(b, length), b.weight(np.array(1, np.int64)), keep=True)
    if room > 1 and b.rng.random() < 0.5:
        position = b.op("Add", position, b.number(1), keep=True)
    index = b.op("Cast", position, to=TensorProto.INT64)
    rows = b.op("Gather", b.normal(length + 2, 2), index, axis=0)
    return taken(b, rows, length, 2)


def count_angles(b, x, room):
    """The sine of a position."""
    length = int(b.rng.integers(3400, LONGEST))
    position = b.op("CumSum", ones(b, length), b.weight(np.array(1, np.int64)), keep=True)
    angle = b.op("Mul", position, b.number(uniform(b, 0.6, 0.9)), keep=True)
    return taken(b, b.op(str(b.rng.choice(["Sin", "Cos"])), angle, keep=True), length, 1, gain=1.4)


def count_last(b, x, room):
    """The last element that a mask leaves."""
    length = int(b.rng.integers(3400, LONGEST))
    count = b.op("ReduceSum", ones(b, length, rows=b.rows), b.integers(-1), keepdims=0, keep=True)
    if room > 1:
        count = b.op("Sub", count, b.number(1), keep=True)
    index = b.op("Cast", count, to=TensorProto.INT64)
    rows = b.op("Gather", b.normal(length + 1, b.width), index, axis=0)
    return b.op("Unsqueeze", b.linear(rows), b.integers(0))


def taken(b, value, length, each, gain=1.0):
    """The last elements of a long value, as much as the trunk has in one batch."""
    count = b.rows * b.width
    value = b.op("Reshape", value, b.integers(1, length * each))
    value = b.op("Slice", value, b.integers(length * each - count), b.integers(length * each), b.integers(1))
    return b.linear(b.op("Reshape", value, b.integers(1, b.rows, b.width)), gain=gain)


# Cancellation: LayerNorm written out, of values with a large mean.


def far_mean(b, x, room):
    y = b.op("Add", b.norm(x), b.number(uniform(b, 3000, 8000)), keep=True)
    mean = b.op("ReduceMean", y, axes=[-1], keepdims=1, keep=True)
    y = b.op("Sub", y, mean, keep=True)
    variance = b.op("ReduceMean", b.op("Pow", y, b.number(2)), axes=[-1], keepdims=1)
    return b.linear(b.op("Div", y, b.op("Sqrt", b.op("Add", variance, b.number(1e-5)))))


def mean_of_squares(b, x, room):
    """The variance as the mean of the squares minus the square of the mean."""
    y = b.op("Add", b.norm(x), b.number(uniform(b, 35, 60)))
    squares = b.op("ReduceMean", b.op("Mul", y, y, keep=True), axes=[-1], keepdims=1, keep=True)
    mean = b.op("ReduceMean", y, axes=[-1], keepdims=1, keep=True)
    variance = b.op("Sub", squares, b.op("Mul", mean, mean, keep=True), keep=True)
    y = b.op("Sub", y, mean)
    return b.linear(b.op("Div", y, b.op("Sqrt", b.op("Add", variance, b.number(1e-3)))))


KINDS = {
    "overflow": [(3, rms_overflow), (2, sum_overflow)],
    "softmax": [(3, softmax_overflow), (3, softmax_attention)],
    "subnormal": [(3, softmax_underflow), (3, tiny_variance), (3, tiny_product)],
    "accumulation": [(4, window_sums), (3, stalled_chain), (1, long_loop)],
    "count": [(1, count_positions), (3, count_angles), (1, count_last)],
    "cancellation": [(3, far_mean), (5, mean_of_squares)],
}
"""The groups of each kind, with the fewest operators that they plant."""
