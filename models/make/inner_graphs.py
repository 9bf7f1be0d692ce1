"""Models of what only some engines run or show: operators in bodies, branches side by side, rare types."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from graph import IR_VERSION, PRODUCER, save

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def write(root):
    """Writes the models into the empty directory `root`."""
    root.mkdir()
    for name, make in MODELS.items():
        save(make(), root / f"{name}.onnx")


def value(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op_type, inputs, outputs, name="", **attributes):
    return helper.make_node(op_type, inputs, outputs, name=name, **attributes)


def model(nodes, inputs, outputs, weights=None, opset=21, domains=()):
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "main", inputs, outputs, tensors)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    made = helper.make_model(graph, opset_imports=imports, producer_name=PRODUCER)
    made.ir_version = max(IR_VERSION, 10)
    onnx.checker.check_model(made)
    return made


def body(nodes, inputs, outputs, weights=None):
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    return helper.make_graph(nodes, "body", inputs, outputs, tensors)


def nested_loops():
    """A loop of three iterations, in which one of two runs and an If of each iteration adds or subtracts the outer input."""
    inner = body(
        [node("Add", ["c", "bias"], ["c2"], "add"), node("Identity", ["go2"], ["go2_out"], "keep")],
        [value("k", INT64, []), value("go2", BOOL, []), value("c", FLOAT, [2])],
        [value("go2_out", BOOL, []), value("c2", FLOAT, [2])],
    )
    plus = body([node("Add", ["b", "x"], ["r"], "plus")], [], [value("r", FLOAT, [2])])
    minus = body([node("Sub", ["b", "x"], ["r"], "minus")], [], [value("r", FLOAT, [2])])
    outer = body(
        [
            node("Loop", ["two", "", "a"], ["b"], "inner", body=inner),
            node("Mod", ["i", "two"], ["odd_number"], "mod"),
            node("Cast", ["odd_number"], ["odd"], "cast", to=BOOL),
            node("If", ["odd"], ["a2"], "choose", then_branch=plus, else_branch=minus),
            node("Identity", ["go"], ["go_out"], "keep"),
        ],
        [value("i", INT64, []), value("go", BOOL, []), value("a", FLOAT, [2])],
        [value("go_out", BOOL, []), value("a2", FLOAT, [2]), value("b", FLOAT, [2])],
    )
    return model(
        [node("Relu", ["x0"], ["x"], "relu"), node("Loop", ["three", "", "x"], ["y", "steps"], "outer", body=outer)],
        [value("x0", FLOAT, [2])],
        [value("y", FLOAT, [2]), value("steps", FLOAT, [3, 2])],
        {"two": np.array(2), "three": np.array(3), "bias": np.array([1, 2], np.float32)},
    )


def scan():
    """The running sum of rows."""
    step = body(
        [node("Add", ["sum", "row"], ["sum2"], "add"), node("Mul", ["sum2", "half"], ["out"], "scale")],
        [value("sum", FLOAT, [2]), value("row", FLOAT, [2])],
        [value("sum2", FLOAT, [2]), value("out", FLOAT, [2])],
        {"half": np.array(0.5, np.float32)},
    )
    return model(
        [node("Scan", ["start", "rows"], ["total", "outs"], "scan", body=step, num_scan_inputs=1)],
        [value("start", FLOAT, [2]), value("rows", FLOAT, ["n", 2])],
        [value("total", FLOAT, [2]), value("outs", FLOAT, ["n", 2])],
    )


def branches():
    """Four branches side by side, of several operators each, that share their input and meet in two sums."""
    nodes = [node("Relu", ["x"], ["shared"], "shared")]
    for branch in range(4):
        taken = "shared"
        for step, op_type in enumerate(["Neg", "Exp", "Sqrt", "Abs"]):
            made = f"b{branch}_{step}"
            nodes.append(node(op_type, [taken], [made], made))
            taken = made
    nodes += [
        node("Sum", ["b3_3", "shared", "b0_3"], ["left"], "left"),
        node("Sum", ["b1_3", "b2_3", "x"], ["right"], "right"),
        node("Mul", ["left", "right"], ["y"], "join"),
        node("Split", ["y"], ["top", "bottom"], "split", axis=0, num_outputs=2),
        node("Sub", ["bottom", "top"], ["difference"], "difference"),
    ]
    return model(nodes, [value("x", FLOAT, [4, 3])], [value("y", FLOAT, [4, 3]), value("difference", FLOAT, [2, 3])])


def sequences():
    """A tensor is split into a sequence, whose elements are taken and put together; an optional; and strings."""
    nodes = [
        node("SplitToSequence", ["x", "ones"], ["parts"], "split", axis=0),
        node("SequenceAt", ["parts", "first"], ["one"], "take"),
        node("SequenceInsert", ["parts", "one"], ["more"], "insert"),
        node("ConcatFromSequence", ["more"], ["y"], "join", axis=0),
        node("Optional", ["one"], ["maybe"], "wrap"),
        node("OptionalGetElement", ["maybe"], ["certain"], "unwrap"),
        node("Cast", ["certain"], ["text"], "print", to=TensorProto.STRING),
        node("Cast", ["text"], ["number"], "parse", to=FLOAT),
    ]
    outputs = [value("y", FLOAT, ["n", 2]), value("number", FLOAT, [1, 2])]
    return model(nodes, [value("x", FLOAT, [3, 2])], outputs, {"ones": np.array([1, 1, 1]), "first": np.array(0)})


def low_bits():
    """A tensor in every type that numpy lacks."""
    kinds = [("bf16", TensorProto.BFLOAT16), ("e4m3fn", TensorProto.FLOAT8E4M3FN), ("e5m2", TensorProto.FLOAT8E5M2)]
    kinds += [("int4", TensorProto.INT4), ("uint4", TensorProto.UINT4)]
    nodes, outputs = [], []
    for name, dtype in kinds:
        nodes.append(node("Cast", ["x"], [name], f"to_{name}", to=dtype))
        nodes.append(node("Cast", [name], [f"{name}_back"], f"from_{name}", to=FLOAT))
        outputs.append(value(f"{name}_back", FLOAT, [5]))
    return model(nodes, [value("x", FLOAT, [5])], outputs)


def batch_norm():
    """A convolution and a batch normalisation, whose five inputs an engine that fuses them never sees."""
    generator = np.random.default_rng(0)
    weights = {"w": generator.random((4, 1, 3, 3), np.float32)}
    for name in ["scale", "shift", "mean", "variance"]:
        weights[name] = generator.random(4, np.float32) + 0.5
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv", kernel_shape=[3, 3]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"], "norm"),
        node("Relu", ["n"], ["y"], "relu"),
    ]
    return model(nodes, [value("x", FLOAT, [1, 1, 8, 8])], [value("y", FLOAT, [1, 4, 6, 6])], weights)


def constant_operators():
    """Operators that take nothing but constants, and one that takes nothing at all."""
    nodes = [
        node("Range", ["zero", "four", "one"], ["numbers"], "range"),
        node("Constant", [], ["held"], "held", value_floats=[1.0, 2.0, 3.0, 4.0]),
        node("Cast", ["numbers"], ["floats"], "cast", to=FLOAT),
        node("Mul", ["floats", "held"], ["products"], "products"),
        node("SequenceEmpty", [], ["none"], "none", dtype=FLOAT),
        node("SequenceInsert", ["none", "products"], ["some"], "some"),
        node("SequenceLength", ["some"], ["length"], "length"),
        node("Add", ["x", "products"], ["y"], "add"),
    ]
    weights = {"zero": np.array(0), "four": np.array(4), "one": np.array(1)}
    return model(nodes, [value("x", FLOAT, [4])], [value("y", FLOAT, [4]), value("length", INT64, [])], weights)


def unknown_ranks():
    """Operators of several outputs, of which not even the number of dimensions is known before a run, and which go different ways."""
    nodes = [
        node("Reshape", ["x", "sizes"], ["shaped"], "shape"),
        node("Split", ["shaped"], ["top", "bottom"], "split", axis=0, num_outputs=2),
        node("Relu", ["top"], ["positive"], "relu"),
        node("Exp", ["positive"], ["large"], "exp"),
        node("Neg", ["bottom"], ["negative"], "neg"),
        node("Add", ["large", "negative"], ["sums"], "add"),
        node("TopK", ["sums", "one"], ["most", "places"], "top_k"),
        node("Abs", ["most"], ["y"], "abs"),
        node("Cast", ["places"], ["columns"], "cast", to=FLOAT),
        node("Mul", ["columns", "y"], ["products"], "mul"),
        node("ReduceSum", ["products"], ["z"], "sum", keepdims=0),
    ]
    inputs = [value("x", FLOAT, [4, 3]), value("sizes", INT64, ["rank"])]
    return model(nodes, inputs, [value("z", FLOAT, [])], {"one": np.array([1])})


def huge():
    """Asks for more memory than any machine has, in a shape that only the rules of its operators tell."""
    nodes = [node("Expand", ["x", "wide"], ["big"], "expand"), node("ReduceSum", ["big"], ["y"], "sum", keepdims=0)]
    weights = {"wide": np.array([1 << 20, 1 << 20, 1 << 12])}
    return model(nodes, [value("x", FLOAT, [1])], [value("y", FLOAT, [])], weights)


MODELS = {
    "nested_loops": nested_loops,
    "scan": scan,
    "branches": branches,
    "sequences": sequences,
    "low_bits": low_bits,
    "batch_norm": batch_norm,
    "constant_operators": constant_operators,
    "unknown_ranks": unknown_ranks,
    "huge": huge,
}
