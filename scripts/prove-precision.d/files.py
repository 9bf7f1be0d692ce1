"""Checks what `opscope precision` wrote: the model in mixed precision, keep.txt and precision.json."""

import collections

import judge
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16}
MOST_RUNS = 40
ALIKE = 3.0
"""As many times as large one loss of the same rounding may be as another."""


def faults_of_model(case, tried, path, kept):
    """What is wrong with the written model."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
        written = onnx.load(path)
        results = judge.outputs(path.read_bytes(), tried.sets, optimised=True)
    except Exception as error:  # of the checker, of protobuf, or of ONNX Runtime
        yield f"the written model is refused: {str(error).splitlines()[0]}"
        return
    for field in ("input", "output"):
        before, after = ([(value.name, value.type) for value in getattr(model.graph, field)] for model in (case.model, written))
        if before != after:
            yield f"the written model's {field}s are others"
    value = judge.measured(case.target.metric, tried.references, results)
    if not case.target.met_by(value):
        yield f"the written model's outputs miss the target in ONNX Runtime: {value:.6g}"
    value = judge.measured(case.target.metric, tried.references, judge.outputs(faithful(written), tried.sets))
    if not case.target.met_by(value):
        yield f"the written model's outputs miss the target where each value of it is rounded: {value:.6g}"
    yield from double_casts(written)
    yield from precisions(case, tried, written, kept)


def all_nodes(graph):
    for node in graph.node:
        yield node
        for body in judge.bodies(node):
            yield from all_nodes(body)


def faithful(written):
    """The written model in float32, with each value that is float16 in it rounded.

    ONNX Runtime computes most of float16 in float32 on a CPU, and leaves out the conversions between two such operators. So it
    does not show all that half precision does.
    """
    of = judge.types(written)
    result = onnx.ModelProto()
    result.CopyFrom(written)
    widen(result.graph, of)
    return result


def widen(graph, of):
    graph.ClearField("value_info")
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for weight in graph.initializer:
        widen_tensor(weight)
    nodes = []
    for node in graph.node:
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        nodes.append(changed)
        for attribute in changed.attribute:
            widen_tensor(attribute.t)
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
        for body in judge.bodies(changed):
            widen(body, of)
        for index, name in enumerate(node.output):
            if of.get(name) == TensorProto.FLOAT16:
                changed.output[index] = f"{name}/wide"
                nodes += judge.pair(f"{name}/wide", name)
    graph.ClearField("node")
    graph.node.extend(nodes)


def widen_tensor(tensor):
    if tensor.data_type == TensorProto.FLOAT16:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))


def double_casts(written):
    casts = [node for node in all_nodes(written.graph) if node.op_type == "Cast"]
    results = {node.output[0] for node in casts}
    for node in casts:
        if node.input[0] in results:
            yield f"the Cast {node.name} takes the output of a Cast"


def precisions(case, tried, written, kept):
    """What of the candidates computes in another precision than it should: a line for each type of operator."""
    of = judge.types(written)
    found, wrong = collections.defaultdict(list), collections.defaultdict(list)
    for node in all_nodes(written.graph):
        found[node.name].append(node)
    for name, node in tried.candidates.items():
        if len(found[name]) != 1 or found[name][0].op_type != node.op_type:
            yield f"{name} is {len(found[name])} times in the written model, or another operator"
            continue
        wanted = TensorProto.FLOAT if name in kept else TensorProto.FLOAT16
        for value in may_be_half(found[name][0], case.model.opset_import[0].version):
            if value not in of:
                yield f"{name}: nothing tells the type of {value}"
            elif of[value] in FLOATS and of[value] != wanted:
                wrong[node.op_type, TensorProto.DataType.Name(wanted)].append(f"{value} of {name}")
    for (op_type, wanted), values in wrong.items():
        yield f"{op_type} should compute in {wanted}, but {len(values)} values are not, such as {values[0]}"


def may_be_half(node, opset):
    """The inputs and outputs of a node of which the standard allows float16."""
    schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
    for names, formal in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for index, name in enumerate(names):
            if name and "tensor(float16)" in formal[min(index, len(formal) - 1)].types:
                yield name


def faults_of_record(case, tried, record, kept, value):
    """What of precision.json is not what the judge finds."""
    told = {
        "schema": "opscope.precision/1",
        "to": "fp16",
        "target": str(case.target),
        "candidates": len(tried.candidates),
        "minimal": True,
    }
    for key, wanted in told.items():
        if record.get(key) != wanted:
            yield f"{key} is {record.get(key)!r}, not {wanted!r}"
    if {each["node"] for each in record["kept"]} != kept:
        yield "precision.json keeps other operators than keep.txt"
    for each in record["kept"]:
        name, without = each["node"], each["value_without"]
        if name in tried.candidates and each["op_type"] != tried.candidates[name].op_type:
            yield f"{name} is no {each['op_type']}"
        if without is not None and case.target.met_by(without):
            yield f"the value without {name} is {without}, which meets the target"
    if record["full_runs"] > MOST_RUNS:
        yield f"{record['full_runs']} full runs"
    lowest = record["all_low"]
    yield from differs(case, "all_low.value", lowest["value"], tried.value(case.target.metric, []), tried)
    if lowest["first"] is not None and lowest["first"] not in tried.candidates:
        yield f"all_low.first is {lowest['first']!r}, which is no candidate"
    yield from differs(case, "value", record["value"], value, tried)
    out, rest = record["held_out"], case.sets[case.search :]
    boundless = out["high"] is None and case.target.metric == "sqnr"
    high = float("inf") if boundless else out["high"]
    if out["inputs"] != len(rest) or not out["low"] <= out["mean"] <= high:
        yield f"held_out is {out}, of {len(rest)} sets"
    others = judge.Judge(case.model, rest)
    yield from differs(case, "held_out.mean", out["mean"], others.value(case.target.metric, kept), others)


def differs(case, key, told, found, tried):
    """A line if a value is not about the judge's. Both round the same, but an engine that adds in another order rounds other values
    up, and in a deep network a few of them decide about the last digits. Of shares, one row may differ: its largest may be alike.
    """
    metric = case.target.metric
    if (told is None) != bool(np.isnan(found)):
        yield f"{key} is {told}, the judge finds {found:.6g}"
    elif told is not None:
        first, second = sorted(judge.loss(metric, each) for each in (told, found))
        if second > ALIKE * first + (max(0.03, 1.001 * one_row(tried)) if metric in ("argmax", "top5") else 1e-5):
            yield f"{key} is {told}, the judge finds {found:.6g}"


def one_row(tried):
    """The share that one row has in the mean over the sets, for the output with the fewest."""
    rows = min(array.size // array.shape[-1] for each in tried.references for array in each if array.dtype.kind == "f")
    return 1 / (rows * len(tried.references))
