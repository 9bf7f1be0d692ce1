"""opscope shows what an accelerator really does while it runs a model: what ran and when, what came out, stop and look.

    model = opscope.load("model.onnx")          # or bytes, or an onnx.ModelProto
    outputs = model.run({"image": x})           # arrays in, arrays out
    model.benchmark(duration=3).operators       # where the time goes
    for tensor in model.dump(): ...             # what every operator computed
    opscope.compare(model, other).ok            # which operator is wrong
    with model.debug() as d: ...                # stop and look

docs/python.md of the repository describes all of it.
"""

from opscope._api import compare, load, open, record
from opscope._errors import DebugError, EngineError, Error, FileError, InputError, ModelError
from opscope._opscope import (
    VERSION as __version__,
)
from opscope._opscope import (
    Benchmark,
    Comparison,
    DebugSession,
    Dump,
    DumpedOperator,
    DumpStream,
    FirstDivergence,
    Model,
    Profile,
    Recorder,
    Slots,
    Statistics,
    Stop,
    Table,
    Tensor,
    Value,
    mark,
    range,
)

__all__ = [
    "Benchmark",
    "Comparison",
    "DebugError",
    "DebugSession",
    "Dump",
    "DumpStream",
    "DumpedOperator",
    "EngineError",
    "Error",
    "FileError",
    "FirstDivergence",
    "InputError",
    "Model",
    "ModelError",
    "Profile",
    "Recorder",
    "Slots",
    "Statistics",
    "Stop",
    "Table",
    "Tensor",
    "Value",
    "__version__",
    "compare",
    "load",
    "mark",
    "open",
    "range",
    "record",
]
