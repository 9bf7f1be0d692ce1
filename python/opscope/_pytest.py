"""The plugin for pytest: a fixture `opscope`, and the option `--opscope-update`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os

    from opscope._opscope import Benchmark, Model
    from opscope._types import Inputs

__all__ = ["Checks"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    group = parser.getgroup("opscope")
    group.addoption("--opscope-update", action="store_true", help="write the golden dumps and summaries instead of comparing with them")


@pytest.fixture
def opscope(request: pytest.FixtureRequest) -> Checks:
    """Checks of models: `assert_finite`, `assert_matches`, `assert_not_slower`."""
    return Checks(request.path.parent, update=bool(request.config.getoption("--opscope-update")))


class Checks:
    """Checks of models. Paths of golden files are relative to the directory of the test."""

    def __init__(self, directory: Path, *, update: bool = False) -> None:
        self._directory = directory
        self._update = update

    def assert_finite(self, model: Model | str | os.PathLike[str], inputs: Inputs | None = None) -> None:
        """Fails if an operator makes NaN or infinity of finite inputs. The message names the first one, with statistics of its inputs.

        Without inputs, random ones are taken, the same every time.
        """
        __tracebackhide__ = True
        loaded = _loaded(model)
        with loaded.debug(loaded.generate_inputs(seed=0) if inputs is None else inputs) as debugger:
            debugger.break_at("first nonfinite")
            stop = debugger.run()
            if stop is None:
                return
            lines = [str(stop)]
            for slot in range(len(stop.inputs)):
                tensor = stop.inputs[slot]
                lines.append(f"  input[{slot}]  {tensor.dtype} {list(tensor.shape)}  {tensor.statistics!r}")
            lines.append(f"to look at it: {_debugger(loaded, stop.operator)}")
        pytest.fail("\n".join(lines), pytrace=False)

    def assert_matches(
        self,
        model: Model | str | os.PathLike[str],
        golden: str | os.PathLike[str],
        inputs: Inputs | None = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        of_max: float | None = None,
    ) -> None:
        """Fails if a tensor of the model differs from the golden dump. The message names the first operator that diverges.

        `--opscope-update` writes the dump. Without inputs, random ones are taken, the same every time.
        """
        __tracebackhide__ = True
        import opscope

        loaded = _loaded(model)
        path = self._directory / golden
        fed = loaded.generate_inputs(seed=0) if inputs is None else inputs
        if self._update:
            if path.exists():
                _remove_dump(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            loaded.write_dump(path, fed)
            return
        if not path.exists():
            pytest.fail(f"there is no golden dump {path}; pytest --opscope-update writes it", pytrace=False)
        comparison = opscope.compare(loaded, path, fed, atol=atol, rtol=rtol, of_max=of_max)
        if comparison.ok:
            return
        lines = [f"{loaded.path} differs from {golden}: {comparison.verdict}"]
        first = comparison.first_divergence
        if first is not None:
            lines.append(first.sentence)
            lines.extend(f"  takes '{value}': {verdict}" for value, verdict in first.inputs)
            if first.source is not None:
                lines.append(f"  {first.source}")
            if first.operator is not None:
                lines.append(f"to look at it: {_debugger(loaded, first.operator)}")
        lines.extend(comparison.problems)
        lines.append(comparison.text(10))
        pytest.fail("\n".join(lines), pytrace=False)

    def assert_not_slower(
        self, measured: Benchmark | Model | str | os.PathLike[str], golden_summary: str | os.PathLike[str], by: str = "5%"
    ) -> None:
        """Fails if the median is higher than the golden one by more than `by`, beyond doubt: the whole confidence interval is.

        `golden_summary` is a summary of `opscope benchmark`, or what `--opscope-update` writes. A model is measured for two seconds.
        """
        __tracebackhide__ = True
        from opscope._opscope import Benchmark

        benchmark = measured if isinstance(measured, Benchmark) else _loaded(measured).benchmark()
        path = self._directory / golden_summary
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(benchmark.json() + "\n")
            return
        if not path.exists():
            pytest.fail(f"there is no golden summary {path}; pytest --opscope-update writes it", pytrace=False)
        summary = json.loads(path.read_text())
        golden = _interval(summary["NPU_compute_time"]["median"], summary.get("median_interval_95"))
        interval = benchmark.interval
        now = _interval(benchmark.median * 1e3, interval and [bound * 1e3 for bound in interval])
        limit = golden[1] * (1 + _part(by))
        if now[0] > limit:
            pytest.fail(
                f"the median is {benchmark.median * 1e3:.4f} ms ({now[0]:.4f} to {now[1]:.4f}), and it was "
                f"{golden[0]:.4f} to {golden[1]:.4f} ms; {by} more is allowed",
                pytrace=False,
            )


def _loaded(model: Model | str | os.PathLike[str] | Any) -> Model:
    import opscope

    return model if isinstance(model, opscope.Model) else opscope.load(model)


def _interval(median: float, interval: Any) -> tuple[float, float]:
    """The interval of a median in milliseconds; the median alone where there were too few runs for one."""
    return (float(interval[0]), float(interval[1])) if interval else (median, median)


def _part(by: str) -> float:
    try:
        return float(by.removesuffix("%")) / 100
    except ValueError:
        raise ValueError(f"by is a percentage such as '5%', not {by!r}") from None


def _debugger(model: Model, operator: str) -> str:
    return f"opscope debug {model.path} -ex 'break name:{operator}' -ex run"


def _remove_dump(path: Path) -> None:
    """Removes a dump that opscope wrote, and nothing else."""
    if not (path / "manifest.json").is_file() or not (path / "index.jsonl").is_file():
        pytest.fail(f"{path} is not a dump that opscope wrote, and is not overwritten", pytrace=False)
    shutil.rmtree(path)
