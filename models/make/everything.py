"""Writes all of models/, and compares two such directories."""

import hashlib
import json
import shutil

import numpy as np
import onnx
from onnx import numpy_helper

import digits_cnn
import expected
import fixtures
import inner_graphs
import operators
import precision
import tiny_transformer
import token_classifier
from graph import save

MADE = ["*.onnx", "*.npy", "*.jsonl"]
MADE_DIRECTORIES = ["expected", "fixtures", "inner_graphs", "precision"]


def write(root):
    """Makes everything in the empty directory `root`."""
    model, images, labels = digits_cnn.build()
    _write_model(root, digits_cnn.NAME, model, "image", images[:8])
    _write_test(root, digits_cnn.NAME, model, "image", images, labels)

    model, sentences, labels = token_classifier.build()
    _write_model(root, token_classifier.NAME, model, "input_ids", sentences[:4])
    _write_test(root, token_classifier.NAME, model, "input_ids", sentences, labels)

    _write_model(root, tiny_transformer.NAME, tiny_transformer.build(), "hidden_states", tiny_transformer.sample(2, 16))
    fixtures.write(root / "fixtures")
    inner_graphs.write(root / "inner_graphs")
    operators.write(root / "operators.jsonl")
    precision.write(root / "precision", root / f"{digits_cnn.NAME}.onnx", np.load(root / f"{digits_cnn.NAME}.test.image.npy"))


def replace(made, there):
    """Puts what was made in place of what an earlier run made, once all of it is whole."""
    for path in _made_files(there) - _made_files(made):
        (there / path).unlink()
    for path in sorted(_made_files(made)):
        (there / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made / path, there / path)


def compare(made, there):
    """The names of the files that differ: floats by more than the evaluators may, anything else at all."""
    files = {directory: _made_files(directory) for directory in (made, there)}
    differing = [f"{path}: only in one of them" for path in sorted(files[made] ^ files[there])]
    for path in sorted(files[made] & files[there]):
        if (made / path).read_bytes() != (there / path).read_bytes() and not _close(made / path, there / path):
            differing.append(f"{path}: differs")
    return differing


def _write_model(root, name, model, input_name, sample):
    path = root / f"{name}.onnx"
    save(model, path)
    assert path.stat().st_size < 400_000, path
    input_file = f"{name}.input.{input_name}.npy"
    np.save(root / input_file, sample)
    feeds = {input_name: sample}
    for output, array in expected.outputs(model, feeds).items():
        np.save(root / f"{name}.output.{output}.npy", array)
    expected.write_values(model, path, feeds, {input_name: input_file}, root / "expected" / name)
    print(f"{path.name}: {path.stat().st_size} bytes, {len(model.graph.node)} nodes")


def _write_test(root, name, model, input_name, inputs, labels):
    np.save(root / f"{name}.test.{input_name}.npy", inputs)
    np.save(root / f"{name}.test.labels.npy", labels)
    (scores,) = expected.outputs(model, {input_name: inputs}).values()
    right = int((scores.argmax(axis=1) == labels).sum())
    print(f"{name}.onnx: {right} of {len(labels)} test digits right, {right / len(labels):.1%}")


def _made_files(root):
    paths = [path for pattern in MADE for path in root.glob(pattern)]
    paths += [path for name in MADE_DIRECTORIES for path in (root / name).rglob("*") if path.is_file()]
    return {path.relative_to(root) for path in paths}


def _close(one, other):
    """Whether two files that are not the same bytes hold the same, within what processors may do differently."""
    try:
        if one.suffix == ".npy":
            expected.agree(one.name, np.load(one), np.load(other))
        elif one.suffix == ".onnx":
            return _model(one) == _model(other)
        elif one.name == "index.json":
            return _index(one) == _index(other)
        else:
            operators.agree(one, other)
    except AssertionError:
        return False
    return True


def _model(path):
    """The bytes of a model in which no zero is negative: where a sum of training ends, its rounded zero has either sign."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f":
            tensor.CopyFrom(numpy_helper.from_array(array + array.dtype.type(0), tensor.name))
    return model.SerializeToString(deterministic=True)


def _index(path):
    """What an index says, except for the hash of its model, which has to be that of the model beside it."""
    index = json.loads(path.read_text())
    model = path.parent.parent.parent / index["model"]
    assert index.pop("sha256") == hashlib.sha256(model.read_bytes()).hexdigest(), path
    return index
