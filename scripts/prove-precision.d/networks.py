"""Draws networks: benign blocks around planted groups of operators (planted.py) that half precision breaks."""

import collections
import contextlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Builder:
    """Collects the nodes of a network. Values are names; the trunk is [batch, rows, width] throughout."""

    def __init__(self, rng, batch, rows, width):
        self.rng, self.batch, self.rows, self.width = rng, batch, rows, width
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [], []
        self.draws, self.kept, self.kinds = {}, [], []
        self.scope, self.names = [], collections.Counter()

    @contextlib.contextmanager
    def within(self, name):
        self.scope.append(name)
        yield
        self.scope.pop()

    @contextlib.contextmanager
    def aside(self):
        """Gives the list of the nodes that are added meanwhile, for a body."""
        outside, self.nodes = self.nodes, []
        yield self.nodes
        self.nodes = outside

    def name(self, last):
        full = "/".join(["", *self.scope, last])
        self.names[full] += 1
        return full if self.names[full] == 1 else f"{full}_{self.names[full] - 1}"

    def op(self, op_type, *inputs, keep=False, outputs=1, **attributes):
        """Adds a node; `keep` marks it as planted."""
        name = self.name(op_type)
        made = [f"{name}_output_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), made, name, **attributes))
        if keep:
            self.kept.append(name)
        return made[0] if outputs == 1 else made

    def weight(self, array, label="weight"):
        """An initializer, or now and then a Constant node."""
        array = np.asarray(array)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        if self.rng.random() < 0.1:
            name = self.name("Constant")
            value = numpy_helper.from_array(array)
            self.nodes.append(helper.make_node("Constant", [], [f"{name}_output_0"], name, value=value))
            return f"{name}_output_0"
        name = self.name(label)
        self.weights[name] = array
        return name

    def number(self, value):
        """A scalar that all nodes of the network share, the lowered ones and the kept ones."""
        name = f"number.{value:g}"
        self.weights[name] = np.array(value, np.float32)
        return name

    def integers(self, *values):
        return self.weight(np.array(values, np.int64), "shape")

    def normal(self, *shape, scale=1.0):
        return self.weight(self.rng.normal(0, scale, shape))

    def input(self, name, shape, draw, elem_type=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, elem_type, shape))
        self.draws[name] = draw
        return name

    def output(self, name, value, shape):
        """Gives a value to the outside under a name."""
        last = next(node for node in self.nodes if value in node.output)
        users = [node for node in self.nodes if value in node.input]
        for node, field in [(last, last.output), *((node, node.input) for node in users)]:
            field[:] = [name if each == value else each for each in field]
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    # What blocks are made of.

    def linear(self, x, width=None, to=None, gain=1.0, bias=None):
        width, to = width or self.width, to or self.width
        x = self.op("MatMul", x, self.normal(width, to, scale=gain / width**0.5))
        if self.rng.random() < 0.5 if bias is None else bias:
            x = self.op("Add", x, self.normal(to, scale=0.1))
        return x

    def norm(self, x, width=None):
        width = width or self.width
        gamma = self.weight(self.rng.uniform(0.8, 1.2, width))
        return self.op("LayerNormalization", x, gamma, self.normal(width, scale=0.1), axis=-1, epsilon=1e-5)

    def activation(self, x):
        return self.op(self.rng.choice(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu"]), x)

    def model(self):
        weights = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        graph = helper.make_graph(self.nodes, "network", self.inputs, self.outputs, weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(made, full_check=True)
        return made


# Benign blocks: each takes the trunk and gives the next one.


def mlp(b, x):
    wide = b.width * int(b.rng.integers(1, 4))
    y = b.activation(b.linear(b.norm(x), to=wide))
    return b.op("Add", x, b.linear(y, wide, gain=0.5))


def gelu(b, x):
    y = b.linear(b.norm(x))
    erf = b.op("Erf", b.op("Div", y, b.number(2**0.5)))
    y = b.op("Mul", b.op("Mul", y, b.op("Add", erf, b.number(1))), b.number(0.5))
    return b.op("Add", x, b.linear(y, gain=0.7))


def gated(b, x):
    y = b.norm(x)
    y = b.op("Mul", b.op("Tanh", b.linear(y)), b.op("Sigmoid", b.linear(y)))
    return b.op("Add", x, b.linear(y))


def attention(b, x):
    heads = int(b.rng.choice([1, 2, 4]))
    y = b.norm(x)

    def split(value, order):
        value = b.op("Reshape", value, b.integers(0, b.rows, heads, b.width // heads))
        return b.op("Transpose", value, perm=order)

    query, key = split(b.linear(y), [0, 2, 1, 3]), split(b.linear(y), [0, 2, 3, 1])
    value = split(b.linear(y), [0, 2, 1, 3])
    if b.rng.random() < 0.3:  # the root of a dimension, as exporters compute it from the shape
        size = b.op("Gather", b.op("Shape", query), b.weight(np.array(-1, np.int64)), axis=0)
        size = b.op("Sqrt", b.op("Cast", size, to=TensorProto.FLOAT))
        scores = b.op("Div", b.op("MatMul", query, key), size)
    else:
        scores = b.op("Mul", b.op("MatMul", query, key), b.number((b.width / heads) ** -0.5))
    y = b.op("MatMul", softmax(b, scores), value)
    y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.integers(0, b.rows, b.width))
    return b.op("Add", x, b.linear(y))


def softmax(b, scores):
    """Softmax as one operator, or written out as it should be."""
    if b.rng.random() < 0.6:
        return b.op("Softmax", scores, axis=-1)
    exp = b.op("Exp", b.op("Sub", scores, b.op("ReduceMax", scores, axes=[-1], keepdims=1)))
    return b.op("Div", exp, b.op("ReduceSum", exp, b.integers(-1), keepdims=1))


def written_norm(b, x):
    """A LayerNorm or an RMSNorm written out, which half precision does no harm."""
    y = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1], keepdims=1)) if b.rng.random() < 0.5 else x
    square = b.op("Pow", y, b.number(2)) if b.rng.random() < 0.6 else b.op("Mul", y, y)
    square = b.op("Add", b.op("ReduceMean", square, axes=[-1], keepdims=1), b.number(1e-3))
    y = b.op("Mul", b.op("Div", y, b.op("Sqrt", square)), b.weight(b.rng.uniform(0.8, 1.2, b.width)))
    return b.op("Add", b.op("Mul", x, b.number(0.5)), b.linear(y, gain=0.7))


def halves(b, x):
    """Two halves that go different ways."""
    first, second = b.op("Split", b.norm(x), outputs=2, axis=-1)
    first, second = b.op("Tanh", first), b.activation(second)
    return b.op("Add", x, b.linear(b.op("Concat", second, first, axis=-1)))


def mixed(b, x):
    """Mixes rows, as MLP-Mixer does."""
    y = b.op("Transpose", b.norm(x), perm=[0, 2, 1])
    y = b.op("Transpose", b.activation(b.linear(y, b.rows, b.rows)), perm=[0, 2, 1])
    return b.op("Add", x, b.linear(y))


def convolved(b, x):
    y = b.op("Transpose", b.norm(x), perm=[0, 2, 1])
    kernel = b.normal(b.width, b.width, 3, scale=(3 * b.width) ** -0.5)
    y = b.activation(b.op("Conv", y, kernel, b.normal(b.width, scale=0.1), kernel_shape=[3], pads=[1, 1]))
    return b.op("Add", x, b.op("Transpose", y, perm=[0, 2, 1]))


def flat(b, x):
    """Gemm on the rows of all batches."""
    y = b.op("Reshape", b.norm(x), b.integers(-1, b.width))
    y = b.op("Gemm", y, b.normal(b.width, b.width, scale=b.width**-0.5), b.normal(b.width, scale=0.1), transB=1)
    y = b.op("Reshape", b.activation(y), b.op("Shape", x))
    return b.op("Add", x, y)


def renewed(b, x):
    return b.norm(x)


BLOCKS = [mlp, gelu, gated, attention, written_norm, halves, mixed, convolved, flat, renewed]


# The ends.


def stem(b):
    """The inputs that the trunk begins with."""
    free = b.rng.random() < 0.2
    batch = "batch" if free else b.batch
    if b.rng.random() < 0.3:
        side = int(b.rng.choice([4, 6]))
        b.rows = side * side // 4
        picture = (b.batch, 3, side, side)
        x = b.input("image", [batch, *picture[1:]], lambda rng: rng.normal(0, 1, picture).astype(np.float32))
        with b.within("stem"):
            x = b.op("Conv", x, b.normal(b.width, 3, 3, 3, scale=27**-0.5), kernel_shape=[3, 3], pads=[1] * 4)
            scale, shift = b.weight(b.rng.uniform(0.8, 1.2, b.width)), b.normal(b.width, scale=0.1)
            mean, variance = b.normal(b.width, scale=0.1), b.weight(b.rng.uniform(0.8, 1.2, b.width))
            x = b.op("Relu", b.op("BatchNormalization", x, scale, shift, mean, variance))
            x = b.op("Conv", x, b.normal(b.width, b.width, 3, 3, scale=(9 * b.width) ** -0.5), kernel_shape=[3, 3], pads=[1] * 4)
            x = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
            x = b.op("Reshape", x, b.integers(0, b.width, b.rows))
            return b.op("Transpose", x, perm=[0, 2, 1])
    tokens = (b.batch, b.rows, b.width)
    if b.rng.random() < 0.3:
        x = b.input(
            "ids", [batch, b.rows], lambda rng: rng.integers(0, 50, tokens[:2]).astype(np.int64), TensorProto.INT64
        )
        with b.within("embedding"):
            x = b.op("Gather", b.normal(50, b.width), x, axis=0)
            mask = b.input("mask", [1, b.rows, 1], lambda rng: rng.integers(0, 2, (1, b.rows, 1)), TensorProto.INT64)
            return b.op("Mul", x, b.op("Add", b.op("Cast", mask, to=TensorProto.FLOAT), b.number(1)))
    x = b.input("x", [batch, *tokens[1:]], lambda rng: rng.normal(0, 1, tokens).astype(np.float32))
    with b.within("stem"):
        return b.linear(x)


def head(b, x, sides):
    batch = b.inputs[0].type.tensor_type.shape.dim[0].dim_param or b.batch
    with b.within("head"):
        x = b.norm(x)
        if sides:
            joined = b.op("Concat", x, *sides, axis=-1)
            x = b.linear(joined, b.width * (1 + len(sides)))
        classes = int(b.rng.integers(10, 40))
        logits = b.linear(x, to=classes)
        pooled = None
        if b.rng.random() < 0.3:
            pooled = b.op("ReduceMean", x, axes=[1], keepdims=0)
            gemm = b.op("Gemm", pooled, b.normal(b.width, b.width, scale=b.width**-0.5), b.normal(b.width, scale=0.1))
            pooled = b.op("Tanh", gemm)
    b.output("logits", logits, [batch, b.rows, classes])
    if pooled:
        b.output("pooled", pooled, [batch, b.width])


def network(rng, size, groups):
    """A network of about `size` operators with these planted groups: functions that take the builder and the trunk."""
    b = Builder(rng, int(rng.integers(1, 4)), int(rng.choice([4, 8, 12])), int(rng.choice([8, 16, 32])))
    x = stem(b)
    places = sorted((float(place), group) for place, group in zip(rng.uniform(0.05, 0.9, len(groups)), groups))
    sides, count = [], 0
    while len(b.nodes) < size or places:
        if places and len(b.nodes) >= places[0][0] * size:
            y = places.pop(0)[1](b, x)
            x, side = joined(b, x, y)
            sides += [side] if side else []
        with b.within(f"blocks.{count}"):
            x = rng.choice(BLOCKS)(b, x)
        count += 1
    head(b, x, sides)
    return b


def joined(b, x, y):
    """The trunk with what a group gave, and what goes past the other blocks to the head."""
    with b.within("join"):
        way = b.rng.choice(["add", "concat", "gate", "head"])
        if way == "add":
            return b.op("Add", b.norm(x), y), None
        if way == "concat":
            full = b.op("Add", y, b.op("Mul", x, b.number(0.25)))
            return b.linear(b.op("Concat", x, full, axis=-1), 2 * b.width), None
        if way == "gate":
            return b.op("Add", b.op("Mul", b.norm(x), b.op("Sigmoid", y)), y), None
        return b.op("Add", x, b.op("Tanh", y)), b.op("Add", y, b.op("Mul", x, b.number(0.1)))
