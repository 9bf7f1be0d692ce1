"""The extension."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, TypedDict, final, overload

from typing_extensions import CapsuleType, Self

from opscope._types import Array, Inputs

__all__ = [
    "VERSION",
    "Benchmark",
    "Comparison",
    "DebugSession",
    "Dump",
    "DumpStream",
    "DumpedOperator",
    "FirstDivergence",
    "ImportedTrace",
    "Model",
    "Precision",
    "Profile",
    "Recorder",
    "Reduced",
    "ServedSession",
    "SessionCapture",
    "SessionServer",
    "Slots",
    "Statistics",
    "Stop",
    "Table",
    "Tensor",
    "TorchServer",
    "TorchTap",
    "Value",
    "close_abandoned_dump",
    "close_abandoned_profile",
    "compare_tensors",
    "find_precision",
    "import_trace",
    "instrument_program",
    "load_model",
    "mark",
    "open_path",
    "read_acl_json",
    "range",
    "reduce_model",
    "run_command",
]

VERSION: Final[str]

class _ArrayInterface(TypedDict):
    version: int
    typestr: str
    shape: tuple[int, ...]
    data: tuple[int, bool]

def run_command(words: Sequence[str], launcher: Sequence[str]) -> int:
    """Runs the command, and returns its exit code."""

def load_model(
    path: Path, data: bytes | None, *, engine: str, threads: int, fidelity: str, library: Path | None
) -> Model: ...
def open_path(path: Path) -> Dump | Profile: ...
def compare_tensors(
    tensors: Model | Dump,
    reference: Model | Dump,
    inputs: Inputs | None,
    *,
    fidelity: str,
    reference_fidelity: str,
    seed: int,
    atol: float | None,
    rtol: float | None,
    of_max: float | None,
    least_sqnr: float | None,
) -> Comparison: ...
def reduce_model(
    model: Path,
    inputs: Inputs | None,
    *,
    fails: str,
    output: Path,
    anonymise: bool,
    overwrite: bool,
    budget: float | None,
    engine: str,
    threads: int,
    library: Path | None,
    seed: int,
    launcher: Sequence[str],
) -> Reduced: ...
def import_trace(trace: Path, directory: Path, *, run: str | None) -> ImportedTrace: ...
def find_precision(
    model: Model,
    *,
    to: str,
    inputs: Sequence[Inputs] | None,
    keep_within: str,
    check: str | None,
    output: Path,
    search: int | None,
    budget: float | None,
    other_library: Path | None,
    python: Path,
    seed: int,
    progress: Callable[[str], object] | None,
) -> Precision: ...
def mark(name: str) -> None:
    """Marks this moment. A recorder has it beside the model's operators."""

@final
class range:
    """A named range of the calling thread: `with opscope.range("load"): ...`. A recorder has it beside the model's operators."""

    def __new__(cls, name: str) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

@final
class Recorder:
    """Records the ranges and marks of all threads, and the operators of all runs, while its block runs."""

    def __new__(cls, *, capacity: int = 1_000_000) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def table(self) -> Table:
        """A row for each record: its kind (`range`, `mark` or `operator`), name, times in nanoseconds since the machine started, and the
        thread."""
    def take(self) -> Table:
        """Removes and returns the records so far, which frees their space. A long-running program calls this regularly. Inside the
        block, the result has every record that any thread made before the call."""
    @property
    def dropped(self) -> int:
        """How many records were dropped."""

@final
class Value:
    """An input or an output of a model."""

    @property
    def name(self) -> str:
        """The name in the file."""
    @property
    def dtype(self) -> str | None:
        """The type of its elements, by the name that numpy and ONNX use; None if the file does not give it."""
    @property
    def shape(self) -> list[int | str] | None:
        """The shape: a number, or a name for a size that is open; None if the file does not give it."""

