"""opscope shows what an accelerator really does while it runs a model: what ran and when, what came out, stop and look.

    model = opscope.load("model.onnx")          # or bytes, or an onnx.ModelProto
    outputs = model.run({"image": x})           # arrays in, arrays out
    model.benchmark(duration=3).operators       # where the time goes
    for tensor in model.dump(): ...             # what every operator computed
    opscope.compare(model, other).ok            # which operator is wrong
    opscope.precision(model, to="fp16", output="out").kept  # which operators must stay in float32
    with model.debug() as d: ...                # stop and look
    opscope.reduce(path, inputs, ...)           # the smallest model that still fails
    opscope.import_trace("trace.json", "a")      # a trace of torch.profiler or another tool as a recording

docs/python.md of the repository describes all of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opscope._api import compare, import_trace, load, open, precision, record, reduce
    from opscope._errors import DebugError, EngineError, Error, FileError, InputError, ModelError, NonFinite
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
        ImportedTrace,
        Model,
        Precision,
        Profile,
        Recorder,
        Reduced,
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
    "ImportedTrace",
    "InputError",
    "Model",
    "ModelError",
    "NonFinite",
    "Precision",
    "Profile",
    "Recorder",
    "Reduced",
    "Slots",
    "Statistics",
    "Stop",
    "Table",
    "Tensor",
    "Value",
    "__version__",
    "compare",
    "import_trace",
    "load",
    "mark",
    "open",
    "precision",
    "range",
    "record",
    "reduce",
]

_ERRORS = {"DebugError", "EngineError", "Error", "FileError", "InputError", "ModelError", "NonFinite"}


def __getattr__(name: str) -> Any:
    """Loads the extension when something of it is asked for: `import torch` looks into this package without needing it."""
    if name not in __all__:
        raise AttributeError(f"module 'opscope' has no attribute '{name}'")
    if name in _ERRORS:
        from opscope import _errors

        value = getattr(_errors, name)
    elif name in ("compare", "import_trace", "load", "open", "precision", "record", "reduce"):
        from opscope import _api

        value = getattr(_api, name)
    else:
        from opscope import _opscope

        value = getattr(_opscope, {"__version__": "VERSION"}.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
