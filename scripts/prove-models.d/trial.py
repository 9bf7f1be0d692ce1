"""Benchmarks, profiles and dumps a model, and compares what comes out with ONNX Runtime."""

import collections
import csv
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx

import catalogue
import judge
import reference

SECONDS = 300
"""How long a run of the command may take."""
ROUNDING = 1e-4
"""A difference below this share of an output's scale, or of its largest element, is rounding alone."""
ENOUGH_MS = 5000
"""About how long the loops of a benchmark may take, by the time that the dump's run took."""


class Refused(Exception):
    """opscope did not run the model, and said why."""


class Failed(Exception):
    """opscope crashed, was killed, or broke off while it ran."""


class Run:
    """One run of the command."""

    def __init__(self, opscope, path, files, place, name, *options):
        where = ["--output", place, "--output-dirname", name]
        given = ["--input", ",".join(map(str, files))] if files else []
        self.command = [str(part) for part in [opscope, "benchmark", path, *given, *where, *options]]
        try:
            ended = subprocess.run(self.command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {SECONDS} s") from None
        self.said = [line for line in ended.stderr.strip().splitlines() if line]
        error = next((line[7:] for line in self.said if line.startswith("error: ")), None)
        if ended.returncode in (1, 2) and error:
            kind = Failed if "while it ran" in error or " failed at " in error else Refused
            raise kind(error)
        if ended.returncode:
            raise Failed(f"exit code {ended.returncode}: {' '.join(self.said)[:300]}")
        self.summary = json.loads((pathlib.Path(place) / f"{name}_summary.json").read_text())


def tried(opscope, model):
    """What came of a model, as a dictionary that the page is made of."""
    result = {"name": model.name, "about": model.about, "source": model.source, "licence": model.licence, "notes": [], "faults": []}
    try:
        path, files = model.made()
    except catalogue.Missing as missing:
        return result | {"outcome": "not made", "notes": [str(missing)]}
    result |= described(path)
    proto = onnx.load(path)
    feeds = {name: np.load(file) for name, file in files.items()}
    files = list(files.values())
    try:
        expected = reference.every_value(proto, feeds)
        before = reference.median_ms(path, feeds)
    except Exception as error:  # ONNX Runtime has many kinds
        return result | {"outcome": "not compared", "notes": [f"ONNX Runtime: {str(error).splitlines()[0]}"]}
    with tempfile.TemporaryDirectory(dir=catalogue.CACHE) as place:
        place = pathlib.Path(place)
        step(result, "dump", lambda: dump(opscope, path, proto, feeds, files, place, expected, result))
        loops = max(1, min(50, int(ENOUGH_MS / result.get("dump_ms", 250))))
        step(result, "benchmark", lambda: benchmark(opscope, path, proto, files, place, loops, expected, result))
        # Once before and once after ours, so that what else the machine does counts for both.
        result["theirs_ms"] = min(before, reference.median_ms(path, feeds))
        step(result, "profile", lambda: profile(opscope, path, files, place, min(loops, 3)))
    said = [result[each] for each in ("benchmark", "profile", "dump")]
    result["outcome"] = next((kind for kind in ("failed", "wrong", "refused") if any(each.startswith(kind) for each in said)), "right")
    return result


def step(result, name, work):
    """Does one of the three and writes down what came of it."""
    before = len(result["faults"])
    try:
        work()
        result[name] = "wrong" if len(result["faults"]) > before else "right"
    except Refused as error:
        result[name] = f"refused: {error}"
    except Failed as error:
        result[name] = f"failed: {error}"


def described(path):
    """The operators and the precision of a model."""
    model = onnx.load(path, load_external_data=False)
    kinds = collections.Counter(node.op_type for graph in judge.graphs(model.graph) for node in graph.node)
    return {"operators": sum(kinds.values()), "kinds": [kind for kind, _ in kinds.most_common()], "precision": judge.precision(model)}


def benchmark(opscope, path, proto, files, place, loops, expected, result):
    run = Run(opscope, path, files, place, "r", "--outfmt", "NPY", "--loop", loops, "--verify", "on")
    result["faults"] += weakened(run, "its input")
    try:
        random = Run(opscope, path, [], place, "n", "--pure-data-type", "random", "--seed", 1, "--verify", "on")
        result["faults"] += weakened(random, "random input")
    except Refused:
        pass  # the smallest shapes, or such numbers, are no input of this model
    result["ours_ms"] = run.summary["NPU_compute_time"]["median"]
    result["notes"] += [line for line in run.said if line.startswith(("note:", "warning:"))]
    outputs = [file for each in run.summary["filesinfo"].values() for file in each["outfiles"]]
    makers = {name: node.op_type for node in proto.graph.node for name in node.output}
    for output, file in zip(proto.graph.output, outputs, strict=True):
        found = np.load(place / "r" / pathlib.Path(file).name, allow_pickle=False)
        problem, difference = judge.carried(found, expected[output.name], result["precision"], makers.get(output.name))
        if problem:
            result["faults"].append(f"optimised, output {output.name}: {problem}")
        if difference is not None:
            result["optimised_worst"] = max(result.get("optimised_worst", 0.0), difference)


def weakened(run, given):
    """A line for each output because of which a less optimised plan runs, although it differs only by rounding."""
    wrong = run.summary.get("verification", {}).get("wrong", [])
    outputs = [output for form in wrong for output in form["outputs"] if "because" not in output]
    share = lambda output: output["largest"] / output["scale"] if "scale" in output else output["of_largest"]
    rounded = [output for output in outputs if share(output) < ROUNDING]
    return [f"with {given}, a weaker plan runs because output {output['output']} differs by {output['largest']:.2g}" for output in rounded]


def profile(opscope, path, files, place, loops):
    Run(opscope, path, files, place, "p", "--profiler", "--loop", loops)
    with open(place / "profiler/p/op_summary.csv", newline="") as table:
        if not next(iter(csv.DictReader(table)), None):
            raise Failed("the profile has no operator")


def dump(opscope, path, proto, feeds, files, place, expected, result):
    """Compares every tensor of a dump, and what is missing there."""
    run = Run(opscope, path, files, place, "d", "--dump", "--warmup-count", 0)
    result["dump_ms"] = run.summary["NPU_compute_time"]["median"]
    result["notes"] += [line for line in run.said if line.startswith(("note:", "warning:")) and line not in result["notes"]]
    place = place / "dump/d"
    lines = {line["value"]: line for line in map(json.loads, (place / "index.jsonl").read_text().splitlines())}
    missing = {line["value"] for line in json.loads((place / "manifest.json").read_text())["missing"]}
    arrays = Arrays(place, lines, reference.constants(proto) | feeds)
    result |= {"tensors": 0, "not_theirs": 0, "carried": 0, "missing": len(missing), "worst": 0.0}
    for node in proto.graph.node:
        for name in (name for name in node.output if name):
            if name not in lines:
                if name not in missing and node.op_type != "Constant":
                    result["faults"].append(f"{name} ({node.op_type}): it is neither in the dump nor listed as missing")
                continue
            if expected.get(name) is None:
                result["not_theirs"] += 1
                continue
            result["tensors"] += 1
            problem, difference = judge.compared(arrays.get(name), expected[name], result["precision"], node.op_type)
            if problem and agrees_alone(proto, node, name, arrays, result["precision"]):
                result["carried"] += 1
            elif problem:
                result["faults"].append(f"exact, {name} ({node.op_type} {node.name}): {problem}")
            result["worst"] = max(result["worst"], difference or 0.0)


class Arrays:
    """The values of a dump, and those that are in the file or were fed."""

    def __init__(self, place, lines, given):
        self.place, self.lines, self.given = place, lines, given

    def get(self, name):
        line = self.lines.get(name)
        if line is None:
            return self.given.get(name)
        return np.load(self.place / line["file"], allow_pickle=False) if line["state"] == "complete" else None


def agrees_alone(proto, node, name, arrays, precision):
    """Whether ONNX Runtime makes the same of the node's inputs as the dump has them."""
    values = {each: arrays.get(each) for each in reference.read_by(node)}
    if any(value is None for value in values.values()):
        return False
    try:
        alone = reference.outputs_of_node(proto, node, values)
    except Exception:  # an input of a type that it does not take, for one
        return False
    return judge.compared(arrays.get(name), alone[name], precision, node.op_type)[0] is None
