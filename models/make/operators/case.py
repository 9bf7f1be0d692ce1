"""One operator with some attributes, what goes in, and what ONNX Runtime makes of it."""

import zlib
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from graph import IR_VERSION, PRODUCER

ORT_SILENT = 4


@dataclass
class Case:
    """A graph of a few nodes, as text that a test can build a model from."""

    name: str
    nodes: list
    feeds: dict
    initializers: dict = field(default_factory=dict)
    outputs: list = field(default_factory=lambda: ["y"])
    opset: int = 17
    expected: dict | None = None
    """What it computes where ONNX Runtime cannot be asked."""


def node(op_type, inputs, outputs, domain="", name="node", **attributes):
    return {
        "name": name,
        "domain": domain,
        "op_type": op_type,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "attributes": {key: value for key, value in attributes.items() if value is not None},
    }


def one(name, op_type, inputs, opset=17, outputs=1, domain="", fed=(0,), expected=None, **attributes):
    """A case of one node. `inputs` are arrays, None where one is left out; those in `fed` are inputs of the model."""
    names = ["" if array is None else f"i{slot}" for slot, array in enumerate(inputs)]
    arrays = {f"i{slot}": np.asarray(array) for slot, array in enumerate(inputs) if array is not None}
    fed = [f"i{slot}" for slot in fed]
    made = [f"y{slot}" for slot in range(outputs)] if isinstance(outputs, int) else outputs
    return Case(
        name=f"{domain}{'.' if domain else ''}{op_type}: {name}",
        nodes=[node(op_type, names, made, domain, **attributes)],
        feeds={key: arrays[key] for key in arrays if key in fed},
        initializers={key: arrays[key] for key in arrays if key not in fed},
        outputs=[output for output in made if output],
        opset=opset,
        expected=expected,
    )


def numbers(seed, *shape, low=-2.0, high=2.0, dtype=np.float32):
    """Seeded numbers with few digits, so that the file is short."""
    generator = np.random.default_rng(zlib.crc32(str(seed).encode()))
    if np.issubdtype(dtype, np.integer):
        return generator.integers(int(low), int(high), shape, endpoint=True).astype(dtype)
    return np.asarray(np.round(generator.uniform(low, high, shape) * 64) / 64).astype(dtype)


def model(case):
    """The case as a model."""
    initializers = [numpy_helper.from_array(array, name) for name, array in case.initializers.items()]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in case.feeds.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in case.outputs]
    graph = helper.make_graph([_node(each) for each in case.nodes], "case", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, producer_name=PRODUCER)


def computed(case):
    """What ONNX Runtime computes, without rewriting anything."""
    if case.expected is not None:
        return dict(zip(case.outputs, case.expected))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = ORT_SILENT
    # With more of them, parts of a batch are quantized apart.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model(case).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return dict(zip(case.outputs, session.run(case.outputs, case.feeds)))


def written(case):
    """The case as JSON has it."""
    return {
        "name": case.name,
        "opset": case.opset,
        "nodes": case.nodes,
        "initializers": {name: _tensor(array) for name, array in case.initializers.items()},
        "inputs": {name: _tensor(array) for name, array in case.feeds.items()},
        "outputs": {name: _tensor(np.asarray(array)) for name, array in computed(case).items()},
    }


def _node(each):
    attributes = [_attribute(*item) for item in each["attributes"].items()]
    made = helper.make_node(each["op_type"], each["inputs"], each["outputs"], each["name"], domain=each["domain"])
    made.attribute.extend(attributes)
    return made


def _attribute(name, value):
    if isinstance(value, dict):
        return helper.make_attribute(name, _body(value))
    kind = AttributeProto.INTS if value == [] else None
    return helper.make_attribute(name, value, attr_type=kind)


def _body(body):
    """A graph inside of a node: `inputs` and `outputs` are names, with types and shapes left out."""
    initializers = [_from_written(name, tensor) for name, tensor in body.get("initializers", {}).items()]
    inputs = [helper.make_tensor_value_info(name, TensorProto.DataType.Value(kind), shape) for name, kind, shape in body["inputs"]]
    outputs = [helper.make_tensor_value_info(name, TensorProto.DataType.Value(kind), shape) for name, kind, shape in body["outputs"]]
    return helper.make_graph([_node(each) for each in body["nodes"]], "body", inputs, outputs, initializers)


def _from_written(name, tensor):
    return numpy_helper.from_array(array(tensor), name)


def array(tensor):
    """The array that a tensor in JSON stands for."""
    return np.array(tensor["values"], tensor["dtype"]).reshape(tensor["shape"])


def _tensor(array):
    values = array.flatten().tolist()
    if array.dtype.kind == "f":
        digits = 17 if array.dtype.itemsize == 8 else 7
        values = [float(f"{value:.{digits}g}") if np.isfinite(value) else str(value) for value in values]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}
