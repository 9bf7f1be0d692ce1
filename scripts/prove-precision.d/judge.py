"""An independent reading of `opscope precision`: which operators are candidates, what a model gives when all but some of them are
in half precision, and what a target says of that.

A model is judged as one float32 model that ONNX Runtime runs without optimisations, in which the values that half precision would
round go through Cast to float16 and Cast back. ONNX Runtime keeps these pairs; `node_by_node` computes the same with numpy's
rounding, for tests of that.
"""

import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
OF_SHAPES = {"Shape", "Size"}
CONTROL = {"Loop", "If", "Scan"}


# What can be lowered.


def bodies(node):
    return [each.g for each in node.attribute if each.type == onnx.AttributeProto.GRAPH]


def types(model):
    """The element type of each value, by name. Names are unique in the networks, bodies included."""
    found = {}

    def read(graph):
        for value in [*graph.input, *graph.value_info, *graph.output]:
            found[value.name] = value.type.tensor_type.elem_type
        for weight in graph.initializer:
            found[weight.name] = weight.data_type
        for node in graph.node:
            for body in bodies(node):
                read(body)

    read(onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph)
    return found


def candidates(model):
    """The nodes that may become half precision, by name: they take or give float32 values and depend on the data of an input."""
    of, found = types(model), {}

    def visit(graph, data):
        for node in graph.node:
            if node.op_type in OF_SHAPES:
                continue
            outer = {name for body in bodies(node) for each in body.node for name in each.input}
            if not data & {*node.input, *outer}:
                continue
            for body in bodies(node):
                visit(body, data | {value.name for value in body.input})
            data.update(name for name in node.output if name)
            floats = any(of.get(name) == FLOAT for name in [*node.input, *node.output])
            if floats and node.op_type != "Cast" and node.op_type not in CONTROL:
                found[node.name] = node

    weights = {weight.name for weight in model.graph.initializer}
    visit(model.graph, {value.name for value in model.graph.input} - weights)
    return found


# What a model gives when it is lowered.


def half(array):
    """A float32 array, rounded to what float16 has."""
    with np.errstate(all="ignore"):
        return array.astype(np.float16).astype(np.float32)


def pair(name, to):
    """The nodes that round a value."""
    down = helper.make_node("Cast", [name], [f"{to}/half"], f"{to}/down", to=HALF)
    return [down, helper.make_node("Cast", [f"{to}/half"], [to], f"{to}/up", to=FLOAT)]


def lowered(model, low):
    """The model in float32, with its values rounded as if the nodes of these names were in half precision."""
    of = types(model)
    result = onnx.ModelProto()
    result.CopyFrom(model)
    lower(result.graph, low, of, {})
    return result


def lower(graph, low, of, outer):
    """Rounds in a graph; `outer` has the name of what is rounded already, for each value of the graphs around it."""
    rounded, nodes = dict(outer), []
    weights = {weight.name: weight for weight in graph.initializer}

    def taken(name):
        if of.get(name) != FLOAT:
            return name
        if name not in rounded:
            rounded[name] = f"{name}/rounded"
            if name in weights:
                graph.initializer.append(numpy_helper.from_array(half(numpy_helper.to_array(weights[name])), rounded[name]))
            else:
                nodes.extend(pair(name, rounded[name]))
        return rounded[name]

    for node in graph.node:
        for body in bodies(node):
            lower(body, low, of, rounded)
        if node.name not in low:
            nodes.append(node)
            continue
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[:] = [taken(name) for name in node.input]
        nodes.append(changed)
        for index, name in enumerate(node.output):
            if of.get(name) == FLOAT:
                changed.output[index] = f"{name}/wide"
                nodes.extend(pair(f"{name}/wide", name))
                rounded[name] = name
    made = onnx.GraphProto(node=nodes)
    graph.ClearField("node")
    graph.node.extend(made.node)


def session(model, optimised=False):
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.enable_mem_reuse = False  # its plan takes seconds for large models of free dimensions
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def outputs(model, sets, optimised=False):
    """The outputs of a model for each set of inputs."""
    made = session(model, optimised)
    return [made.run(None, each) for each in sets]


