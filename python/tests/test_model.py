"""Loading, describing and running models."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import opscope


def test_a_model_gives_what_onnx_runtime_gives(models: Path, engines: list[str]) -> None:
    for name, value in [
        ("digits_cnn", "probabilities"),
        ("tiny_transformer", "last_hidden_state"),
        ("token_classifier", "logits"),
    ]:
        (source,) = models.glob(f"{name}.input.*.npy")
        given = {source.name.split(".")[2]: np.load(source)}
        expected = np.load(models / f"{name}.output.{value}.npy")
        for engine in engines:
            model = opscope.load(models / f"{name}.onnx", engine=engine)  # type: ignore[arg-type]
            outputs = model.run(given)
            assert list(outputs) == [value] == [output.name for output in model.outputs]
            np.testing.assert_allclose(outputs[value], expected, rtol=1e-4, atol=1e-5)


def test_a_model_comes_from_a_path_from_bytes_and_from_a_proto(models: Path, image: np.ndarray) -> None:
    path = models / "digits_cnn.onnx"
    sources = [path, str(path), path.read_bytes(), bytearray(path.read_bytes()), onnx.load(path)]
    outputs = [opscope.load(source).run([image])["probabilities"].tobytes() for source in sources]
    assert len(set(outputs)) == 1
    assert opscope.load(path.read_bytes()).path == Path("(memory)")


def test_a_model_describes_itself(digits: opscope.Model) -> None:
    assert [(value.name, value.dtype, value.shape) for value in digits.inputs] == [("image", "float32", ["batch", 1, 8, 8])]
    assert digits.operators["op_type"][:3] == ["Conv", "BatchNormalization", "Relu"]
    assert digits.engine.startswith("tract ") and digits.fidelity == "optimised" and digits.threads == 1
    assert "16 operators" in repr(digits)
    assert digits._repr_html_().count("<tr>") > 16


def test_inputs_are_given_by_name_in_order_or_alone(digits: opscope.Model, image: np.ndarray) -> None:
    expected = digits.run({"image": image})["probabilities"].tobytes()
    for given in ([image], (image,), image, memoryview(image), image.tolist()):
        assert digits.run(given)["probabilities"].tobytes() == expected


def test_wrong_inputs_are_refused_with_a_sentence(digits: opscope.Model, image: np.ndarray) -> None:
    for given, text in [
        ({"imagee": image}, "no input 'imagee'; did you mean 'image'?"),
        ({}, "input 'image' is missing; the model takes image float32 [batch, 1, 8, 8]"),
        ([image, image], "2 inputs were given, and the model takes 1"),
        ({"image": image.astype("float64")}, "float64"),
        ({"image": image[:, :, :4]}, "image"),
        ({"image": object()}, "image"),
        ({"image": np.array(["text"])}, "no model takes"),
    ]:
        with pytest.raises(opscope.InputError) as caught:
            digits.run(given)
        assert text in str(caught.value), text
        assert isinstance(caught.value, opscope.Error) and isinstance(caught.value, ValueError)
    # Nothing is lost.
    assert digits.run(image)["probabilities"].shape == (8, 10)


def test_what_is_no_model_is_refused_with_a_sentence(models: Path, tmp_path: Path) -> None:
    with pytest.raises(opscope.ModelError, match="nowhere.onnx"):
        opscope.load(tmp_path / "nowhere.onnx")
    with pytest.raises(opscope.ModelError, match="cycle"):
        opscope.load(models / "fixtures" / "cycle.onnx")
    with pytest.raises(opscope.ModelError, match="memory"):
        opscope.load(b"no model")
    with pytest.raises(opscope.InputError, match="there is no engine 'trakt'"):
        opscope.load(models / "digits_cnn.onnx", engine="trakt")  # type: ignore[arg-type]
    with pytest.raises(opscope.InputError, match="1 to 1024"):
        opscope.load(models / "digits_cnn.onnx", threads=0)
    with pytest.raises(opscope.InputError, match="not a fidelity"):
        opscope.load(models / "digits_cnn.onnx", fidelity="fast")  # type: ignore[arg-type]
    with pytest.raises(opscope.EngineError, match="nowhere.so"):
        opscope.load(models / "digits_cnn.onnx", engine="onnxruntime", library=tmp_path / "nowhere.so")
    with pytest.raises(opscope.InputError, match="not a int"):
        opscope.load(3)  # type: ignore[arg-type]


def test_several_threads_run_a_model_at_once(models: Path, engines: list[str]) -> None:
    values = np.load(models / "tiny_transformer.input.hidden_states.npy")
    for engine in engines:
        model = opscope.load(models / "tiny_transformer.onnx", engine=engine)  # type: ignore[arg-type]
        expected = model.run([values])["last_hidden_state"].tobytes()
        found: list[bytes] = []

        def work(model: opscope.Model = model, found: list[bytes] = found) -> None:
            for _ in range(20):
                found.append(model.run([values])["last_hidden_state"].tobytes())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 80


def test_generated_inputs_are_the_same_for_the_same_seed(digits: opscope.Model) -> None:
    one, same, other = (digits.generate_inputs(seed)["image"] for seed in (1, 1, 2))
    assert one.shape == (1, 1, 8, 8) and one.tobytes() == same.tobytes() != other.tobytes()
    assert not np.asarray(digits.generate_inputs()["image"]).any()


def test_a_benchmark_is_the_commands(digits: opscope.Model, image: np.ndarray) -> None:
    import json

    benchmark = digits.benchmark([image], runs=200)
    document = json.loads(benchmark.json())
    assert document["schema"] == "opscope.summary/1"
    assert benchmark.runs == 200 == len(benchmark.times) == document["NPU_compute_time"]["count"]
    assert benchmark.min <= benchmark.median <= benchmark.max
    assert benchmark.median == pytest.approx(document["NPU_compute_time"]["median"] / 1e3)
    assert benchmark.interval is not None and benchmark.interval[0] <= benchmark.median <= benchmark.interval[1]
    assert document["inputs"] == [{"name": "image", "dtype": "float32", "shape": [8, 1, 8, 8]}]
    assert {"Conv", "Gemm"} <= set(benchmark.op_types["op_type"])
    assert len(benchmark.operators) == len(benchmark.operators["median_ns"]) > 0
    assert "median" in benchmark._repr_html_() and "200 runs" in repr(benchmark)
    with pytest.raises(ValueError, match="seconds"):
        digits.benchmark(duration=-1)


def test_a_profile_is_saved_and_opened_and_shown(digits: opscope.Model, tmp_path: Path) -> None:
    profile = digits.profile(runs=50)
    assert profile.runs == 50 and profile.complete and not profile.problems
    saved = profile.save(tmp_path / "recording")
    assert {"records.bin", "timeline.pftrace", "op_summary.csv"} <= {path.name for path in saved.iterdir()}
    opened = opscope.open(saved)
    assert isinstance(opened, opscope.Profile)
    assert opened.operators.rows() == profile.operators.rows()
    page = profile.report(tmp_path / "page.html")
    assert page.read_text().startswith("<!")
    for again in (lambda: profile.save(saved), lambda: profile.report(page)):
        with pytest.raises(opscope.FileError, match="exists"):
            again()
    temporary = profile.path
    assert temporary.is_dir()
    del profile
    assert not temporary.exists()


def test_the_copy_of_an_input_becomes_the_output_where_an_operator_can_compute_in_place(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1 << 24]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"], "negative")], "negative", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    (tmp_path / "negative.onnx").write_bytes(model.SerializeToString())
    # In a process of its own, whose peak it is.
    code = """
import sys, numpy, opscope

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM:"))

model = opscope.load(sys.argv[1])
given = numpy.ones(1 << 24, numpy.float32)
model.run(given)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
y = numpy.asarray(model.run(given)["y"])
above = peak() - before - y.nbytes
assert y[0] == y[-1] == -1 and given[0] == given[-1] == 1
print(above)
"""
    ended = subprocess.run([sys.executable, "-c", code, tmp_path / "negative.onnx"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 16 << 20
