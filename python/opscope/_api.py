"""What the package adds to the extension: arguments of any kind of Python's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from opscope import _opscope
from opscope._cli import launcher
from opscope._onnxruntime_library import library as installed_library
from opscope._opscope import Comparison, Dump, ImportedTrace, Model, Precision, Profile, Recorder, Reduced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opscope._types import Inputs, ModelSource

__all__ = ["compare", "import_trace", "load", "open", "precision", "record", "reduce"]

Engine = Literal["tract", "onnxruntime", "ort"]
Fidelity = Literal["optimised", "exact"]
LowType = Literal["fp16", "bf16", "int8"]
PathLike = Union[str, "os.PathLike[str]"]


def load(
    model: ModelSource,
    *,
    engine: Engine = "tract",
    threads: int = 1,
    fidelity: Fidelity = "optimised",
    library: PathLike | None = None,
) -> Model:
    """Loads a model: a path, the bytes of a file, or an `onnx.ModelProto`.

    `engine` is `tract`, which is built in, or `onnxruntime`. `threads` are those within an operator. `fidelity` says how `Model.run`
    follows the file: `optimised` as it is deployed, or `exact`, every operator as the file has it. `library` is the file of ONNX
    Runtime's library; by default that of the package `onnxruntime` beside this one, or of `ORT_DYLIB_PATH`.
    """
    data: bytes | None = None
    path: PathLike = "(memory)"
    if isinstance(model, (str, os.PathLike)):
        path = model
    elif isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
    elif hasattr(model, "SerializeToString"):
        data = model.SerializeToString()
    else:
        raise _opscope_input_error(f"a model is a path, bytes or an onnx.ModelProto, not a {type(model).__name__}")
    if library is None and engine in ("onnxruntime", "ort"):
        library = installed_library()
    return _opscope.load_model(
        Path(path), data, engine=engine, threads=threads, fidelity=fidelity, library=None if library is None else Path(library)
    )


def open(path: PathLike) -> Dump | Profile:
    """Opens what opscope wrote: a dump, whose tensors are mapped and not read, or a recording."""
    return _opscope.open_path(Path(path))


def compare(
    tensors: Model | Dump | PathLike,
    reference: Model | Dump | PathLike,
    inputs: Inputs | None = None,
    *,
    fidelity: Fidelity = "exact",
    reference_fidelity: Fidelity = "exact",
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    of_max: float | None = None,
    least_sqnr: float | None = None,
) -> Comparison:
    """Compares every tensor of a model, or of a dump, with the reference's, and finds the first operator that diverges.

    A model runs once on `inputs`; without them on random ones, which are the same for the same `seed`. A path is that of a model
    (`.onnx`) or of a dump. The tolerances are those of the elements' types, unless `atol`, `rtol` (a part of the reference's element)
    or `of_max` (a part of the reference's largest element) is given. `least_sqnr` is the least signal-to-noise ratio, in decibels, at
    which a tensor of a quantised model agrees.
    """
    return _opscope.compare_tensors(
        _side(tensors),
        _side(reference),
        inputs,
        fidelity=fidelity,
        reference_fidelity=reference_fidelity,
        seed=seed,
        atol=atol,
        rtol=rtol,
        of_max=of_max,
        least_sqnr=least_sqnr,
    )


def import_trace(trace: PathLike, directory: PathLike, *, run: str | None = None) -> ImportedTrace:
    """Makes a recording of a trace of another tool in a new directory, which `open` opens.

    The trace is one that `opscope import` reads: of torch.profiler, ONNX Runtime, Nsight Systems, rocprofv3, Perfetto, or Chrome trace
    events. `run` names the ranges that are runs, or is `re:PATTERN`; by default these are the steps of torch.profiler and the runs of
    ONNX Runtime. Other threads run meanwhile.
    """
    return _opscope.import_trace(Path(trace), Path(directory), run=run)


def precision(
    model: Model | ModelSource,
    *,
    to: LowType,
    output: PathLike,
    inputs: Sequence[Inputs] | None = None,
    keep_within: str = "cosine >= 0.999",
    check: str | None = None,
    search: int | None = None,
    budget: float | None = None,
    python: PathLike | None = None,
    seed: int = 0,
    progress: Callable[[str], object] | None = None,
) -> Precision:
    """Finds which operators of a model must stay in float32 when the others compute in fp16, bf16 or int8, and writes that model.

    `output` is the directory for the results, which `opscope precision` describes; a search that was cut short goes on there. `inputs` are
    several sets, each as `Model.run` takes it; without them eight random ones, the same for the same `seed`. The search sees half of the
    sets, at most eight, or `search`; the others are held out. `keep_within` is the target: `cosine >= X`, `relative_error <= X`,
    `argmax >= X`, `top5 >= X` or `sqnr >= X`. Instead of it, `check` is a command, run by `sh`, that ends with 0 if the model whose file
    stands for `{model}` is good enough. After `budget` seconds the search ends with the best so far. `python` has the packages onnx and
    onnxruntime, for int8; by default it is this one. `progress` is called with a sentence for each step; what it raises ends the search.

    Other threads run meanwhile. After a KeyboardInterrupt the directory has the best so far.
    """
    if not isinstance(model, Model):
        model = load(model)
    return _opscope.find_precision(
        model,
        to=to,
        inputs=inputs,
        keep_within=keep_within,
        check=check,
        output=Path(output),
        search=search,
        budget=budget,
        other_library=installed_library(),
        python=Path(sys.executable if python is None else python),
        seed=seed,
        progress=progress,
    )


def record(*, capacity: int = 1_000_000) -> Recorder:
    """Records ranges, marks and the operators of runs while a block runs: `with opscope.record() as recorder: ...`."""
    return Recorder(capacity=capacity)


def reduce(
    model: PathLike,
    inputs: Inputs | None = None,
    *,
    fails: str,
    output: PathLike,
    anonymise: bool = False,
    overwrite: bool = False,
    budget: float | None = None,
    engine: Engine = "tract",
    threads: int = 1,
    library: PathLike | None = None,
    seed: int = 0,
) -> Reduced:
    """Finds the smallest model that fails in the same way, and writes it, with its inputs beside it.

    `fails` is `first nonfinite`, `engines differ`, `plan differs`, `error 'TEXT'`, `crash` or `command 'CMD {model} {inputs}'`, as
    `opscope reduce` takes it. Without inputs, random ones are taken, the same for the same `seed`. `anonymise` replaces names, weights
    and inputs. `budget` is the most seconds that the search may take; the smallest model so far is the result then, as after Ctrl-C.
    """
    if library is None and (engine in ("onnxruntime", "ort") or fails.replace("-", " ") == "engines differ"):
        library = installed_library()
    return _opscope.reduce_model(
        Path(model),
        inputs,
        fails=fails,
        output=Path(output),
        anonymise=anonymise,
        overwrite=overwrite,
        budget=budget,
        engine=engine,
        threads=threads,
        library=None if library is None else Path(library),
        seed=seed,
        launcher=launcher(),
    )


def _side(side: Any) -> Any:
    if not isinstance(side, (str, os.PathLike)):
        return side
    path = Path(side)
    return load(path) if path.suffix == ".onnx" else open(path)


def _opscope_input_error(message: str) -> Exception:
    from opscope._errors import InputError

    return InputError(message)
