"""What a model computes, by ONNX Runtime without optimisations, cross-checked with ONNX's reference evaluator."""

import copy
import hashlib
import json

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

TOLERANCE = 5e-5
"""Largest difference that is allowed between the two evaluators, times the largest magnitude of the value."""


def values(model, feeds):
    """Every value that a node of the graph makes, by name, in the order of the nodes."""
    names = [name for node in model.graph.node for name in node.output if name]
    every = _with_outputs(model, names)
    computed = dict(zip(names, _runtime(every, feeds)))
    for name, reference in zip(names, ReferenceEvaluator(every).run(None, feeds)):
        agree(name, computed[name], reference)
    return computed


def outputs(model, feeds):
    """The outputs of the graph, by name."""
    names = [output.name for output in model.graph.output]
    return dict(zip(names, _runtime(_named(model), feeds)))


def agree(name, computed, reference, tolerance=TOLERANCE):
    """Refuses two results that differ in dtype, shape or by more than the tolerance."""
    reference = np.asarray(reference)
    assert computed.dtype == reference.dtype, f"{name}: {computed.dtype} and {reference.dtype}"
    assert computed.shape == reference.shape, f"{name}: {computed.shape} and {reference.shape}"
    if computed.dtype.kind == "f":
        largest = np.max(np.abs(reference), initial=0.0, where=np.isfinite(reference))
        np.testing.assert_allclose(computed, reference, rtol=0, atol=tolerance * largest, err_msg=name)
    else:
        np.testing.assert_array_equal(computed, reference, err_msg=name)


def write_values(model, model_path, feeds, input_files, directory):
    """Writes every value as `<index>.npy` into `directory`, with an `index.json` that names them."""
    directory.mkdir(parents=True)
    depends = _dependencies(model)
    entries = {}
    for index, (name, array) in enumerate(values(model, feeds).items()):
        file = f"{index:03}.npy"
        np.save(directory / file, array)
        entry = {"file": file, "dtype": str(array.dtype), "shape": list(array.shape), "depends_on": depends[name]}
        entries[name] = entry
    index = {
        "schema": "opscope.models.expected/1",
        "model": model_path.name,
        "sha256": hashlib.sha256(model_path.read_bytes()).hexdigest(),
        "inputs": input_files,
        "values": entries,
    }
    write_json(directory / "index.json", index)


def write_json(path, document):
    """A JSON object with one line for each field, and one for each entry of a field that is an object itself."""
    fields = []
    for key, field in document.items():
        text = json.dumps(field)
        if isinstance(field, dict):
            text = "{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in field.items()) + "\n }"
        fields.append(f" {json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n")


def _runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def _with_outputs(model, names):
    """A copy whose outputs are exactly the values `names`."""
    copied = _named(model)
    typed = onnx.shape_inference.infer_shapes(copied, strict_mode=True, data_prop=True).graph
    known = {value.name: value for value in [*typed.value_info, *typed.output]}
    del copied.graph.output[:]
    copied.graph.output.extend(known[name] for name in names)
    return copied


def _named(model):
    """A copy whose nodes have unique names: ONNX Runtime refuses two that are equal, and they change no value."""
    copied = copy.deepcopy(model)
    for index, node in enumerate(copied.graph.node):
        node.name = f"node_{index}"
    return copied


def _dependencies(model):
    """What each value depends on: `nothing` but the file, the inputs' `shapes`, or their `data`."""
    order = ["nothing", "shapes", "data"]
    depends = {value.name: "data" for value in model.graph.input}
    for node in model.graph.node:
        strongest = max((depends.get(name, "nothing") for name in node.input), key=order.index, default="nothing")
        if node.op_type == "Shape" and strongest == "data":
            strongest = "shapes"
        depends.update(dict.fromkeys(node.output, strongest))
    return depends
