"""Arrays in and out: their memory, their types, and how long they live."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opscope

# ONNX's codes, and the types of numpy's.
TYPES: list[tuple[int, Any]] = [
    (1, np.float32),
    (2, np.uint8),
    (3, np.int8),
    (4, np.uint16),
    (5, np.int16),
    (6, np.int32),
    (7, np.int64),
    (9, np.bool_),
    (10, np.float16),
    (11, np.float64),
    (12, np.uint32),
    (13, np.uint64),
]
NARROW: list[tuple[int, Any]] = [
    (16, ml_dtypes.bfloat16),
    (17, ml_dtypes.float8_e4m3fn),
    (18, ml_dtypes.float8_e4m3fnuz),
    (19, ml_dtypes.float8_e5m2),
    (20, ml_dtypes.float8_e5m2fnuz),
]

Identity = Callable[[int, list[int]], bytes]


class Only:
    """An array of which one protocol alone can be seen."""

    def __init__(self, array: Any, *names: str) -> None:
        self._array = array
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(name)
        return getattr(self._array, name)


def test_every_type_comes_back_by_every_protocol(identity: Identity) -> None:
    for code, dtype in TYPES:
        model = opscope.load(identity(code, [2, 3]), engine="onnxruntime")
        array = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
        protocols = [("__dlpack__", "__dlpack_device__"), ("__array_interface__",), ("__array__",)]
        for given in [array, *(Only(array, *names) for names in protocols)]:
            y = model.run([given])["y"]
            assert y.dtype == np.dtype(dtype).name and y.shape == (2, 3) and y.nbytes == array.nbytes
            for found in (np.asarray(y), np.from_dlpack(y), y.numpy()):
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, array)


def test_narrow_types_come_back_as_those_of_ml_dtypes(identity: Identity) -> None:
    for code, dtype in NARROW:
        model = opscope.load(identity(code, [4]), engine="onnxruntime")
        array = np.array([0.0, 1.0, -2.0, 0.5]).astype(dtype)
        y = model.run([array])["y"]
        assert y.numpy().dtype == array.dtype and y.tobytes() == array.tobytes()
        assert y.numpy().__array_interface__["data"][0] == np.asarray(y).__array_interface__["data"][0]
        # By DLPack, as another library has it.
        assert model.run([Only(y, "__dlpack__", "__dlpack_device__")])["y"].dtype == y.dtype
        with pytest.raises(AttributeError):
            _ = y.__array_interface__


def test_outputs_are_handed_out_where_they_are(digits: opscope.Model, image: np.ndarray) -> None:
    y = digits.run([image])["probabilities"]
    place = y.__array_interface__["data"][0]
    for array in (np.asarray(y), y.numpy(), np.from_dlpack(y)):
        assert array.__array_interface__["data"][0] == place
        assert not array.flags.writeable
    copy = np.array(y)
    assert copy.flags.writeable and copy.__array_interface__["data"][0] != place
    assert np.asarray(y, dtype="float64").dtype == np.float64
    assert y.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        y.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(y, copy=True)
    assert copied.__array_interface__["data"][0] != place and copied.tobytes() == y.tobytes()


def test_arrays_are_not_copied_on_their_way_in(identity: Identity) -> None:
    """What a run holds of an array is the array: it lives until the run is over, and no longer."""
    model = opscope.load(identity(1, [1000]))
    array = np.arange(1000, dtype=np.float32)

    class Watched:
        __array_interface__ = array.__array_interface__

    watched = Watched()
    gone = weakref.ref(watched)
    y = model.run([watched])["y"]
    del watched
    gc.collect()
    np.testing.assert_array_equal(np.asarray(y), array)
    assert gone() is None


def test_arrays_that_do_not_lie_in_order_are_copied(digits: opscope.Model, image: np.ndarray) -> None:
    expected = digits.run([image])["probabilities"].tobytes()
    backwards = np.ascontiguousarray(image[::-1])[::-1]
    transposed = np.asfortranarray(image)
    wide = np.repeat(image, 2, axis=3)[..., ::2]
    for array in (backwards, transposed, wide):
        assert not array.flags.c_contiguous
        for given in (array, Only(array, "__array_interface__"), Only(array, "__dlpack__", "__dlpack_device__")):
            assert digits.run([given])["probabilities"].tobytes() == expected


def test_empty_arrays_and_scalars(identity: Identity) -> None:
    empty = opscope.load(identity(1, [0, 3]), engine="onnxruntime").run([np.empty((0, 3), np.float32)])["y"]
    assert empty.shape == (0, 3) and np.asarray(empty).shape == (0, 3) and np.from_dlpack(empty).shape == (0, 3)
    scalar = opscope.load(identity(1, []), engine="onnxruntime").run([np.float32(2.5)])["y"]
    assert scalar.shape == () and float(scalar) == 2.5
    with pytest.raises(TypeError):
        len(scalar)
    with pytest.raises(TypeError):
        float(empty)


def test_statistics_are_numpys(digits: opscope.Model, image: np.ndarray) -> None:
    y = digits.run([image])["probabilities"]
    array, statistics = np.asarray(y).astype("float64"), y.statistics
    assert statistics.count == array.size and statistics.is_finite
    assert statistics.min == array.min() and statistics.max == array.max()
    assert statistics.mean == pytest.approx(array.mean()) and statistics.std == pytest.approx(array.std())
    assert "80 elements" in repr(statistics) and "float32" in y._repr_html_()


def dropped(models: Path, image: np.ndarray, place: Path, orders: str, *fault: str) -> subprocess.CompletedProcess[str]:
    """Drops things in random orders. Memory that was freed has other bytes at once, and the allocators look at what they are given."""
    opscope.load(models / "digits_cnn.onnx").write_dump(place / "dump", [image])
    words = [models / "digits_cnn.onnx", models / "digits_cnn.input.image.npy", place / "dump", orders, 7, *fault]
    program = [sys.executable, Path(__file__).with_name("dropping.py"), *words]
    environment = {**os.environ, "PYTHONMALLOC": "malloc_debug", "MALLOC_PERTURB_": "165"}
    return subprocess.run(list(map(str, program)), env=environment, capture_output=True, text=True, check=False)


def test_whatever_is_dropped_first_the_rest_can_be_used(models: Path, image: np.ndarray, tmp_path: Path) -> None:
    orders = os.environ.get("OPSCOPE_TEST_ORDERS", "60")
    ended = dropped(models, image, tmp_path, orders)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{orders} orders")


@pytest.mark.parametrize("fault", ["leak", "lend"])
def test_a_leak_and_a_use_of_freed_memory_would_be_found(fault: str, models: Path, image: np.ndarray, tmp_path: Path) -> None:
    assert dropped(models, image, tmp_path, "60", fault).returncode != 0
