"""What ONNX Runtime makes of a model and of what was made of it."""

import collections
import subprocess
import sys
import tempfile

import files
import judge
import numpy as np
import onnx
import reference
from onnx import TensorProto


class Evaluation:
    """A model in float32, what it makes of some sets of inputs, and the target for others."""

    def __init__(self, model, sets, target, searched):
        self.model, self.sets, self.target, self.searched = model, sets, target, searched
        self.names = [output.name for output in model.graph.output]
        self.references = outputs(model.SerializeToString(), sets, self.names)
        self.values = reference.every_value(model, sets[0])

    def activations(self):
        """The bytes of all values of a run."""
        return sum(each.nbytes for each in self.values.values() if each is not None and each.dtype.kind in "fiub")

    def value(self, model, sets=slice(None)):
        """The metric of a model for these sets; NaN where it is not finite."""
        found = outputs(model, self.sets[sets], self.names)
        return judge.measured(self.target.metric, self.references[sets], found)

    def of_file(self, path):
        """What a written model gives on the held-out sets: as ONNX Runtime runs it, and with each half-precision value rounded."""
        held_out = slice(self.searched, None)
        written = onnx.load(path)
        return {"run": self.value(str(path), held_out), "rounded": self.value(rounded(written, self.sets[0]), held_out)}

    def of_quantised(self, path):
        """What a written model of integers gives on the held-out sets, as ONNX Runtime runs it."""
        return {"run": self.value(str(path), slice(self.searched, None))}

    def quantised_again(self, path, kept):
        """The same of the model that ONNX Runtime's quantizer makes of the original with these nodes left out, calibrated on the searched sets."""
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

        class Searched(CalibrationDataReader):
            sets = iter(self.sets[: self.searched])

            def get_next(self):
                return next(self.sets, None)

        with tempfile.TemporaryDirectory() as place:
            quantize_static(str(path), f"{place}/again.onnx", Searched(), quant_format=QuantFormat.QDQ, nodes_to_exclude=kept)
            return self.of_quantised(f"{place}/again.onnx")["run"]

    def lowered(self, low):
        """The metric on the searched sets when the nodes of these names are lowered."""
        result = onnx.ModelProto()
        result.CopyFrom(self.model)
        result.graph.ClearField("value_info")
        judge.lower(result.graph, low, self.types(), {})
        return self.value(result.SerializeToString(), slice(0, self.searched))

    def types(self):
        of = {name: onnx.helper.np_dtype_to_tensor_dtype(each.dtype) for name, each in self.values.items() if each is not None}
        of |= {each.name: each.type.tensor_type.elem_type for each in self.model.graph.input}
        return of | {each.name: each.data_type for each in self.model.graph.initializer}


def outputs(model, sets, names):
    made = judge.session(model) if isinstance(model, bytes) else reference.session(model)
    return [made.run(names, each) for each in sets]


def rounded(written, feeds):
    """The written model in float32, with each value that is float16 in it rounded: ONNX Runtime's CPU provider leaves many of these
    conversions out."""
    of = files_types(written)
    for name, each in reference.every_value(written, feeds).items():
        if each is not None:
            of[name] = onnx.helper.np_dtype_to_tensor_dtype(each.dtype)
    result = onnx.ModelProto()
    result.CopyFrom(written)
    files.widen(result.graph, of)
    return result.SerializeToString()


def files_types(model):
    found = {}

    def read(graph):
        for value in [*graph.input, *graph.value_info, *graph.output]:
            found[value.name] = value.type.tensor_type.elem_type
        for weight in graph.initializer:
            found[weight.name] = weight.data_type
        for node in graph.node:
            for body in judge.bodies(node):
                read(body)

    read(onnx.shape_inference.infer_shapes(model).graph)
    return found


def refused_by_checker(model):
    """What the checker, or its shape inference, says of a model; nothing if it is right."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return first_line(error)
    return None


def faults_of_file(path, original, feeds):
    """What is wrong with a written model, whatever it computes."""
    refused = refused_by_checker(str(path))
    if refused and not refused_by_checker(original):  # some declare shapes that their outputs do not have
        yield f"onnx.checker: {refused}"
    yield from faults_optimised(path, feeds)
    written = onnx.load(path)
    for field in ("input", "output"):
        of = [[(x.name, x.type.tensor_type.elem_type) for x in getattr(model.graph, field)] for model in (original, written)]
        if of[0] != of[1]:
            yield f"its {field}s are others"
    for fault in collections.Counter(kind for kind in casts(written)):
        yield fault


def faults_optimised(path, feeds):
    """What ONNX Runtime says of a model with its default options, in a process of its own: some models crash it."""
    with tempfile.TemporaryDirectory() as place:
        np.savez(f"{place}/feeds.npz", **feeds)
        line = [sys.executable, "-c", OPTIMISED, str(path), f"{place}/feeds.npz"]
        ended = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ended.returncode < 0:
        yield f"ONNX Runtime, optimised: signal {-ended.returncode}"
    elif ended.returncode:
        yield f"ONNX Runtime, optimised: {ended.stderr.strip().splitlines()[-1][:300]}"


OPTIMISED = """
import sys, numpy, onnxruntime
made = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
made.run(None, dict(numpy.load(sys.argv[2])))
"""


def casts(written):
    nodes = list(files.all_nodes(written.graph))
    before = {name for node in files.all_nodes(written.graph) if node.op_type == "Cast" for name in node.output}
    own = {TensorProto.FLOAT, TensorProto.FLOAT16}
    for node in nodes:
        if node.op_type == "Cast" and node.input[0] in before and next(x.i for x in node.attribute if x.name == "to") in own:
            yield f"a Cast takes the output of a Cast: {node.name}"


def first_line(error):
    lines = str(error).strip().splitlines() or [repr(error)]
    return lines[0][:300]


def fewest(count, is_met):
    """The fewest of `count` layers that meet the target by bisection, as polygraphy's debug precision looks for them."""
    if is_met(0):
        return 0
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_met(middle) else (middle, high)
    return high


def covered(model, node):
    """The names of the nodes that a node of another tool's graph stands for: itself, or those between its outputs and its inputs."""
    makers = {name: each for each in model.graph.node for name in each.output if name}
    own = next((makers[name] for name in node["outputs"] if name in makers), None)
    if own is None or own.op_type == node["op_type"]:
        return {own.name} if own is not None else set()
    found, waiting, stop = set(), list(node["outputs"]), set(node["inputs"])
    while waiting:
        each = makers.get(waiting.pop())
        if each is not None and each.name not in found:
            found.add(each.name)
            waiting += [name for name in reference.read_by(each) if name not in stop]
    return found if len(found) < MOST_COVERED else {own.name}


def wide_in_bodies(written):
    """The names of the nodes in bodies of a written model that take or give float32, and no float16."""
    of, found = files_types(written), set()
    for node in written.graph.node:
        for body in judge.bodies(node):
            for each in files.all_nodes(body):
                types = {of.get(name) for name in [*each.input, *each.output]}
                if TensorProto.FLOAT in types and TensorProto.FLOAT16 not in types:
                    found.add(each.name)
    return found


MOST_COVERED = 20
"""A node stands for fewer than so many: a normalisation for about ten."""
