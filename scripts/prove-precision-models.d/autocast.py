"""Converts a model with AutoCast of NVIDIA's Model Optimizer: autocast.py MODEL DIRECTORY-OF-NPZ OUTPUT NODES [KEEP]

Runs in a Python of its own. NODES gets, as JSON, each node of the graph that AutoCast classified: its inputs and outputs, and whether it
is kept in float32. With KEEP, a file with the names of nodes, these are kept and nothing else: AutoCast's own rules are switched off.

The package asks for PyTorch, which takes gigabytes; but AutoCast itself uses none of it. An empty module takes its place while it
is imported: if anything of it were used, it would be an error.
"""

import importlib.machinery
import json
import os
import pathlib
import re
import sys
import types

import onnx
import onnxruntime.quantization  # noqa: F401  it looks for PyTorch, and must not find the empty one

empty = types.ModuleType("torch")
empty.__spec__ = importlib.machinery.ModuleSpec("torch", None)
sys.modules["torch"] = empty

from modelopt.onnx.autocast import convert_to_mixed_precision  # noqa: E402
from modelopt.onnx.autocast.nodeclassifier import NodeClassifier  # noqa: E402

del sys.modules["torch"]  # polygraphy would take it for the real one

path, inputs, output, told, *keep = sys.argv[1:]
rules = {"calibration_data": inputs}
if keep:
    # Its list is of regular expressions, which match the beginning of a name.
    names = [f"{re.escape(name)}$" for name in pathlib.Path(keep[0]).read_text().splitlines()]
    rules |= {"nodes_to_exclude": names, "data_max": float("inf"), "init_max": float("inf")}
classify = NodeClassifier.run


def run(self, *given, **named):
    low, high = classify(self, *given, **named)
    wide = set(high)
    nodes = [{"name": x.name, "op_type": x.op_type, "inputs": [*x.input], "outputs": [*x.output], "kept": x.name in wide} for x in self.model.graph.node]
    with open(told, "w") as file:
        json.dump(nodes, file)
    return low, high


NodeClassifier.run = run
try:
    converted = convert_to_mixed_precision(path, low_precision_type="fp16", keep_io_types=True, **rules)
except KeyError:
    # In bodies, AutoCast takes it for granted that id() of a node stays the same. So it does in this implementation, which is slow.
    slow = {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    if slow.items() <= os.environ.items():
        raise
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | slow)
onnx.save(converted, output)