@final
class Statistics:
    """Counts, extremes and moments of the elements of a tensor. The extremes and moments are those of the finite elements."""

    @property
    def count(self) -> int:
        """The number of elements."""
    @property
    def nan(self) -> int:
        """How many elements are NaN."""
    @property
    def positive_infinite(self) -> int:
        """How many elements are +infinity."""
    @property
    def negative_infinite(self) -> int:
        """How many elements are -infinity."""
    @property
    def zeros(self) -> int:
        """How many elements are zero."""
    @property
    def min(self) -> float | None:
        """The smallest finite element; None if there is none."""
    @property
    def max(self) -> float | None:
        """The largest finite element; None if there is none."""
    @property
    def mean(self) -> float | None:
        """The mean of the finite elements."""
    @property
    def std(self) -> float | None:
        """The standard deviation of the finite elements."""
    @property
    def l2(self) -> float | None:
        """The Euclidean norm of the finite elements."""
    @property
    def is_finite(self) -> bool:
        """Whether all elements are finite."""

@final
class Tensor:
    """A tensor: an output of a run, one of a dump, or one of a run that is stopped.

    Arrays of numpy and of whatever knows DLPack are made of it without a copy. They are not to be written, because the engine or a file
    may have the same memory; `numpy().copy()` can be.
    """

    @property
    def dtype(self) -> str:
        """The type of the elements, by the name that numpy and ONNX use."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, slowest dimension first."""
    @property
    def nbytes(self) -> int:
        """The bytes of the data."""
    @property
    def name(self) -> str | None:
        """The operator that takes or gives the tensor, where that is known; else the value's name."""
    @property
    def op_type(self) -> str | None:
        """The operator's type."""
    @property
    def io(self) -> Literal["input", "output"] | None:
        """Whether the operator takes or gives it."""
    @property
    def slot(self) -> int | None:
        """The slot of the operator."""
    @property
    def value(self) -> str | None:
        """The value's name in the file."""
    @property
    def run(self) -> int | None:
        """The run; None for what is the same in every run."""
    @property
    def statistics(self) -> Statistics:
        """Counts, extremes and moments of the elements, in one pass."""
    def numpy(self) -> Any:
        """An array of numpy's over the same memory, which is not to be written.

        For bfloat16 and narrower floats it is of a type of the package `ml_dtypes`; elements of four bits get a byte each, which is a
        copy.
        """
    def tobytes(self) -> bytes:
        """The data: little-endian, row-major. A copy."""
    @property
    def __array_interface__(self) -> _ArrayInterface: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __float__(self) -> float: ...

@final
class Table:
    """A table of columns.

    `pyarrow.table(table)`, `polars.DataFrame(table)` and DuckDB read it without a copy, `pandas.DataFrame.from_arrow(table)` with one.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """A column as a list."""
    def rows(self) -> list[dict[str, Any]]:
        """The rows, a dict each."""
    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, one after another."""
    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def _repr_html_(self) -> str: ...

@final
class Model:
    """A model that is loaded and can run. Several threads may run it at once."""

    @property
    def path(self) -> Path:
        """The file; `(memory)` for a model that came as bytes."""
    @property
    def engine(self) -> str:
        """The engine's name and version."""
    @property
    def fidelity(self) -> Literal["optimised", "exact"]:
        """How `run` follows the file."""
    @property
    def threads(self) -> int:
        """The threads within an operator."""
    @property
    def inputs(self) -> list[Value]:
        """The inputs of a run."""
    @property
    def outputs(self) -> list[Value]:
        """The outputs of a run."""
    @property
    def operators(self) -> Table:
        """The operators of the file, in the order of execution."""
    def run(self, inputs: Inputs) -> dict[str, Tensor]:
        """Runs once and returns the outputs by their names, in the engine's memory."""
    def benchmark(
        self, inputs: Inputs | None = None, *, duration: float | None = None, runs: int | None = None, warmups: int = 1
    ) -> Benchmark:
        """Runs the model many times and returns how long a run takes, and where the time goes.

        `duration` is in seconds; without it and without `runs` it is two. Without inputs the model runs on zeros.
        """
    def profile(self, inputs: Inputs | None = None, *, runs: int = 100, warmups: int = 1) -> Profile:
        """Runs the model with a profiler, and returns the recording."""
    def dump(
        self,
        inputs: Inputs | None = None,
        *,
        select: str | Sequence[str] | None = None,
        types: str | Sequence[str] | None = None,
        io: Literal["inputs", "outputs", "all"] = "outputs",
    ) -> DumpStream:
        """Runs once and yields the tensors of every operator as it is executed. At most three tensors are held at once.

        `select` are names of operators or of modules, glob patterns, or `re:` and a regular expression; `types` are the same for types.
        """
    def write_dump(
        self,
        directory: str | os.PathLike[str],
        inputs: Inputs | None = None,
        *,
        select: str | Sequence[str] | None = None,
        types: str | Sequence[str] | None = None,
        io: Literal["inputs", "outputs", "all"] = "outputs",
        statistics_only: bool = False,
    ) -> Dump:
        """Runs once and writes the tensors of every operator into a directory, which must not exist. Returns what was written."""
    def debug(self, inputs: Inputs | None = None) -> DebugSession:
        """Returns a debugger for one run: a context manager."""
    def generate_inputs(self, seed: int | None = None) -> dict[str, Tensor]:
        """Inputs of the model's types and smallest shapes, by their names: random ones that are the same for the same seed, or zeros
        without one."""
    def _repr_html_(self) -> str: ...

