"""Which operators must stay in float32: the call, its result, and the written models as ONNX Runtime judges them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import opscope

PLANTED = ["/norm/Pow", "/norm/ReduceMean", "/norm/Add", "/norm/Sqrt"]


@pytest.fixture
def norm(models: Path) -> Path:
    """A network whose norm squares numbers of some hundreds."""
    return models / "precision" / "rms_norm.onnx"


def sets(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [{"x": rng.normal(size=(8, 16)).astype(np.float32)} for _ in range(count)]


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x.astype(np.float64).ravel(), y.astype(np.float64).ravel()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def by_onnxruntime(model: Path, given: dict[str, np.ndarray]) -> np.ndarray:
    (output,) = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, given)
    return np.asarray(output)


def test_the_planted_operators_are_kept_and_onnxruntime_runs_what_is_written(norm: Path, tmp_path: Path) -> None:
    told: list[str] = []
    given = sets(6)
    result = opscope.precision(
        norm, to="fp16", inputs=given, keep_within="cosine >= 0.9999", output=tmp_path / "out", search=3, progress=told.append
    )
    assert result.ok and result.minimal and result.exit_code == 0
    assert result.kept == PLANTED and len(result) == 4
    assert result.table["op_type"] == ["Pow", "ReduceMean", "Add", "Sqrt"]
    assert all(value is None or value < 0.9999 for value in result.table["value_without"])
    assert result.path == tmp_path / "out" / "rms_norm_fp16.onnx"
    assert result.list_path is not None and result.list_path.read_text().splitlines() == PLANTED
    assert result.value is not None and result.value >= 0.9999 and result.held_out is not None
    assert result.interval is not None and result.interval[0] <= result.held_out <= result.interval[1]
    assert told[0].startswith("looking at every operator alone, inputs 1 of 3") and "measuring the written model" in told[-1]

    onnx.checker.check_model(onnx.load(result.path), full_check=True)
    cosines = [cosine(by_onnxruntime(result.path, one), by_onnxruntime(norm, one)) for one in given]
    assert min(cosines) >= 0.9999
    # The mean that it states is that of another engine's values, which round alike.
    assert np.mean(cosines[3:]) == pytest.approx(result.held_out, abs=1e-5)

    document = json.loads(result.json())
    assert document == json.loads((tmp_path / "out" / "precision.json").read_text())
    assert "/norm/Pow" in str(result) and "4 operators kept" in repr(result) and "/norm/Sqrt" in result._repr_html_()


def test_a_model_of_any_kind_and_inputs_in_any_form(norm: Path, tmp_path: Path) -> None:
    arrays = [one["x"] for one in sets(2)]
    loaded = opscope.load(onnx.load(norm), engine="onnxruntime")
    kinds: list[tuple[Any, Any]] = [(norm, arrays), (loaded, [[array] for array in arrays]), (norm.read_bytes(), None)]
    for index, (model, inputs) in enumerate(kinds):
        result = opscope.precision(model, to="fp16", inputs=inputs, output=tmp_path / str(index))
        assert result.kept == PLANTED and result.path is not None and result.path.exists()


def test_bf16_keeps_the_range(norm: Path, tmp_path: Path) -> None:
    result = opscope.precision(norm, to="bf16", output=tmp_path)
    assert result.ok and result.kept == [] and result.all_low is not None and result.all_low >= 0.999


def test_int8_by_the_quantizer_of_this_python(norm: Path, tmp_path: Path) -> None:
    given = sets(8)
    result = opscope.precision(norm, to="int8", inputs=given, keep_within="sqnr >= 25", output=tmp_path)
    assert result.path is not None and result.path.name == "rms_norm_int8.onnx"
    kinds = {node.op_type for node in onnx.load(result.path).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds
    reference = [by_onnxruntime(norm, one).astype(np.float64) for one in given[:4]]
    errors = [np.square(by_onnxruntime(result.path, one) - y).sum() / np.square(y).sum() for one, y in zip(given, reference)]
    assert -10 * np.log10(np.mean(errors)) == pytest.approx(result.value, abs=0.5)
    # A finer target keeps some.
    finer = opscope.precision(norm, to="int8", inputs=given, keep_within="sqnr >= 45", output=tmp_path / "finer")
    assert finer.kept and finer.minimal


def test_int8_by_a_python_without_the_packages(norm: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S -I \"$@\"\n")
    bare.chmod(0o755)
    with pytest.raises(opscope.Error, match="pip install onnx onnxruntime"):
        opscope.precision(norm, to="int8", output=tmp_path / "out", python=bare)


def test_a_command_decides(norm: Path, tmp_path: Path) -> None:
    check = tmp_path / "check.py"
    check.write_text(
        "import sys, onnx\n"
        "kept = [node.op_type for node in onnx.load(sys.argv[1]).graph.node if node.op_type == 'Cast']\n"
        "sys.exit(len(kept) == 2)\n"
    )
    # The original has no Cast, a model that is lowered as a whole has two.
    result = opscope.precision(norm, to="fp16", check=f"{sys.executable} {check} {{model}}", output=tmp_path / "out")
    assert result.minimal and len(result.kept) >= 1 and result.value is None and result.noise is None


def test_a_target_below_the_noise(norm: Path, tmp_path: Path) -> None:
    result = opscope.precision(norm, to="fp16", keep_within="sqnr >= 400", output=tmp_path)
    assert not result.ok and result.exit_code == 3 and result.path is None and "finer than that" in str(result)


def test_what_is_wrong_is_said(norm: Path, tmp_path: Path) -> None:
    def refused(message: str, error: type[Exception] = opscope.InputError, **arguments: object) -> None:
        given = {"to": "fp16", "output": tmp_path / "out", **arguments}
        with pytest.raises(error, match=message):
            opscope.precision(norm, **given)  # type: ignore[arg-type]

    refused("'fp8' is no type to lower to; there are fp16, bf16 and int8", to="fp8")
    refused("give a metric and a bound", keep_within="mse <= 1")
    refused("inputs is a list of sets", inputs=sets(1)[0])
    refused("inputs has no set", inputs=[])
    refused("the model has no input 'y'", inputs=[{"y": np.zeros((8, 16), np.float32)}])
    refused(r"\[8, 16\]", inputs=[np.zeros((3, 16), np.float32)])
    refused("the search is to see 9 sets of inputs, and there are 8", search=9)
    refused("search is a number from 1 on", search=0)
    refused("budget is a number of seconds", budget=-1)
    refused("the check fails for the original model", check="false")
    (tmp_path / "file").write_text("")
    refused("cannot be written", opscope.FileError, output=tmp_path / "file" / "out")
    opscope.precision(norm, to="fp16", output=tmp_path / "out")
    refused("holds another search", keep_within="cosine >= 0.9")


def test_a_hook_that_raises_ends_the_search_with_the_best_so_far(norm: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def hook(sentence: str) -> None:
        if (tmp_path / "keep.txt").exists():
            raise Enough

    with pytest.raises(Enough):
        opscope.precision(norm, to="fp16", output=tmp_path, progress=hook)
    onnx.checker.check_model(onnx.load(tmp_path / "rms_norm_fp16.onnx"))
    assert opscope.precision(norm, to="fp16", output=tmp_path).kept == PLANTED


def test_other_threads_run_and_an_interrupt_leaves_the_best_so_far(norm: Path, tmp_path: Path) -> None:
    # The check interrupts the process in one of its calls, and its thread has to run meanwhile.
    (tmp_path / "out").mkdir()
    check = tmp_path / "check.sh"
    # The first call is with the original, the second with nothing kept; the third gives a first result.
    check.write_text("echo >>calls\ncalls=$(wc -l <calls)\n[ $calls -ne 4 ] || kill -INT $1\n[ $calls -eq 1 ] || [ $calls -eq 3 ]\n")
    program = f"""
import os, signal, opscope
# A program that a shell starts in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    opscope.precision({str(norm)!r}, to="fp16", output="out", check=f"sh check.sh {{os.getpid()}}")
except KeyboardInterrupt:
    print("interrupted")
"""
    script = [sys.executable, "-c", program]
    ended = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "interrupted\n"
    assert (tmp_path / "out" / "keep.txt").read_text().splitlines()
    onnx.checker.check_model(onnx.load(tmp_path / "out" / "rms_norm_fp16.onnx"))

    seen = threading.Event()
    threading.Thread(target=seen.set).start()
    opscope.precision(norm, to="fp16", output=tmp_path / "whole", progress=lambda _: seen.wait() or None)
