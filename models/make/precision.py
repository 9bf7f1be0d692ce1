"""Models of other precisions than their originals: quantised ones by ONNX Runtime's quantiser, and one that is half float16. And one
of which a part must not be computed in float16."""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from fixtures.fixture import parsed
from graph import GraphBuilder, info, save

MIXED = """mixed (float[2, 4] x) => (float[2, 1] small, float[2, 2] plain)
    <float[4, 2] w = {1.0, 1.0, -1.0, 1.0, 0.5, 1.0, 0.25, 1.0}, int64[1] zero = {0}, int64[1] one = {1},
     int64[1] two = {2}, float[2] k = {0.5, 3.0}> {
    half = Cast<to = 10>(x)
    weights = Cast<to = 10>(w)
    product = MatMul(half, weights)
    wide = Cast<to = 1>(product)
    same = Identity(wide)
    small = Slice(same, zero, one, one)
    beginning = Slice(x, zero, two, one)
    plain = Mul(beginning, k)
}"""


def write(root, digits, images):
    """Writes everything into the directory `root`; `digits` is the file of the model to quantise, `images` are its inputs."""
    root.mkdir()
    for name, kind in [("digits_qdq", QuantFormat.QDQ), ("digits_qoperator", QuantFormat.QOperator)]:
        with tempfile.TemporaryDirectory() as directory:
            made = Path(directory) / "made.onnx"
            reader = _Images(images[begin : begin + 8] for begin in range(0, 64, 8))
            quantize_static(
                digits, made, reader, quant_format=kind, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8
            )
            save(_rounded(onnx.load(made)), root / f"{name}.onnx")
    ratios = _ratios(onnx.load(root / "digits_qdq.onnx"), onnx.load(digits), images[:8])
    (root / "digits_qdq.sqnr.json").write_text(json.dumps(ratios, indent=1) + "\n")

    save(parsed(MIXED), root / "mixed.onnx")
    single = MIXED.replace("Cast<to = 10>", "Identity").replace("Cast<to = 1>", "Identity")
    save(parsed(single), root / "single.onnx")
    # The first column of the product is small beside the second, and lies below its rounding.
    np.save(root / "mixed.input.x.npy", np.array([[1000.3, 1000.2, 0.1, 0.2], [2000.7, 2000.1, 0.3, 0.1]], np.float32))

    save(_rms_norm(), root / "rms_norm.onnx")


def _rms_norm():
    """A small network whose norm squares numbers of some hundreds: the squares are above the largest number of float16, 65,504."""
    rng, b = np.random.default_rng(1), GraphBuilder()

    def linear(scope, value, rows, columns, gain=1.0):
        weight = b.weight(f"{scope}.weight", (_drawn(rng, rows, columns) * gain * rows**-0.5).astype(np.float32))
        bias = b.weight(f"{scope}.bias", _drawn(rng, columns))
        return b.op(scope, "Add", [b.op(scope, "MatMul", [value, weight]), bias])

    def number(name, value):
        return b.weight(name, np.array(value, np.float32))

    hidden = linear("/embed", "x", 16, 32, gain=700)
    square = b.op("/norm", "Pow", [hidden, number("/norm.two", 2)])
    mean = b.op("/norm", "ReduceMean", [square], axes=[-1])
    root = b.op("/norm", "Sqrt", [b.op("/norm", "Add", [mean, number("/norm.epsilon", 1e-6)])])
    normed = b.op("/norm", "Div", [hidden, root])
    up = b.op("/up", "Relu", [linear("/up", normed, 32, 64)])
    down = b.op("/block", "Add", [linear("/down", up, 64, 32), normed])
    scores = linear("/head", down, 32, 10)
    b.op("/head", "Softmax", [scores], output="probabilities", axis=-1)
    return b.model("rms_norm", [info("x", [8, 16])], [info("probabilities", [8, 10])])


def _drawn(rng, *shape):
    """Normal numbers in steps of 2^-12."""
    return (np.round(rng.normal(size=shape) * 4096) / 4096).astype(np.float32)


class _Images(CalibrationDataReader):
    def __init__(self, batches):
        self._batches = batches

    def get_next(self):
        batch = next(self._batches, None)
        return None if batch is None else {"image": batch}


def _rounded(model):
    """The model with scales of 12 bits, so that the last bits of a processor's arithmetic do not reach the file."""
    for tensor in model.graph.initializer:
        if tensor.name.endswith("_scale"):
            fraction, exponent = np.frexp(numpy_helper.to_array(tensor))
            scale = np.ldexp(np.round(fraction * 4096) / 4096, exponent).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(scale, tensor.name))
    return model


def _ratios(quantised, original, images):
    """For each value of the quantised model that has one in the original, that one and the signal-to-noise ratio in decibels."""
    found, expected = _values(quantised, images), _values(original, images)
    own = {node.name: node.output[0] for node in original.graph.node}
    ratios = {}
    for node in quantised.graph.node:
        value = node.output[0]
        partner = own.get(node.name) if node.op_type != "DequantizeLinear" else value.removesuffix("_DequantizeLinear_Output")
        if partner in expected and found[value].dtype == np.float32:
            signal, noise = expected[partner].astype(np.float64), found[value].astype(np.float64)
            noise = noise - signal
            ratios[value] = [partner, round(float(10 * np.log10((signal**2).sum() / (noise**2).sum())), 3)]
    return ratios


def _values(model, images):
    """Every value of a model, by ONNX Runtime without its optimisations."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    known = {output.name for output in shown.graph.output}
    names = [name for node in shown.graph.node for name in node.output]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs = [output.name for output in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, {"image": images})))