@final
class Benchmark:
    """How long a run takes. Times are in seconds, except in columns whose name ends with `_ns`."""

    @property
    def median(self) -> float:
        """The median time of a run."""
    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the median; None for fewer than 6 independent runs."""
    @property
    def mean(self) -> float:
        """The arithmetic mean."""
    @property
    def min(self) -> float:
        """The shortest run."""
    @property
    def max(self) -> float:
        """The longest run."""
    @property
    def p99(self) -> float:
        """The 99th percentile."""
    @property
    def runs(self) -> int:
        """How many runs were measured."""
    @property
    def times(self) -> list[float]:
        """The time of each run."""
    @property
    def throughput(self) -> float:
        """Samples per second of a run that takes the median time."""
    @property
    def notes(self) -> list[str]:
        """What a user should know about how the plan runs the model, a sentence each."""
    @property
    def operators(self) -> Table:
        """Where the time goes by operator, of a few more runs with a profiler."""
    @property
    def op_types(self) -> Table:
        """The same by operator type."""
    def json(self) -> str:
        """The document that `opscope benchmark --json` prints."""
    def _repr_html_(self) -> str: ...

@final
class Profile:
    """A recording of runs: of a profile that was just taken, or one that was opened."""

    @property
    def path(self) -> Path:
        """Where the recording is. That of a profile that was just taken is temporary: see `save`."""
    @property
    def operators(self) -> Table:
        """Where the time goes by operator."""
    @property
    def op_types(self) -> Table:
        """Where the time goes by operator type."""
    @property
    def ranges(self) -> Table:
        """The ranges of the program's own code, by name."""
    @property
    def runs(self) -> int:
        """The measured runs."""
    @property
    def median(self) -> float:
        """The median time of a run, in seconds."""
    @property
    def complete(self) -> bool:
        """Whether the recording has everything that was recorded."""
    @property
    def problems(self) -> list[str]:
        """What the recording lacks, a sentence each."""
    def json(self) -> str:
        """The account as JSON."""
    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Copies the recording, with its timelines and tables, to a directory, which must not exist. Returns its path."""
    def report(self, file: str | os.PathLike[str]) -> Path:
        """Writes a page of HTML, which loads nothing, to a file, which must not exist. Returns its path."""
    def _repr_html_(self) -> str: ...

@final
class DumpStream:
    """The tensors of a run, during the run. The run waits for the iterator."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Tensor: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def close(self) -> None:
        """Ends the run at its next tensor."""
    @property
    def complete(self) -> bool | None:
        """Whether every tensor that was selected came; None before the end."""
    @property
    def missing(self) -> list[str]:
        """The tensors that were selected and did not come, a sentence each; empty before the end."""

