"""Comparisons of models and dumps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import opscope


@pytest.fixture
def broken(models: Path) -> opscope.Model:
    """The digits with one wrong weight, of the second convolution."""
    proto = onnx.load(models / "digits_cnn.onnx")
    (weight,) = [initializer for initializer in proto.graph.initializer if initializer.name == "conv2.weight"]
    values = numpy_helper.to_array(weight).copy()
    values.flat[0] += 1
    weight.CopyFrom(numpy_helper.from_array(values, "conv2.weight"))
    return opscope.load(proto)


def test_the_same_model_by_two_engines_is_the_same(models: Path, image: np.ndarray) -> None:
    one, other = (opscope.load(models / "digits_cnn.onnx", engine=engine) for engine in ("tract", "onnxruntime"))  # type: ignore[arg-type]
    comparison = opscope.compare(one, other, [image])
    assert comparison.ok and comparison.verdict == "same" and comparison.exit_code == 0
    assert comparison.first_divergence is None and not comparison.problems
    assert len(comparison) == 16 == len(comparison.table) and all(comparison.table["within"])
    assert comparison.table["operator"] == one.operators["operator"]
    assert "16 tensors compared" in str(comparison)


def test_the_first_operator_that_diverges_is_named(digits: opscope.Model, broken: opscope.Model, image: np.ndarray) -> None:
    comparison = opscope.compare(broken, digits, [image])
    assert not comparison.ok and comparison.verdict == "different" and comparison.exit_code == 4
    first = comparison.first_divergence
    assert first is not None and (first.operator, first.op_type) == ("/conv2/Conv", "Conv")
    assert first.blame == "initializers" and comparison.initializers == ["conv2.weight"]
    assert first.max_absolute is not None and first.max_absolute > 0.01
    assert "/conv2/Conv (Conv) diverges first" in first.sentence
    document = json.loads(comparison.json())
    assert document["first_divergence"]["operator"] == "/conv2/Conv"
    assert "diverges" in comparison._repr_html_()
    assert opscope.compare(broken, digits, [image], atol=1e6).ok


def test_a_model_and_dumps_by_their_paths(digits: opscope.Model, image: np.ndarray, models: Path, tmp_path: Path) -> None:
    digits.write_dump(tmp_path / "one", [image])
    digits.write_dump(tmp_path / "other", [image])
    assert opscope.compare(tmp_path / "one", tmp_path / "other").ok
    assert opscope.compare(models / "digits_cnn.onnx", tmp_path / "one", [image]).ok
    assert not opscope.compare(models / "digits_cnn.onnx", tmp_path / "one").ok, "random inputs are others"
    with pytest.raises(opscope.InputError, match="give the model first"):
        opscope.compare(tmp_path / "one", digits)
    with pytest.raises(opscope.InputError, match="models and dumps"):
        opscope.compare(digits, 3)  # type: ignore[arg-type]


def test_an_optimised_run_is_compared_with_the_exact_one(digits: opscope.Model, image: np.ndarray) -> None:
    comparison = opscope.compare(digits, digits, [image], fidelity="optimised")
    assert comparison.ok and 0 < len(comparison) <= 16


def test_models_without_a_common_tensor_are_refused(digits: opscope.Model, models: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", np.zeros(3, np.float32))
    with pytest.raises(opscope.InputError, match="no tensor in common"):
        opscope.compare(digits, tmp_path / "other.npy")