def node_by_node(model, low, feeds):
    """The same as the outputs of `lowered`, computed a node at a time with numpy's rounding; for models without bodies."""
    of = types(model)
    weights = {weight.name: weight for weight in model.graph.initializer}
    values = dict(feeds)
    for node in model.graph.node:
        is_low = node.name in low
        alone, inputs, known, run = onnx.NodeProto(), [], [], {}
        alone.CopyFrom(node)
        for index, name in enumerate(node.input):
            if not name:
                continue
            array = numpy_helper.to_array(weights[name]) if name in weights else values[name]
            array = half(array) if is_low and of[name] == FLOAT else array
            alone.input[index] = f"in{index}"
            if name in weights:
                known.append(numpy_helper.from_array(array, f"in{index}"))
            else:
                inputs.append(helper.make_tensor_value_info(f"in{index}", of[name], array.shape))
                run[f"in{index}"] = array
        results = [helper.make_tensor_value_info(name, of[name], None) for name in node.output if name]
        graph = helper.make_graph([alone], "alone", inputs, results, known)
        one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        for name, array in zip([name for name in node.output if name], session(one).run(None, run)):
            values[name] = half(array) if is_low and of[name] == FLOAT else array
    return [values[output.name] for output in model.graph.output]


# What a target says.


def cosine(reference, found):
    lengths = np.linalg.norm(reference) * np.linalg.norm(found)
    return float(np.sum(reference * found) / lengths) if lengths else float(np.array_equal(reference, found))


def relative_error(reference, found):
    length = np.linalg.norm(reference)
    return float(np.linalg.norm(found - reference) / length) if length else float(np.any(found != reference))


def sqnr(reference, found):
    error = relative_error(reference, found)
    return float(-20 * np.log10(error)) if error else float("inf")


def argmax(reference, found):
    return float(np.mean(np.argmax(reference, -1) == np.argmax(found, -1)))


def top5(reference, found):
    """The share of the reference's five largest that are among the five largest."""
    first, second = (np.argsort(-array, -1, kind="stable")[..., :5] for array in (reference, found))
    return float(np.mean((first[..., :, None] == second[..., None, :]).any(-1)))


METRICS = {each.__name__: each for each in (cosine, relative_error, argmax, top5, sqnr)}
SMALLER_IS_BETTER = {"relative_error"}


@dataclasses.dataclass
class Target:
    metric: str
    bound: float

    def __str__(self):
        return f"{self.metric} {'<=' if self.metric in SMALLER_IS_BETTER else '>='} {self.bound:.12g}"

    def met_by(self, value):
        if np.isnan(value):
            return False
        return value <= self.bound if self.metric in SMALLER_IS_BETTER else value >= self.bound


def loss(metric, value):
    """How far a value is from perfect: 0 for perfect, infinite for NaN; for all but the agreements as an amplitude."""
    if np.isnan(value):
        return float("inf")
    return {
        "cosine": lambda: max(1 - value, 0.0) ** 0.5,
        "relative_error": lambda: value,
        "sqnr": lambda: 10 ** (-value / 20),
        "argmax": lambda: 1 - value,
        "top5": lambda: 1 - value,
    }[metric]()


def of_loss(metric, amount):
    """The value that has this loss."""
    return {
        "cosine": lambda: 1 - amount**2,
        "relative_error": lambda: amount,
        "sqnr": lambda: -20 * np.log10(amount),
        "argmax": lambda: 1 - amount,
        "top5": lambda: 1 - amount,
    }[metric]()


def measured(metric, references, found):
    """The mean over the sets of inputs of the worst float output, for sqnr of the squared error; NaN where something is not finite
    that is in the reference."""
    worst = max if metric in SMALLER_IS_BETTER else min
    values = []
    for expected, given in zip(references, found):
        pairs = [(x, y) for x, y in zip(expected, given) if x.dtype.kind == "f"]
        if any(np.any(np.isfinite(x) & ~np.isfinite(y)) for x, y in pairs):
            return float("nan")
        values.append(worst(METRICS[metric](x.astype(np.float64), y.astype(np.float64)) for x, y in pairs))
    if metric == "sqnr":
        return float(-10 * np.log10(np.mean([10 ** (-value / 10) for value in values])))
    return float(np.mean(values))


class Judge:
    """Says what a model gives when all candidates but some are lowered."""

    def __init__(self, model, sets):
        self.model, self.sets = model, sets
        self.candidates = candidates(model)
        self.references = outputs(model, sets)

    def found(self, kept):
        return outputs(lowered(self.model, self.candidates.keys() - set(kept)), self.sets)

    def value(self, metric, kept):
        return measured(metric, self.references, self.found(kept))