@final
class Dump:
    """A dump: a directory that opscope wrote, AscendCL's files, or `.npy` files. Its tensors are mapped, not read."""

    @property
    def path(self) -> Path:
        """The directory or file that was opened."""
    @property
    def complete(self) -> bool:
        """Whether all of it could be read, and the dump does not say that something is missing."""
    @property
    def problems(self) -> list[str]:
        """What could not be read, or is missing, a sentence each."""
    @property
    def engine(self) -> str | None:
        """The engine that computed it, if the dump says so."""
    @property
    def operators(self) -> list[str]:
        """The names of its operators, in the order of the graph, if the dump has it."""
    @property
    def table(self) -> Table:
        """A row for each tensor, with what the dump says of its numbers."""
    def operator(self, name: str, run: int | None = None) -> DumpedOperator:
        """The tensors of an operator in a run: the first run that has some, if none is given."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    @overload
    def __getitem__(self, key: int, /) -> Tensor:
        """A tensor by its number."""
    @overload
    def __getitem__(self, key: str, /) -> DumpedOperator:
        """An operator by its name: the tensors of its first run."""
    def _repr_html_(self) -> str: ...

@final
class DumpedOperator:
    """The tensors of an operator in a run of a dump."""

    @property
    def name(self) -> str:
        """The operator's name."""
    @property
    def op_type(self) -> str | None:
        """The operator's type, if the dump says so."""
    @property
    def run(self) -> int | None:
        """The run; None for what is the same in every run."""
    @property
    def input(self) -> Mapping[int, Tensor]:
        """The inputs of the operator, by slot."""
    @property
    def output(self) -> Mapping[int, Tensor]:
        """The outputs of the operator, by slot."""

@final
class Comparison:
    """How the tensors of two sides differ."""

    @property
    def ok(self) -> bool:
        """Whether every tensor of both sides was compared and agrees."""
    @property
    def verdict(self) -> Literal["same", "different", "unknown"]:
        """`unknown` where data for the decision is missing."""
    @property
    def exit_code(self) -> int:
        """The exit code of `opscope compare`."""
    @property
    def first_divergence(self) -> FirstDivergence | None:
        """The first operator whose output differs; None if none does."""
    @property
    def table(self) -> Table:
        """A row for each pair of tensors, in the order of the graph."""
    @property
    def notes(self) -> list[str]:
        """What limits the comparison, a sentence each."""
    @property
    def problems(self) -> list[str]:
        """What could not be read, a sentence each."""
    @property
    def initializers(self) -> list[str]:
        """The names of the initializers that differ."""
    def text(self, rows: int = 20) -> str:
        """What `opscope compare` prints, with at most this many rows."""
    def json(self) -> str:
        """The document that `opscope compare --json` prints."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Reduced:
    """A model that fails in the same way as a larger one."""

    @property
    def model(self) -> Path:
        """The file of the model."""
    @property
    def inputs(self) -> Path | None:
        """The file of its inputs, an `.npz`; None if it takes none."""
    @property
    def operators(self) -> tuple[int, int]:
        """How many operators there were, and how many are left."""
    @property
    def op_types(self) -> list[str]:
        """The types of the operators that are left."""
    @property
    def failure(self) -> str:
        """How the whole model failed, in one sentence."""
    @property
    def complete(self) -> bool:
        """Whether the search came to its end, and nothing of the original had to stay."""
    @property
    def kept(self) -> list[str]:
        """What of the original stays although it was to be replaced, a sentence each."""
    @property
    def command(self) -> str:
        """A shell command that shows the failure."""
    def json(self) -> str:
        """The document that `opscope reduce --json` prints."""

@final
class ImportedTrace:
    """What became of a trace of another tool."""

    @property
    def directory(self) -> Path:
        """The recording, which `opscope.open` opens."""
    @property
    def format(self) -> str:
        """The format of the trace, such as `Kineto`."""
    @property
    def events(self) -> int:
        """How many events the trace has."""
    @property
    def imported(self) -> int:
        """How many of them are in the recording. The others are counted in `json()` by kind and name."""
    @property
    def runs(self) -> int:
        """How many runs the recording has."""
    @property
    def complete(self) -> bool:
        """Whether the whole trace was read."""
    @property
    def incomplete_because(self) -> list[str]:
        """What of the trace is damaged or missing, a sentence each."""
    def json(self) -> str:
        """The entry of the document that `opscope import --json` prints."""

@final
class Precision:
    """Which operators of a model must stay in float32, and the model in which the others are lowered."""

    @property
    def ok(self) -> bool:
        """Whether a minimal set was found, and the written model meets the target on the inputs of the search."""
    @property
    def exit_code(self) -> int:
        """The exit code of `opscope precision`."""
    @property
    def kept(self) -> list[str]:
        """The names of the nodes that must stay in float32, in order of execution."""
    @property
    def minimal(self) -> bool:
        """Whether the target is missed without any one of them. Not if the search was cut short, or the target is below the noise."""
    @property
    def table(self) -> Table:
        """A row for each operator that is kept: `operator`, `node`, `op_type`, the `cause` if it is more than rounding, and the metric
        `value_without` it, which is None if outputs are not finite then."""
    @property
    def value(self) -> float | None:
        """The metric of the written model on the inputs of the search; None with `check`, or if outputs are not finite."""
    @property
    def held_out(self) -> float | None:
        """The metric on inputs that the search did not see; None if there are none, or outputs are not finite."""
    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of `held_out`; None for fewer than two sets."""
    @property
    def noise(self) -> float | None:
        """The metric between two ways to compute in float32: two engines, or two plans of one; None with `check`."""
    @property
    def all_low(self) -> float | None:
        """The metric with every operator lowered; None if outputs are not finite, or the target is below the noise."""
    @property
    def path(self) -> Path | None:
        """The file of the model that was written; None if nothing was found."""
    @property
    def list_path(self) -> Path | None:
        """The file with the names of the kept nodes, one a line; None if nothing was found."""
    def text(self) -> str:
        """What `opscope precision` prints."""
    def json(self) -> str:
        """The document that `opscope precision --json` prints."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class FirstDivergence:
    """The first operator whose output differs."""

    @property
    def operator(self) -> str | None:
        """The operator's name; None if it is not known."""
    @property
    def op_type(self) -> str | None:
        """The operator's type, if it is known."""
    @property
    def tensor(self) -> str:
        """The tensor that differs."""
    @property
    def max_absolute(self) -> float | None:
        """The largest difference of an element; None if numbers could not be compared."""
    @property
    def blame(self) -> Literal["operator", "inputs", "initializers", "either", "unknown"]:
        """What the error comes from."""
    @property
    def source(self) -> str | None:
        """The line of Python that the operator comes from, if the file says so."""
    @property
    def inputs(self) -> list[tuple[str, Literal["same", "different", "unknown"]]]:
        """The values that the operator takes, with what is known of each."""
    @property
    def sentence(self) -> str:
        """The operator with how far its output is from the reference."""

