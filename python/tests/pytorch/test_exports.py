"""Programs against models that were exported from them. scripts/prove-torch-exports has many more."""

import json
import os
import subprocess
import sys

import exports
import onnx
import pytest
import torch

import opscope
import opscope.torch as ot

ENGINE = "onnxruntime" if os.environ.get("ORT_DYLIB_PATH") else "tract"
SOME = ["cnn", "layers", "branches", "pooled", "gated"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("exports")
    for name in SOME:
        network, inputs = exports.network(name)
        with torch.no_grad(), ot.dump(place / name, level="op"):
            network(*inputs)
        for exporter in exports.EXPORTERS:
            exports.export(name, exporter, place / f"{name}.{exporter}.onnx")
    return place


@pytest.mark.parametrize("exporter", exports.EXPORTERS)
@pytest.mark.parametrize("name", SOME)
def test_an_export_agrees_in_every_value_and_a_planted_bug_is_named(place, name, exporter):
    path = place / f"{name}.{exporter}.onnx"
    found = exports.compare(place / name, path, ENGINE)
    assert found["verdict"] == "same", exports.told(found)
    assert {row["matched_by"] for row in found["rows"]} == {"export"} and len(found["rows"]) >= 3
    assert found["only_in_tensors"] == found["only_in_reference"] == []
    _, inputs = exports.network(name)
    kinds = set()
    for kind, operators, changed in exports.planted(onnx.load(path), inputs, name):
        if kind in kinds:
            continue
        kinds.add(kind)
        onnx.save(changed, place / "changed.onnx")
        found = exports.compare(place / name, place / "changed.onnx", ENGINE)
        assert found["verdict"] == "different", (kind, operators)
        assert set(operators) & set(exports.named(found)), (kind, operators, exports.told(found))
        assert exports.has_line(place / name, place / "changed.onnx", ENGINE)
    assert kinds, "there is something to change in every network"


def test_what_is_printed_names_the_operator_its_line_and_what_the_program_has_for_it(place):
    model = onnx.load(place / "layers.new.onnx")
    softmax = next(node for node in model.graph.node if node.op_type == "Softmax")
    softmax.attribute[0].i = 0
    onnx.save(model, place / "axis.onnx")
    command = [sys.executable, "-m", "opscope", "compare", "layers", "axis.onnx", "--engine", ENGINE]
    ended = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert ended.returncode == 4, ended.stderr
    assert f"first to diverge: operator '{softmax.name}' (Softmax)" in ended.stdout
    assert "exports.py:" in ended.stdout and "torch.softmax(scores, -1)" in ended.stdout
    assert "in the program it is '0.attention/aten._softmax.default'" in ended.stdout
    assert "its inputs are right: it is this operator" in ended.stdout


def test_python_takes_the_inputs_of_the_dump(place):
    comparison = opscope.compare(opscope.load(place / "cnn.new.onnx"), opscope.open(place / "cnn"))
    assert comparison.verdict == "same"


def test_the_inputs_of_the_first_step_are_kept_and_statistics_have_none(place, tmp_path):
    entries = json.loads((place / "branches/manifest.json").read_text())["inputs"][0]
    kept = [entry for entry in entries if "file" in entry]
    assert [(entry["name"], entry["shape"], entry["file"]) for entry in kept] == [("Branches:input0", [3, 6], "inputs/0.npy")]
    network, inputs = exports.network("branches")
    with torch.no_grad(), ot.dump(tmp_path / "statistics", level="op", statistics=True):
        network(*inputs)
    command = [sys.executable, "-m", "opscope", "compare", tmp_path / "statistics", place / "branches.new.onnx", "--engine", ENGINE]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2 and "has nothing that fits the input 'x'" in ended.stderr, ended.stderr
