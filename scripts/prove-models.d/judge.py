"""How far apart two arrays may be.

- float32 and float64, as scripts/prove-values does: each element within 0.1 % of ONNX Runtime's, and besides within 5e-5
  of the tensor's largest element.
- float16: within 2 % of the largest element, and a cosine of at least 0.999. ONNX Runtime computes such operators in
  single precision and rounds; others need not.
- integers of 8 bits of a quantised model: at most one step apart, for a rounding may fall to either side.
- all else is equal.
- What a Sigmoid makes may besides be 1e-6 apart, for it is approximated: both are off by some 1e-7 where it is nearly 0.

What misses that in a dump is not yet wrong: differences grow from operator to operator, and one step of quantisation
does so fast. So the operator that made it is computed again by ONNX Runtime, from the inputs that the dump has for
it. Where the result agrees as said above, the difference was carried in, and the operator is right.

Outputs of the optimised run have no such second look. They may be 2 % of the largest element apart, with a cosine of
0.999; those of a quantised model 10 %, with 0.99.
"""

import numpy as np

RELATIVE = 1e-3
OF_MAX = 5e-5
COARSE = (0.02, 0.999)
CARRIED = (0.1, 0.99)
FLOOR = {"Sigmoid": 1e-6}
"""How far apart the values of an operator type may be in any case."""
QUANTISED = ("QuantizeLinear", "DynamicQuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul")


def precision(model):
    """`single`, `half` or `int8`."""
    if any(node.op_type in QUANTISED for graph in graphs(model.graph) for node in graph.node):
        return "int8"
    types = {each.data_type for graph in graphs(model.graph) for each in graph.initializer}
    types |= {each.type.tensor_type.elem_type for each in model.graph.input}
    return "half" if 10 in types else "single"


def graphs(graph):
    """The graph and the bodies within it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from graphs(body)


def compared(found, expected, precision, kind=None):
    """What is wrong with an array, if anything; and its largest difference, as a share of the largest element."""
    problem, difference, x, y = measured(found, expected)
    if problem or x is None:
        return problem, difference
    if near(x, y, kind):
        right = True
    elif expected.dtype == np.float16:
        right = within(difference, x, y, COARSE)
    elif expected.dtype.kind == "f":
        right = np.all(np.abs(x - y) <= RELATIVE * np.abs(y) + OF_MAX * np.max(np.abs(y), initial=0.0))
    elif precision == "int8" and expected.dtype.itemsize == 1:
        right = np.all(np.abs(x - y) <= 1)
    else:
        right = np.array_equal(x, y)
    return None if right else f"it is {difference:.2g} of the largest element apart", difference


def carried(found, expected, precision, kind=None):
    """The same for an output at the end of a chain of operators."""
    problem, difference, x, y = measured(found, expected)
    bounds = CARRIED if precision == "int8" else COARSE
    if problem is None and x is not None and not near(x, y, kind) and not within(difference, x, y, bounds):
        problem = f"it is {difference:.2g} of the largest element apart"
    return problem, difference


def near(x, y, kind):
    return kind in FLOOR and bool(np.all(np.abs(x - y) <= FLOOR[kind]))


def within(difference, x, y, bounds):
    size = np.linalg.norm(x) * np.linalg.norm(y)
    return difference <= bounds[0] and (size == 0 or float(np.sum(x * y)) / size >= bounds[1])


def measured(found, expected):
    """A problem that no tolerance allows, the difference, and the finite elements of both as float64."""
    if found is None:
        return "it is not whole, or of a type that npy does not have", None, None, None
    if found.dtype != expected.dtype:
        return f"its type is {found.dtype}, ONNX Runtime's {expected.dtype}", None, None, None
    if found.shape != expected.shape:
        return f"its shape is {found.shape}, ONNX Runtime's {expected.shape}", None, None, None
    if expected.dtype.kind not in "fiu":
        return (None, 0.0, None, None) if np.array_equal(found, expected) else ("its elements are others", None, None, None)
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return "NaN or infinity is elsewhere", None, None, None
    x, y = (array[finite].astype(np.float64) for array in (found, expected))
    largest = np.max(np.abs(y), initial=0.0)
    apart = float(np.max(np.abs(x - y), initial=0.0))
    if not np.isfinite(apart):
        return "NaN or infinity is elsewhere", None, None, None
    return None, apart / largest if largest else apart, x, y
