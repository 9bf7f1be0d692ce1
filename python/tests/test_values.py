"""What models give through Python: what ONNX Runtime gave when the files beside them were made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import opscope

MODELS = Path(__file__).resolve().parents[2] / "models"
# Of a reference's element, and of its largest element.
RELATIVE, OF_LARGEST = 1e-3, 5e-5
HALF = {np.dtype("float16"): 40.0}


def check(found: Any, expected: np.ndarray) -> None:
    """Checks type, shape and elements. NaN and infinity have to be where they were."""
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    wider = HALF.get(expected.dtype, 1.0)
    finite = np.abs(expected[np.isfinite(expected)].astype("float64"))
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(
        found.astype("float64"), expected.astype("float64"), rtol=RELATIVE * wider, atol=OF_LARGEST * wider * largest
    )


def beside(path: Path, kind: str) -> dict[str, np.ndarray]:
    """The arrays that lie beside a model, by the names of its inputs or outputs: in files of these names, cut where they are long, or of
    their slots."""
    graph = onnx.load(path, load_external_data=False).graph
    start = f"{path.stem}.{kind}."
    files = {file.stem.removeprefix(start): file for file in path.parent.iterdir() if file.name.startswith(start)}
    found = {}
    for slot, value in enumerate(graph.input if kind == "input" else graph.output):
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in value.name)
        for name, file in files.items():
            if name == plain or (len(name) > 60 and plain.startswith(name)) or name == str(slot):
                found[value.name] = np.load(file)
    return found


def with_outputs(directory: Path) -> list[Path]:
    """The models of a directory beside which outputs lie, but for those that give texts, which are no tensors."""
    paths = sorted(directory.rglob("*.onnx"))
    return [path for path in paths if list(path.parent.glob(f"{path.stem}.output.*.npy")) and path.stem not in ("strings", "text")]


# What the engine that is built in does not have.
REFUSED = {("bf16_initializer", "tract"), ("local_function", "tract")}


@pytest.mark.parametrize("engine", ["tract", "onnxruntime"])
@pytest.mark.parametrize("path", with_outputs(MODELS), ids=lambda path: path.stem)
def test_a_model_gives_the_outputs_that_are_stored_beside_it(path: Path, engine: Any) -> None:
    expected = beside(path, "output")
    assert expected
    for fidelity in ("optimised", "exact"):
        if (path.stem, engine) in REFUSED:
            with pytest.raises(opscope.ModelError, match="the engine has no (bfloat16|operator local)"):
                opscope.load(path, engine=engine, fidelity=fidelity)  # type: ignore[arg-type]
            continue
        outputs = opscope.load(path, engine=engine, fidelity=fidelity).run(beside(path, "input"))  # type: ignore[arg-type]
        for name, array in expected.items():
            check(outputs[name], array)


def light() -> list[Path]:
    """The light_*.onnx of the package onnx, where `scripts/light-models` has written them."""
    directory = os.environ.get("OPSCOPE_LIGHT_MODELS")
    return with_outputs(Path(directory)) if directory else []


@pytest.mark.skipif(not light(), reason="OPSCOPE_LIGHT_MODELS names no directory of scripts/light-models")
@pytest.mark.parametrize("path", light(), ids=lambda path: path.stem)
def test_a_published_model_gives_its_outputs_and_dumps_them(path: Path) -> None:
    given = beside(path, "input")
    for engine in ("tract", "onnxruntime"):
        model = opscope.load(path, engine=engine)  # type: ignore[arg-type]
        outputs = model.run(given)
        for name, array in beside(path, "output").items():
            check(outputs[name], array)
    last = model.operators["operator"][-1]
    (dumped,) = [tensor for tensor in model.dump(given, select=last) if tensor.slot == 0]
    assert dumped.value is not None
    check(dumped, beside(path, "output")[dumped.value])


def array_of(written: dict[str, Any]) -> np.ndarray:
    values = [float(value) if isinstance(value, str) else value for value in written["values"]]
    return np.array(values).astype(written["dtype"]).reshape(written["shape"])


def node_of(written: dict[str, Any]) -> onnx.NodeProto:
    attributes = {}
    for name, value in written["attributes"].items():
        attributes[name] = graph_of(value) if isinstance(value, dict) else value
    made = helper.make_node(
        written["op_type"], written["inputs"], written["outputs"], name=written["name"], domain=written["domain"], **{
            name: value for name, value in attributes.items() if value != []
        }
    )  # fmt: skip
    # Of an empty list, onnx cannot tell the type.
    made.attribute.extend(helper.make_attribute(name, [], attr_type=onnx.AttributeProto.INTS) for name, value in attributes.items() if value == [])
    return made


def graph_of(written: dict[str, Any]) -> onnx.GraphProto:
    def infos(key: str) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.DataType.Value(kind), shape) for name, kind, shape in written[key]]

    weights = [numpy_helper.from_array(array_of(value), name) for name, value in written.get("initializers", {}).items()]
    return helper.make_graph(list(map(node_of, written["nodes"])), "body", infos("inputs"), infos("outputs"), weights)


def model_of(case: dict[str, Any]) -> bytes:
    def infos(key: str) -> Iterator[onnx.ValueInfoProto]:
        for name, written in case[key].items():
            shape = written["shape"] if key == "inputs" else None
            yield helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(written["dtype"])), shape)

    weights = [numpy_helper.from_array(array_of(value), name) for name, value in case["initializers"].items()]
    graph = helper.make_graph(list(map(node_of, case["nodes"])), "case", list(infos("inputs")), list(infos("outputs")), weights)
    opsets = [helper.make_opsetid("", case["opset"]), helper.make_opsetid("com.microsoft", 1)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data


# The values are those of ONNX Runtime 1.31.
@pytest.mark.parametrize(("engine", "least"), [("tract", 955), pytest.param("onnxruntime", 999, marks=pytest.mark.onnxruntime(31))])
def test_every_operator_gives_what_onnx_runtime_gave(engine: Any, least: int) -> None:
    ran, faults = 0, []
    for line in (MODELS / "operators.jsonl").read_text().splitlines():
        case = json.loads(line)
        given = {name: array_of(written) for name, written in case["inputs"].items()}
        try:
            outputs = opscope.load(model_of(case), engine=engine).run(given)
        except opscope.Error as error:
            # tract names the operator that it cannot do; ONNX Runtime has no recurrent operators with the batch first.
            if ("'node'" if engine == "tract" else "layout == 1) are not supported") not in str(error):
                faults.append(f"{case['name']}: {error}")
            continue
        ran += 1
        for name, written in case["outputs"].items():
            try:
                check(outputs[name], array_of(written))
            except AssertionError as error:
                faults.append(f"{case['name']}, {name}: {error}")
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)
    assert ran >= least
