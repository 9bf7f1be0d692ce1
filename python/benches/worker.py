"""Does what the benchmark `python.rs` measures: each line on stdin names it, and a line with its cost answers. Times are in nanoseconds."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import opscope

MOMENT = "OPSCOPE_BENCH_MOMENT" in os.environ
MODELS = Path(__file__).resolve().parents[2] / "models"
SMALL = MODELS / "digits_cnn.onnx"
CALLS = 20 if MOMENT else 400
ITERATIONS = 100 if MOMENT else 20_000
# Elements of float32.
LARGE = (16 if MOMENT else 1024) << 18


def per_call(call: Callable[[], Any]) -> float:
    """The median time of a call."""
    clock = time.perf_counter_ns
    times = []
    for _ in range(CALLS):
        start = clock()
        call()
        times.append(clock() - start)
    return statistics.median(times)


def process(*words: str | Path) -> float:
    """The time of a process, from its start to its end."""
    start = time.perf_counter_ns()
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter_ns() - start


def feed() -> dict[str, Any]:
    return {"image": np.load(MODELS / "digits_cnn.input.image.npy")[:1].copy()}


@functools.cache
def model(engine: str) -> opscope.Model:
    return opscope.load(SMALL, engine=engine)  # type: ignore[arg-type]


@functools.cache
def session(is_wrapped: bool) -> Any:
    if is_wrapped:
        import opscope.onnxruntime as module
    else:
        import onnxruntime as module  # type: ignore[no-redef]
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    return module.InferenceSession(SMALL, options, providers=["CPUExecutionProvider"])


def run(engine: str) -> float:
    loaded, given = model(engine), feed()
    return per_call(lambda: loaded.run(given))


def rust(engine: str) -> float:
    """A run as the library measures it in Rust: inputs handed over, and computed."""
    summary = json.loads(model(engine).benchmark(feed(), runs=CALLS).json())
    return (summary["H2D_latency"]["median"] + summary["NPU_compute_time"]["median"]) * 1e6


def run_session(is_wrapped: bool) -> float:
    loaded, given = session(is_wrapped), feed()
    return per_call(lambda: loaded.run(None, given))


def in_range() -> float:
    """The time of an empty range, without that of the loop around it."""
    start = time.perf_counter_ns()
    for _ in range(ITERATIONS):
        with opscope.range("work"):
            pass
    return (time.perf_counter_ns() - start - empty()) / ITERATIONS


def in_null_context() -> float:
    start = time.perf_counter_ns()
    for _ in range(ITERATIONS):
        with contextlib.nullcontext():
            pass
    return (time.perf_counter_ns() - start - empty()) / ITERATIONS


def empty() -> int:
    start = time.perf_counter_ns()
    for _ in range(ITERATIONS):
        pass
    return time.perf_counter_ns() - start


def large_model() -> Path:
    directory = Path(os.environ.get("OPSCOPE_LIGHT_MODELS", MODELS))
    return directory / f"light_{'squeezenet' if MOMENT else 'densenet121'}.onnx"


def dump() -> float:
    with tempfile.TemporaryDirectory() as scratch:
        code = f"""
import opscope
model = opscope.load({str(large_model())!r}, fidelity="exact")
dump = model.write_dump({str(Path(scratch, "dump"))!r}, statistics_only=True)
assert len(dump) > 60 and dump.complete
"""
        return process(sys.executable, "-c", code)


def dump_by_the_command() -> float:
    with tempfile.TemporaryDirectory() as scratch:
        words = ["--dump", "--dump-format", "statistics", "--loop", "1", "--warmup-count", "0", "--output", scratch, "--output-dirname", "run"]
        return process(sys.executable, "-m", "opscope", "benchmark", large_model(), *words, "--quiet")


def negative(elements: int) -> bytes:
    """The file of a model that no engine computes in place of its input."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"], "negative")], "negative", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    made.ir_version = 9
    data: bytes = made.SerializeToString()
    return data


def memory(engine: str) -> float:
    """What a run takes at most above its input and its output, in bytes: in a process of its own, whose peak it is."""
    words = [sys.executable, __file__, "memory", engine]
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)


