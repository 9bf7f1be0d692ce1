"""Dumps: streamed, written, opened."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opscope


def test_a_dump_yields_what_every_operator_computes(models: Path, image: np.ndarray, engines: list[str]) -> None:
    expected = models / "expected" / "digits_cnn"
    index = json.loads((expected / "index.json").read_text())["values"]
    for engine in engines:
        model = opscope.load(models / "digits_cnn.onnx", engine=engine)  # type: ignore[arg-type]
        stream = model.dump([image])
        assert stream.complete is None
        tensors = list(stream)
        assert stream.complete is True and stream.missing == []
        assert [tensor.name for tensor in tensors] == model.operators["operator"]
        assert [tensor.op_type for tensor in tensors] == model.operators["op_type"]
        assert {(tensor.io, tensor.slot) for tensor in tensors} == {("output", 0)}
        for tensor in tensors:
            assert tensor.value is not None
            np.testing.assert_allclose(tensor.numpy(), np.load(expected / index[tensor.value]["file"]), rtol=1e-3, atol=1e-4)
        assert list(stream) == []


def test_a_dump_takes_what_is_selected(digits: opscope.Model, image: np.ndarray) -> None:
    assert [tensor.name for tensor in digits.dump([image], select="/conv1/*")] == ["/conv1/Conv"]
    assert [tensor.op_type for tensor in digits.dump([image], types=["Gemm", "Softmax"])] == ["Gemm", "Gemm", "Softmax"]
    assert {tensor.io for tensor in digits.dump([image], io="all")} == {"input", "output"}
    with pytest.raises(opscope.InputError, match="conv9"):
        digits.dump(select="/conv9/Conv")
    with pytest.raises(opscope.InputError, match="inputs, outputs or all"):
        digits.dump(io="both")  # type: ignore[arg-type]


def test_a_dump_that_nobody_reads_to_its_end_ends_its_run(
    digits: opscope.Model, image: np.ndarray, names_of_threads: Callable[..., list[str]]
) -> None:
    for _ in range(20):
        with digits.dump([image]) as stream:
            assert next(stream).name == "/conv1/Conv"
        assert list(stream) == []
    # The runs end by themselves, or this does not.
    while "opscope-dump" in names_of_threads():
        pass


def test_a_run_that_fails_is_an_error_of_the_iteration(models: Path) -> None:
    model = opscope.load(models / "digits_cnn.onnx")
    with pytest.raises(opscope.InputError):
        list(model.dump([np.zeros((1, 2, 8, 8), np.float32)]))


def test_a_dump_on_the_disk_is_mapped(digits: opscope.Model, image: np.ndarray, tmp_path: Path) -> None:
    written = digits.write_dump(tmp_path / "dump", [image], io="all")
    opened = opscope.open(tmp_path / "dump")
    assert isinstance(opened, opscope.Dump) and opened.complete and not opened.problems
    assert len(opened) == len(written) and opened.engine == "tract"
    assert opened.operators == digits.operators["operator"] and "/conv1/Conv" in opened and "conv" not in opened
    streamed = {(tensor.name, tensor.io, tensor.slot): tensor.tobytes() for tensor in digits.dump([image], io="all")}
    for tensor in opened:
        assert streamed[tensor.name, tensor.io, tensor.slot] == tensor.tobytes()
    convolution = opened["/conv1/Conv"]
    assert convolution.op_type == "Conv" and sorted(convolution.input) == [0, 1, 2]
    array = convolution.output[0].numpy()
    files = sorted((tmp_path / "dump").rglob("*conv1_Conv.output0.npy"))
    np.testing.assert_array_equal(array, np.load(files[0]))
    maps = Path("/proc/self/maps").read_text()
    assert str(files[0]) in maps
    with pytest.raises(KeyError, match="did you mean '/conv1/Conv'"):
        opened["/conv1/Con"]
    with pytest.raises(IndexError):
        opened[len(opened)]
    assert opened.table["value"].count("/conv1/Conv_output_0") >= 1
    assert "tensors" in opened._repr_html_() and "/conv1/Conv" in opened._repr_html_()


def test_nothing_is_overwritten_and_what_is_no_dump_is_refused(digits: opscope.Model, tmp_path: Path) -> None:
    digits.write_dump(tmp_path / "dump")
    with pytest.raises(opscope.FileError, match="dump"):
        digits.write_dump(tmp_path / "dump")
    (tmp_path / "empty").mkdir()
    with pytest.raises(opscope.FileError, match="there is no dump here"):
        opscope.open(tmp_path / "empty")
    with pytest.raises(opscope.FileError):
        opscope.open(tmp_path / "nowhere")


def test_a_dump_of_statistics_has_no_data(digits: opscope.Model, tmp_path: Path) -> None:
    dump = digits.write_dump(tmp_path / "dump", statistics_only=True)
    assert len(dump) == 16 and None not in dump.table["mean"]
    with pytest.raises(opscope.FileError, match="only its statistics"):
        dump[0]


def test_an_incomplete_dump_says_so(digits: opscope.Model, tmp_path: Path) -> None:
    digits.write_dump(tmp_path / "dump")
    index = tmp_path / "dump" / "index.jsonl"
    lines = index.read_text().splitlines()
    index.write_text("\n".join(lines[:-2]) + "\n")
    dump = opscope.open(tmp_path / "dump")
    assert isinstance(dump, opscope.Dump)
    assert not dump.complete and dump.problems and "not complete" in repr(dump)


def test_a_complete_dump_warns_of_nothing(digits: opscope.Model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(digits.dump())) == 16
