"""Writes models in half precision beside the given ones, as NAME-fp16.onnx.

    python scripts/prove-models.d/halves.py MODEL.onnx ...

As a user would make them: with convert_float_to_float16 of the Python package onnxconverter-common.
"""

import pathlib
import sys
import warnings

import onnx


def halved(model):
    """The model in half precision."""
    from onnxconverter_common import float16

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which weights are too small
        made = float16.convert_float_to_float16(model)
    for node in made.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = onnx.TensorProto.FLOAT16  # the converter forgets these
    return made


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for path in map(pathlib.Path, sys.argv[1:]):
        onnx.save(halved(onnx.load(path)), path.with_name(f"{path.stem}-fp16.onnx"))
