"""ONNX Runtime's sessions, with profile, dump and debug."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import opscope
from opscope.onnxruntime import InferenceSession, SessionOptions


@pytest.fixture
def options() -> SessionOptions:
    """One thread."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    return options


def test_a_session_is_onnx_runtimes(models: Path, image: np.ndarray, options: SessionOptions) -> None:
    path = models / "digits_cnn.onnx"
    ours = InferenceSession(path, options, providers=["CPUExecutionProvider"])
    theirs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    assert isinstance(ours, onnxruntime.InferenceSession)
    # A session of which nothing is asked has their `run`, so it costs what theirs does.
    assert InferenceSession.run is onnxruntime.InferenceSession.run and "run" not in vars(ours)
    for one, other in zip(ours.run(None, {"image": image}), theirs.run(None, {"image": image}), strict=True):
        assert one.tobytes() == other.tobytes()
    assert [value.name for value in ours.get_outputs()] == ["probabilities"]


@pytest.mark.onnxruntime(25)
def test_a_session_is_profiled_dumped_and_debugged(models: Path, image: np.ndarray, options: SessionOptions) -> None:
    for source in (models / "digits_cnn.onnx", (models / "digits_cnn.onnx").read_bytes()):
        session = InferenceSession(source, options)
        assert session.profile({"image": image}, runs=20).runs == 20
        value = onnxruntime.OrtValue.ortvalue_from_numpy(image)
        names = [tensor.name for tensor in session.dump({"image": value}, types="Conv")]
        assert names == ["/conv1/Conv", "/conv2/Conv", "/conv3/Conv"]
        with session.debug({"image": image}) as debugger:
            debugger.break_at("/conv2/Conv")
            stop = debugger.run()
            assert stop is not None and stop.operator == "/conv2/Conv"
        assert session.opscope_model.engine.startswith("onnxruntime ") and session.opscope_model.threads == 1


@pytest.mark.onnxruntime(25)
def test_the_environment_asks_for_a_dump_and_a_profile(
    models: Path, image: np.ndarray, options: SessionOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPSCOPE_DUMP", str(tmp_path / "dumps"))
    monkeypatch.setenv("OPSCOPE_PROFILE", str(tmp_path / "profiles"))
    expected = onnxruntime.InferenceSession(models / "digits_cnn.onnx", options).run(None, {"image": image})[0]
    for _ in range(2):
        session = InferenceSession(models / "digits_cnn.onnx", options)
        for _ in range(3):
            assert session.run(["probabilities"], {"image": image})[0].tobytes() == expected.tobytes()
    assert sorted(path.name for path in (tmp_path / "dumps").iterdir()) == ["digits_cnn", "digits_cnn-2"]
    dump, profile = opscope.open(tmp_path / "dumps" / "digits_cnn"), opscope.open(tmp_path / "profiles" / "digits_cnn-2")
    assert isinstance(dump, opscope.Dump) and dump.complete and len(dump) == 16
    assert isinstance(profile, opscope.Profile) and profile.runs == 100


def test_the_environment_asks_for_an_error_where_something_is_not_finite(
    models: Path, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPSCOPE_NONFINITE", "raise")
    session = InferenceSession(models / "fixtures" / "nan.onnx", options)
    assert np.isfinite(session.run(None, {"x": np.array([1, 2, 3], np.float32)})[0]).all()
    with pytest.raises(opscope.EngineError, match=r"an output is NaN or infinite: .*#1 log \(Log\)"):
        session.run(None, {"x": np.array([-1, 2, 3], np.float32)})
    monkeypatch.setenv("OPSCOPE_NONFINITE", "never")
    with pytest.raises(opscope.InputError, match="is raise"):
        InferenceSession(models / "fixtures" / "nan.onnx", options)