@final
class DebugSession:
    """A debugger of one run of a model. It is a context manager: at its end the run is aborted if it is not over."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def break_at(
        self, target: str, when: str | None = None, *, moment: Literal["before", "after"] | None = None, once: bool = False
    ) -> int:
        """Stops the run at operators: by name, glob pattern or type (`Conv`, `/layer1/*`, `type:Conv`, `#12`), or at the first one that
        makes NaN or infinity (`first nonfinite`).

        `when` is a condition on its tensors, such as `absmax(output[0]) > 1e4`. Returns the breakpoint's number.
        """
    def run(self) -> Stop | None:
        """Starts the run. Returns where it stops, or None when it has ended."""
    def resume(self) -> Stop | None:
        """Continues to the next breakpoint. Returns where the run stops, or None when it has ended."""
    def step(self) -> Stop | None:
        """Continues to the next operator."""
    def next(self) -> Stop | None:
        """Continues to the next operator, past those of modules that this one is not in."""
    def finish(self) -> Stop | None:
        """Continues to the end of this operator."""
    def until(self, target: str) -> Stop | None:
        """Continues to one of these operators, or to the end."""
    def skip(self, outputs: Sequence[Array]) -> Stop | None:
        """Continues without executing the operator that the run is stopped before. `outputs` are its outputs, by slot."""
    def abort(self) -> None:
        """Ends the stopped run at once."""
    @property
    def outputs(self) -> dict[str, Tensor] | None:
        """The outputs of the run that has ended, by their names; None before."""

@final
class Stop:
    """Where a run is stopped."""

    @property
    def operator(self) -> str:
        """The operator's name."""
    @property
    def op_type(self) -> str:
        """The operator's type."""
    @property
    def moment(self) -> Literal["before", "after"]:
        """Before or after the operator."""
    @property
    def kernel(self) -> str:
        """What the engine executes there, in its own words."""
    @property
    def source(self) -> str | None:
        """The line of Python that the operator comes from, if the file says so."""
    @property
    def attributes(self) -> dict[str, str]:
        """The operator's attributes, as text."""
    @property
    def inputs(self) -> Slots:
        """The operator's inputs by slot. A tensor is copied when it is asked for."""
    @property
    def outputs(self) -> Slots:
        """The operator's outputs by slot, which can be read only after the operator."""
    def tensor(self, reference: str) -> Tensor:
        """A tensor by a reference: `input[0]`, `output[1]`, `weight[0]` or `value("name")`."""
    def replace(self, which: int | str, array: Array) -> None:
        """Replaces an input before the operator, or an output after it, by its slot or by a reference. The run continues with it."""
    def _repr_html_(self) -> str: ...

