"""Makes copies of models that are shape-inferred, in half precision or quantised, as their users make them."""

import logging
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization

from halves import halved

logging.disable(logging.WARNING)

DYNAMIC = ["digits", "squeezenet", "minilm", "lstm-script-fixed", "encoder-script-fixed", "encoder-dynamo-fixed"]
STATIC = ["digits", "squeezenet", "resnet-script-fixed", "rapidocr-cls"]
HALF = ["digits", "squeezenet", "minilm", "resnet-script-fixed", "encoder-script-fixed"]
INFERRED = ["digits", "squeezenet", "minilm", "rapidocr-det", "unet-dynamo-fixed", "resnet-script-free"]

VARIANTS = (
    [(base, "inferred") for base in INFERRED]
    + [(base, "fp16") for base in HALF]
    + [(base, "int8-dynamic") for base in DYNAMIC]
    + [(base, kind) for base in STATIC for kind in ("int8-qdq", "int8-qdq-channel", "int8-operator")]
)

ABOUT = {
    "inferred": "after onnx.shape_inference",
    "fp16": "by onnxconverter-common's convert_float_to_float16",
    "int8-dynamic": "by ONNX Runtime's quantize_dynamic",
    "int8-qdq": "by ONNX Runtime's quantize_static, QDQ, a scale per tensor",
    "int8-qdq-channel": "by ONNX Runtime's quantize_static, QDQ, a scale per channel",
    "int8-operator": "by ONNX Runtime's quantize_static, QLinear operators",
}


def make(kind, base, feeds, into):
    """Writes the variant of the model `base`; returns its inputs."""
    if kind == "inferred":
        onnx.save(onnx.shape_inference.infer_shapes(onnx.load(base), data_prop=True), into)
    elif kind == "fp16":
        onnx.save(halved(onnx.load(base)), into)
        return [x.astype(np.float16) if x.dtype == np.float32 else x for x in feeds]
    elif kind == "int8-dynamic":
        quantization.quantize_dynamic(base, into)
    else:
        names = [value.name for value in onnxruntime.InferenceSession(str(base)).get_inputs()]
        form = quantization.QuantFormat.QOperator if kind == "int8-operator" else quantization.QuantFormat.QDQ
        per_channel = kind == "int8-qdq-channel"
        quantization.quantize_static(newer(base, into), into, Samples(names, feeds), quant_format=form, per_channel=per_channel)
    return feeds


def newer(path, beside):
    """The model in operator set 17: a scale per channel needs 13."""
    model = onnx.load(path)
    if any(each.domain in ("", "ai.onnx") and each.version >= 13 for each in model.opset_import):
        return path
    converted = pathlib.Path(f"{beside}.17")
    onnx.save(onnx.version_converter.convert_version(model, 17), converted)
    return converted


class Samples(quantization.CalibrationDataReader):
    """The model's own inputs, and fainter ones."""

    def __init__(self, names, feeds):
        self.samples = iter([{name: x * x.dtype.type(by) for name, x in zip(names, feeds)} for by in (1, 0.75, 0.5)])

    def get_next(self):
        return next(self.samples, None)


def folded(path, into):
    """Writes the model with the weights that its graph computes as initializers, as a quantizer needs them, and random."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(into)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    model = onnx.load(into)
    used = {name for node in model.graph.node for name in node.input} - {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name in used]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    generator = np.random.default_rng(5)
    for each in model.graph.initializer:
        if len(each.dims) > 1:
            scale = np.sqrt(2 / np.prod(each.dims[1:]))
            weights = generator.standard_normal(each.dims, np.float32) * np.float32(scale)
            each.CopyFrom(onnx.numpy_helper.from_array(weights, each.name))
    del model.opset_import[:]
    model.opset_import.append(onnx.helper.make_opsetid("", 9))
    model.ir_version = 8
    onnx.save(onnx.version_converter.convert_version(model, 17), into)