def runner(elements: int, engine: str) -> Callable[[Any], Any]:
    """What runs the model and returns its output as an array: opscope, or ONNX Runtime's own session."""
    if engine == "session":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(negative(elements), options)
        return lambda given: session.run(None, {"x": given})[0]
    loaded = opscope.load(negative(elements), engine=engine)  # type: ignore[arg-type]
    return lambda given: np.from_dlpack(loaded.run(given)["y"])


def measure_memory(engine: str) -> None:
    run_large = runner(LARGE, engine)
    runner(4, engine)(np.ones(4, np.float32))
    given = np.ones(LARGE, np.float32)
    # A process begins with the peak of the one that started it.
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    array = run_large(given)
    assert array[0] == array[-1] == -1
    print(peak() - before - array.nbytes)


def peak() -> int:
    """The most memory that the process had at once, in bytes."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


def tensors() -> list[bool]:
    """For each way out, whether an array is where the output is."""
    given = np.ones(1 << 20, np.float32)
    output = opscope.load(negative(given.size), engine="onnxruntime").run(given)["y"]
    place = output.__array_interface__["data"][0]
    return [array.__array_interface__["data"][0] == place for array in (np.from_dlpack(output), np.asarray(output), output.numpy())]


@functools.cache
def table() -> opscope.Table:
    """A table with columns of numbers that have no gaps."""
    return model("tract").benchmark(runs=50).operators


def columns(reader: str) -> list[bool]:
    """For each column of numbers without gaps, whether a reader has it where the table does."""
    import pyarrow

    read = pyarrow.table(table())
    is_number = [name for name in read.column_names if str(read[name].type) in ("int64", "double") and not read[name].null_count]
    places = {name: read[name].chunks[0].buffers()[1].address for name in is_number}
    if reader == "pyarrow":
        again = pyarrow.table(table())
        return [again[name].chunks[0].buffers()[1].address == place for name, place in places.items()]
    if reader == "polars":
        import polars

        frame = polars.DataFrame(table())
        return [frame[name].to_numpy(allow_copy=False).__array_interface__["data"][0] == place for name, place in places.items()]
    import pandas

    frame = read.to_pandas(types_mapper=pandas.ArrowDtype)
    arrays = {name: pyarrow.chunked_array(frame[name].array.__arrow_array__()) for name in places}
    return [arrays[name].chunk(0).buffers()[1].address == place for name, place in places.items()]


COSTS: dict[str, Callable[[], float]] = {
    "run tract": lambda: run("tract"),
    "run onnxruntime": lambda: run("onnxruntime"),
    "rust tract": lambda: rust("tract"),
    "rust onnxruntime": lambda: rust("onnxruntime"),
    "session": lambda: run_session(False),
    "wrapped": lambda: run_session(True),
    "range": in_range,
    "null context": in_null_context,
    "import opscope": lambda: process(sys.executable, "-c", "import opscope"),
    "import nothing": lambda: process(sys.executable, "-c", "pass"),
    "dump": dump,
    "dump by the command": dump_by_the_command,
    "memory onnxruntime": lambda: memory("onnxruntime"),
    "memory tract": lambda: memory("tract"),
    "memory session": lambda: memory("session"),
}
PLACES: dict[str, Callable[[], list[bool]]] = {
    "tensors": tensors,
    **{reader: functools.partial(columns, reader) for reader in ("pyarrow", "pandas", "polars")},
}
for _name, _places in PLACES.items():
    COSTS[f"moved {_name}"] = lambda places=_places: float(places().count(False))  # type: ignore[misc]
    COSTS[f"all moved {_name}"] = lambda places=_places: float(len(places()))  # type: ignore[misc]


def main() -> None:
    """Answers until there are no more lines."""
    if sys.argv[1:2] == ["memory"]:
        measure_memory(sys.argv[2])
        return
    for line in sys.stdin:
        print(COSTS[line.strip()](), flush=True)


if __name__ == "__main__":
    main()
