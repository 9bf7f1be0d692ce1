"""Builds an ONNX graph with the names that exporters give: `/encoder/layer.0/attention/MatMul_1`."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
PRODUCER = "opscope make-models"


class GraphBuilder:
    """Collects nodes and initializers. A node is named after its scope and operator, its output after the node."""

    def __init__(self):
        self.nodes = []
        self.initializers = {}
        self._used = {}

    def weight(self, name, array):
        """An initializer; the same name twice must be the same data and is stored once."""
        array = np.asarray(array)
        known = self.initializers.setdefault(name, array)
        assert known is array or np.array_equal(known, array), name
        return name

    def constant(self, scope, array):
        """A Constant node, as exporters write small literals."""
        return self.op(scope, "Constant", [], value=numpy_helper.from_array(np.asarray(array)))

    def op(self, scope, op_type, inputs, outputs=1, name=None, output=None, **attributes):
        """Adds one node and returns its output's name (a list of names when there are several)."""
        stem = f"{scope}/{op_type}"
        count = self._used.get(stem, 0)
        self._used[stem] = count + 1
        unique = f"{stem}_{count}" if count else stem
        values = [output] if output else [f"{unique}_output_{k}" for k in range(outputs)]
        name = unique if name is None else name
        self.nodes.append(helper.make_node(op_type, inputs, values, name=name, **attributes))
        return values[0] if outputs == 1 else values

    def model(self, name, inputs, outputs, **options):
        """The finished model. `inputs` and `outputs` are `info(...)`s."""
        initializers = [numpy_helper.from_array(a, n) for n, a in self.initializers.items()]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, initializers)
        return model_of(graph, **options)


def model_of(graph, opset=OPSET, ir_version=IR_VERSION, **options):
    """A model around a graph, with the opset and the producer's name that all models here share."""
    imports = [helper.make_opsetid("", opset)] + options.pop("more_opsets", [])
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version, producer_name=PRODUCER, **options)


def info(name, shape, dtype=TensorProto.FLOAT):
    """A graph input or output; a text as dimension is a symbol, `None` an unknown one."""
    return helper.make_tensor_value_info(name, dtype, shape)


def save(model, path, check=True):
    """Writes a model, by default only after ONNX's own checker found it whole."""
    if check:
        onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))
