"""Models and arrays that the tests share."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opscope

MODELS = Path(__file__).resolve().parents[2] / "models"
pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def has_the_library(request: pytest.FixtureRequest) -> None:
    """Skips a test that needs a later ONNX Runtime than there is."""
    for mark in request.node.iter_markers("onnxruntime"):
        minor = mark.args[0]
        version = importlib.metadata.version("onnxruntime")
        if int(version.split(".")[1]) < minor:
            pytest.skip(f"needs ONNX Runtime 1.{minor} or later, and this is {version}")


@pytest.fixture(scope="session")
def models() -> Path:
    """The directory of the models."""
    return MODELS


@pytest.fixture(scope="session")
def image() -> np.ndarray:
    """Eight handwritten digits."""
    return np.load(MODELS / "digits_cnn.input.image.npy")


@pytest.fixture(scope="session")
def digits() -> opscope.Model:
    """The model that reads them."""
    return opscope.load(MODELS / "digits_cnn.onnx")


@pytest.fixture(scope="session")
def engines() -> list[str]:
    """The engines that the tests run."""
    return ["tract", "onnxruntime"]


def names_of_threads(process: int | str = "self") -> list[str]:
    """The names of the threads of a process, as the system has them."""
    names = []
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            # It has ended meanwhile.
            continue
    return names


@pytest.fixture(name="names_of_threads")
def names_of_threads_fixture() -> Callable[..., list[str]]:
    """The names of the threads of a process: of this one, or of one with a number."""
    return names_of_threads


@pytest.fixture
def identity() -> Callable[[int, list[int]], bytes]:
    """Makes the file of a model that gives what it takes, of one of ONNX's types."""
    from onnx import TensorProto, helper

    assert TensorProto.FLOAT == 1

    def make(dtype: int, shape: list[int]) -> bytes:
        x, y = (helper.make_tensor_value_info(name, dtype, shape) for name in ("x", "y"))
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"], "same")], "identity", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
        model.ir_version = 9
        return model.SerializeToString()

    return make
