"""The smallest model that still fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import opscope


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A model of 31 operators, with a square root of negative numbers among them."""
    values = ["secret_input", *(f"secret_value_{at}" for at in range(31))]
    kinds = ["Sqrt" if at == 15 else ("Tanh", "Neg")[at % 2] for at in range(31)]
    nodes = [helper.make_node(kind, [values[at]], [values[at + 1]], name=f"secret_node_{at}") for at, kind in enumerate(kinds)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 5]) for name in (values[0], values[-1])]
    model = helper.make_model(helper.make_graph(nodes, "secret_graph", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, tmp_path / "chain.onnx")
    return tmp_path / "chain.onnx"


def test_one_operator_is_left_that_fails_in_the_same_way(chain: Path, tmp_path: Path) -> None:
    given = np.linspace(-2, 2, 15, dtype=np.float32).reshape(3, 5)
    output = tmp_path / "small.onnx"
    reduced = opscope.reduce(chain, {"secret_input": given}, fails="first nonfinite", output=output, anonymise=True)
    assert (reduced.model, reduced.inputs, reduced.operators, reduced.op_types) == (output, tmp_path / "small.inputs.npz", (31, 1), ["Sqrt"])
    assert reduced.complete and not reduced.kept and "Sqrt" in reduced.failure
    assert b"secret" not in output.read_bytes()
    onnx.checker.check_model(onnx.load(output), full_check=True)
    assert json.loads(reduced.json())["schema"] == "opscope.reduce/1"
    assert str(reduced).startswith("31 operators -> 1; fails in the same way in a new process")
    assert reduced.inputs is not None
    with np.load(reduced.inputs) as stored:
        (name,) = stored.files
        assert stored[name].size == 1 and stored[name].flat[0] < 0
    words = ["reduce", str(output), f"--input={reduced.inputs}", "--fails=first nonfinite", "--check"]
    assert subprocess.run([sys.executable, "-m", "opscope", *words], stdout=subprocess.DEVNULL).returncode == 0


def test_a_command_is_run_in_processes_of_its_own(chain: Path, tmp_path: Path) -> None:
    fails = "command 'grep -q Sqrt {model}'"
    reduced = opscope.reduce(chain, fails=fails, output=tmp_path / "small.onnx", seed=3)
    assert reduced.op_types == ["Sqrt"] and reduced.command.startswith("grep -q Sqrt ")


def test_what_does_not_fail_and_what_is_wrong_is_an_error(chain: Path, models: Path, tmp_path: Path) -> None:
    output = tmp_path / "small.onnx"
    with pytest.raises(opscope.InputError, match="does not fail in this way .'first nonfinite'.: no operator makes a NaN"):
        opscope.reduce(models / "digits_cnn.onnx", fails="first nonfinite", output=output)
    with pytest.raises(opscope.InputError, match="there is no failure 'nan'"):
        opscope.reduce(chain, fails="nan", output=output)
    with pytest.raises(opscope.InputError, match="2 inputs were given"):
        opscope.reduce(chain, [np.zeros(3), np.zeros(3)], fails="crash", output=output)
    output.write_text("mine")
    with pytest.raises(opscope.FileError, match="exists"):
        opscope.reduce(chain, fails="crash", output=output)
    assert output.read_text() == "mine"
