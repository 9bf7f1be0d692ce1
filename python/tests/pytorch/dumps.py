"""Reads dumps without opscope: the index and numpy's files."""

import json

import numpy as np


class Line:
    """A tensor of a dump."""

    def __init__(self, root, facts):
        self.root, self.facts = root, facts

    def __getattr__(self, name):
        return self.facts.get(name)

    def array(self):
        """Its elements. Types that numpy lacks are its bytes, two at a time."""
        path = self.root / self.facts["file"]
        if path.suffix == ".npy":
            return np.load(path)
        width = self.facts["bytes"] // max(1, int(np.prod(self.facts["shape"])))
        return np.fromfile(path, {1: np.int8, 2: np.int16}[width]).reshape(self.facts["shape"])


def lines(root):
    """The tensors of a dump, in the order in which they were written."""
    return [Line(root, json.loads(line)) for line in (root / "index.jsonl").read_text().splitlines()]


def manifest(root):
    return json.loads((root / "manifest.json").read_text())


def executions(root):
    """The executions of operators, each with its lines."""
    found = []
    for line in lines(root):
        if found and (found[-1][0].run, found[-1][0].operator) == (line.run, line.operator):
            found[-1].append(line)
        else:
            found.append([line])
    return found
