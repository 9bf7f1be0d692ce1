"""The debugger of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opscope


@pytest.fixture
def logarithm(models: Path) -> opscope.Model:
    """A model that computes the logarithm of what it is given."""
    return opscope.load(models / "fixtures" / "nan.onnx")


@pytest.fixture
def values(models: Path) -> np.ndarray:
    """Minus one, zero and two."""
    return np.load(models / "fixtures" / "nan.input.x.npy")


def test_the_first_nan_is_found_and_replaced(logarithm: opscope.Model, values: np.ndarray) -> None:
    with logarithm.debug([values]) as debugger:
        debugger.break_at("first nan")
        stop = debugger.run()
        assert stop is not None and (stop.operator, stop.op_type, stop.moment) == ("log", "Log", "after")
        np.testing.assert_array_equal(stop.inputs[0].numpy(), values)
        assert stop.outputs[0].statistics.nan == 1 and stop.outputs[0].statistics.negative_infinite == 1
        assert "Breakpoint" in str(stop) and len(stop.inputs) == len(stop.outputs) == 1
        stop.replace(0, [0.0, 0.0, 0.0])
        assert debugger.resume() is None
        outputs = debugger.outputs
        assert outputs is not None and np.isfinite(outputs["y"].numpy()).all()


def test_a_run_stops_where_a_condition_holds(digits: opscope.Model, image: np.ndarray) -> None:
    with digits.debug([image]) as debugger:
        assert debugger.break_at("type:Conv", when="absmax(input[0]) > 1.5") == 1
        stop = debugger.run()
        assert stop is not None and stop.op_type == "Conv" and stop.operator != "/conv1/Conv"
        assert np.abs(stop.inputs[0].numpy()).max() > 1.5
        value = stop.inputs[0].value
        assert value is not None and stop.tensor(f'value("{value}")').tobytes() == stop.inputs[0].tobytes()
        assert stop.tensor("weight[0]").shape == stop.inputs[1].shape
        with pytest.raises(IndexError, match="3 inputs"):
            stop.inputs[3]
        with pytest.raises(opscope.DebugError, match="finish"):
            stop.outputs[0].numpy()
        with pytest.raises(opscope.InputError, match="tensor"):
            stop.tensor("somewhere")
        assert stop.attributes["kernel_shape"] == "[3, 3]" and stop.operator in stop._repr_html_()


def test_a_run_is_stepped_through(digits: opscope.Model, image: np.ndarray) -> None:
    names = digits.operators["operator"]
    with digits.debug([image]) as debugger:
        debugger.break_at("#0")
        stop = debugger.run()
        assert stop is not None and stop.operator == names[0]
        stop = debugger.step()
        assert stop is not None and stop.operator == names[1]
        stop = debugger.finish()
        assert stop is not None and (stop.operator, stop.moment) == (names[1], "after")
        stop = debugger.until("type:Softmax")
        assert stop is not None and stop.operator == names[-1]
        assert debugger.resume() is None
        outputs = debugger.outputs
        assert outputs is not None
        expected = opscope.load(digits.path, fidelity="exact").run([image])
        assert outputs["probabilities"].tobytes() == expected["probabilities"].tobytes()


def test_an_operator_is_skipped(digits: opscope.Model, image: np.ndarray) -> None:
    ones = np.full((8, 10), 0.1, np.float32)
    with digits.debug([image]) as debugger:
        debugger.break_at("Softmax", moment="before")
        assert debugger.run() is not None
        assert debugger.skip([ones]) is None
        outputs = debugger.outputs
        assert outputs is not None
        np.testing.assert_array_equal(outputs["probabilities"].numpy(), ones)


def test_a_run_that_is_left_ends(
    digits: opscope.Model, image: np.ndarray, names_of_threads: Callable[..., list[str]]
) -> None:
    for _ in range(10):
        with digits.debug([image]) as debugger:
            debugger.break_at("*")
            assert debugger.run() is not None
    # Also by an exception of the block, which is what comes out of it.
    with pytest.raises(ZeroDivisionError), digits.debug([image]) as debugger:
        debugger.break_at("*")
        debugger.run()
        _ = 1 / 0
    assert "opscope-debuggee"[:15] not in names_of_threads()


def test_what_the_debugger_cannot_do_is_an_error(digits: opscope.Model, image: np.ndarray) -> None:
    debugger = digits.debug([image])
    with pytest.raises(RuntimeError, match="within its block"):
        debugger.run()
    with debugger:
        with pytest.raises(opscope.DebugError, match="has not begun"):
            debugger.resume()
        with pytest.raises(opscope.DebugError, match="conv9"):
            debugger.break_at("/conv9/Conv")
        with pytest.raises(opscope.DebugError):
            debugger.break_at("Conv", when="absmax(")
        with pytest.raises(opscope.InputError, match="before or after"):
            debugger.break_at("Conv", moment="during")  # type: ignore[arg-type]
        debugger.break_at("/conv1/Conv")
        stop = debugger.run()
        assert stop is not None
        with pytest.raises(opscope.DebugError, match="under way"):
            debugger.run()
        with pytest.raises(opscope.DebugError, match="it is float32"):
            stop.replace(0, np.zeros(3, np.float32))
        with pytest.raises(opscope.DebugError):
            debugger.skip([np.zeros(3, np.float32)])
        # The run is still stopped there.
        assert debugger.resume() is None
        with pytest.raises(opscope.DebugError, match="is over"):
            debugger.resume()
        with pytest.raises(opscope.DebugError):
            stop.inputs[0]
    with pytest.raises(opscope.InputError):
        with digits.debug([np.zeros((1, 3, 8, 8), np.float32)]) as debugger:
            debugger.run()


def test_next_passes_the_modules_that_an_operator_is_not_in(models: Path) -> None:
    transformer = opscope.load(models / "tiny_transformer.onnx")
    for go, expected in (("step", "attention/output/LayerNorm/ReduceMean"), ("next", "intermediate/dense/MatMul")):
        with transformer.debug() as debugger:
            debugger.break_at("/encoder/layer.0/attention/output/Add")
            assert debugger.run() is not None
            stop = getattr(debugger, go)()
            assert stop is not None and stop.operator == f"/encoder/layer.0/{expected}"
