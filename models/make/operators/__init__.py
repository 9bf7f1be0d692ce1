"""Operators with the attributes that exporters rarely write, one small model each, as lines of JSON.

What they compute was asked of ONNX Runtime. Whether an engine computes them or refuses them is for its tests to say.
"""

import json

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
