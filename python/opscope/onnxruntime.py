"""ONNX Runtime's module, whose sessions can be profiled, dumped and debugged: `from opscope.onnxruntime import InferenceSession`.

What a session computes is what ONNX Runtime computes: the class is a subclass of its own, and `run` is inherited. A profile, a dump and a
debugger run the same model once more, by the same library.

Variables of the environment do the same for a program that calls none of this, with the inputs of a session's first run:

* `OPSCOPE_PROFILE=DIRECTORY` writes a recording of 100 runs below it,
* `OPSCOPE_DUMP=DIRECTORY` writes the tensors of every operator below it,
* `OPSCOPE_NONFINITE=raise` looks at the outputs of every run, and names the operator that made the first NaN or infinity,
* `OPSCOPE_DEBUG_SERVER=1` lets `opscope debug --attach PID` attach while the program runs, and `opscope dump` and `opscope profile`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import onnxruntime as _onnxruntime
from onnxruntime import *  # noqa: F403  # pyright: ignore[reportAssignmentType]

import opscope
from opscope._opscope import DebugSession, DumpStream, Model, Profile, SessionServer
from opscope._serving import Served, listen

__all__ = [*(name for name in dir(_onnxruntime) if not name.startswith("_")), "InferenceSession"]


class InferenceSession(_onnxruntime.InferenceSession):  # type: ignore[misc]
    """`onnxruntime.InferenceSession`, with `profile`, `dump` and `debug`."""

    def __init__(
        self, path_or_bytes: Any, sess_options: Any = None, providers: Any = None, provider_options: Any = None, **kwargs: Any
    ) -> None:
        profile, dump, nonfinite, where = (os.environ.get(f"OPSCOPE_{what}") for what in ("PROFILE", "DUMP", "NONFINITE", "DEBUG_SERVER"))
        # A command may attach while ONNX Runtime loads the model.
        server = listen(where) if where else None
        super().__init__(path_or_bytes, sess_options, providers, provider_options, **kwargs)
        self._opscope_source = path_or_bytes
        threads = getattr(sess_options, "intra_op_num_threads", 0)
        self._opscope_threads = int(threads) or os.cpu_count() or 1
        self._opscope_model: Model | None = None
        served = _served(path_or_bytes, self._opscope_threads, server) if server is not None else None
        if profile or dump or nonfinite or served is not None:
            # On the object: a session of which nothing is asked has ONNX Runtime's own `run`.
            self.run = _observed(self, super().run, profile, dump, nonfinite, served)

    @property
    def opscope_model(self) -> Model:
        """The same model, as opscope loads it: by the same library, with as many threads."""
        if self._opscope_model is None:
            self._opscope_model = opscope.load(self._opscope_source, engine="onnxruntime", threads=self._opscope_threads)
        return self._opscope_model

    def profile(self, input_feed: Mapping[str, Any], *, runs: int = 100) -> Profile:
        """Runs the model with a profiler, and returns the recording."""
        return self.opscope_model.profile(_arrays(input_feed), runs=runs)

    def dump(
        self,
        input_feed: Mapping[str, Any],
        *,
        select: str | Sequence[str] | None = None,
        types: str | Sequence[str] | None = None,
        io: Literal["inputs", "outputs", "all"] = "outputs",
    ) -> DumpStream:
        """Runs once and yields the tensors of every operator as it is executed."""
        return self.opscope_model.dump(_arrays(input_feed), select=select, types=types, io=io)

    def debug(self, input_feed: Mapping[str, Any]) -> DebugSession:
        """Returns a debugger for one run: a context manager."""
        return self.opscope_model.debug(_arrays(input_feed))


def _arrays(input_feed: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs as arrays. An OrtValue of the processor gives one of numpy's."""
    return {name: value.numpy() if isinstance(value, _onnxruntime.OrtValue) else value for name, value in input_feed.items()}


def _served(source: Any, threads: int, server: SessionServer) -> Served | None:
    """The session for those who attach, unless opscope cannot read its model: the program goes on without."""
    try:
        return Served(source, threads, server)
    except (opscope.ModelError, opscope.EngineError) as error:
        print(f"opscope: no debugger can attach to a session: {error}", file=sys.stderr)
        return None


def _observed(
    session: InferenceSession, run: Callable[..., Any], profile: str | None, dump: str | None, nonfinite: str | None, served: Served | None
) -> Callable[..., Any]:
    """Returns `run` with what the environment asks for."""
    if nonfinite not in (None, "", "raise"):
        raise opscope.InputError(f"OPSCOPE_NONFINITE is raise, or is not set, and not '{nonfinite}'")
    is_first = True

    def observed(output_names: Any, input_feed: Mapping[str, Any], run_options: Any = None) -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            if profile:
                session.profile(input_feed).save(_free(profile, session))
            if dump:
                session.opscope_model.write_dump(_free(dump, session), _arrays(input_feed))
        outputs = None
        if served is not None and served.is_wanted:
            names = output_names or [output.name for output in session.get_outputs()]
            outputs = served.observe(_arrays(input_feed), names)
        if outputs is None:
            outputs = run(output_names, input_feed, run_options)
        if nonfinite:
            _check(session, input_feed, outputs)
        return outputs

    return observed


def _free(directory: str, session: InferenceSession) -> Path:
    """A path below a directory that does not exist, named after the model."""
    source = session._opscope_source
    name = Path(source).stem if isinstance(source, (str, os.PathLike)) else "model"
    Path(directory).mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = Path(directory, name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
        number += 1


def _check(session: InferenceSession, input_feed: Mapping[str, Any], outputs: Sequence[Any]) -> None:
    import numpy

    def is_finite(output: Any) -> bool:
        is_float = isinstance(output, numpy.ndarray) and output.dtype.kind in "fc"
        return not is_float or bool(numpy.isfinite(output).all())

    if all(map(is_finite, outputs)):
        return
    with session.debug(input_feed) as debugger:
        debugger.break_at("first nonfinite")
        stop = debugger.run()
        where = str(stop) if stop is not None else "no operator computes it from finite inputs"
    raise opscope.EngineError(f"an output is NaN or infinite: {where}")