@final
class Slots:
    """The inputs or the outputs of an operator at which a run is stopped."""

    def __len__(self) -> int: ...
    def __getitem__(self, slot: int, /) -> Tensor: ...

@final
class SessionServer:
    """The debugger of a program's sessions of ONNX Runtime, and the server by which clients attach to it."""

    def __new__(cls) -> Self: ...
    def show(self, path: Path, data: bytes | None, threads: int, library: Path | None) -> ServedSession: ...
    def listen(self, socket: Path | None = None) -> None: ...
    @property
    def is_wanted(self) -> bool: ...
    @property
    def is_attached(self) -> bool: ...
    def take(self) -> SessionCapture | None: ...
    def close(self) -> None: ...

@final
class ServedSession:
    """A session of the program, as debuggers see it."""

    def run(self, inputs: Inputs) -> list[Tensor] | None: ...

@final
class SessionCapture:
    """A dump or a recording that a command wants of a session."""

    @property
    def kind(self) -> Literal["dump", "profile"]: ...
    @property
    def directory(self) -> Path: ...
    @staticmethod
    def yield_processors() -> None: ...
    def tell(self, model: str, error: str | None) -> None: ...

@final
class TorchServer:
    """A debugger of PyTorch programs, and the server by which clients attach to it."""

    def __new__(cls, *, evaluates: bool = False) -> Self: ...
    def set_callbacks(self, changed: Callable[[], None], instrument: Callable[[str], None]) -> None: ...
    @property
    def is_attached(self) -> bool: ...
    @property
    def is_interested(self) -> bool: ...
    def set_longest_stop(self, seconds: float | None) -> None: ...
    def listen(self, socket: str | None = None, *, stops: bool = False, quiet: bool = False) -> None: ...
    def close(self) -> None: ...

@final
class TorchTap:
    """What watches a PyTorch program: the object whose methods its hooks call, and which is a dispatch mode itself."""

    supports_higher_order_operators: Final[bool]
    def __new__(
        cls,
        script: tuple[Path, int],
        version: str,
        *,
        level: str,
        backward: bool,
        steps: str | None,
        reduces_all: bool = False,
    ) -> Self: ...
    @classmethod
    def is_infra_mode(cls) -> bool: ...
    @classmethod
    def ignore_compile_internals(cls) -> bool: ...
    def dump(
        self, directory: Path, statistics: bool, select: list[str], compiled: str, acl_json: tuple[str, str] | None = None
    ) -> list[str]: ...
    def watch(self, nonfinite: str, raises: bool = True) -> None: ...
    def profile(self, directory: Path, threads: int) -> None: ...
    def consume(self, tools: list[Path]) -> None: ...
    def debug(self, server: TorchServer) -> None: ...
    def set_clock(self, clock: Any) -> None: ...
    def enter(self, module: Any, args: tuple[Any, ...]) -> bool: ...
    def set_mode(self, is_entered: bool) -> None: ...
    def sleep(self) -> None: ...
    def wake(self) -> None: ...
    def leave(self, module: Any, output: Any) -> None: ...
    def optimizer(self, optimizer: Any | None) -> None: ...
    def step(self) -> None: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def current_step(self) -> int: ...
    def die(self) -> None: ...
    def not_seen(self, what: str, reason: str | None = None) -> None: ...
    def close(self, error: str | None = None) -> dict[str, Any] | None: ...
    def finding(self) -> dict[str, Any] | None: ...
    def __torch_dispatch__(self, operator: Any, types: Any, args: Any, kwargs: dict[str, Any] | None = None) -> Any: ...

def instrument_program(address: str, wanted: str) -> int: ...
def close_abandoned_dump(directory: Path, reason: str) -> int: ...
def close_abandoned_profile(directory: Path, reason: str) -> int: ...
def read_acl_json(path: str | os.PathLike[str], working_dir: str, name: str) -> tuple[str, Path, list[str]]: ...
