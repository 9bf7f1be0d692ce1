"""Operators with the attributes that exporters rarely write, one small model each, as lines of JSON.

What they compute was asked of ONNX Runtime. Whether an engine computes them or refuses them is for its tests to say.
"""

import json
import pathlib
import re

import expected

from . import attributes, bodies, case, contributed, recurrent

PARTS = [attributes, recurrent, bodies, contributed]


def write(path):
    """Writes all cases, a line each."""
    lines = []
    names = set()
    for each in (each for part in PARTS for each in part.cases()):
        assert each.name not in names, each.name
        names.add(each.name)
        try:
            lines.append(json.dumps(case.written(each), separators=(",", ":")))
        except Exception as error:
            raise RuntimeError(f"{each.name}: {error}") from error
    path.write_text("".join(f"{line}\n" for line in lines))


PRODUCTS = {
    "QLinearConv",
    "QLinearMatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "DynamicQuantizeMatMul",
    "DynamicQuantizeLSTM",
    "QAttention",
}
"""Operators that multiply 8-bit integers. Without VNNI, ONNX Runtime adds pairs of such products in 16 bits, and saturates."""


def agree(one, other):
    """Refuses two files of cases that are not the same, or whose outputs differ by more than the evaluators may."""
    saturates = not re.search(r"\bavx(512)?_vnni\b", pathlib.Path("/proc/cpuinfo").read_text())
    lines = [path.read_text().splitlines() for path in (one, other)]
    assert len(lines[0]) == len(lines[1]), "not as many cases"
    left_out = 0
    for pair in zip(*lines):
        a, b = map(json.loads, pair)
        outputs = a.pop("outputs"), b.pop("outputs")
        assert a == b, f"{a['name']} is another case"
        assert outputs[0].keys() == outputs[1].keys(), a["name"]
        if saturates and any(node["op_type"] in PRODUCTS for node in a["nodes"]):
            left_out += 1
            continue
        for name in outputs[0]:
            expected.agree(f"{a['name']}: {name}", *(case.array(each[name]) for each in outputs))
    if left_out:
        print(f"{left_out} cases of 8-bit products are not compared: this processor has no VNNI")
