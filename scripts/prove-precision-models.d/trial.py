"""Runs `opscope precision` and AutoCast on a model, and evaluates what both wrote."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import chosen
import evaluation
import judge
import onnx

HERE = pathlib.Path(__file__).resolve().parent
MOST_RUNS = 40


def run(line, log, seconds):
    """Runs a command in the directory of its log; its exit code (None if it took too long), the seconds that it took, and the largest resident size in bytes."""
    started, largest = time.monotonic(), 0
    with open(log, "wb") as said:
        process = subprocess.Popen([str(part) for part in line], stdout=said, stderr=subprocess.STDOUT, cwd=log.parent)
        while process.poll() is None:
            largest = max(largest, resident(process.pid))
            if time.monotonic() - started > seconds:
                process.kill()
                process.wait()
                return None, time.monotonic() - started, largest
            time.sleep(0.02)
    return process.returncode, time.monotonic() - started, largest


def resident(process):
    """The largest resident size so far. What wait4 tells counts this Python, too, which was forked."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def last(log):
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error: ")), (lines or [""])[-1])[:300]


def tried(opscope, autocast, model, to, seconds, keep):
    """What came of a model in fp16 or int8, as a dictionary that the page is made of."""
    result = {"name": model.name, "about": model.about, "source": model.source, "inputs": model.kind, "target": model.target, "faults": []}
    with tempfile.TemporaryDirectory(dir=keep) as place:
        place = pathlib.Path(place)
        if keep:
            place = keep / model.name
            place.mkdir(exist_ok=True)
        proto, sets = model.prepare(place)
        metric, _, bound = model.target.split()
        evaluated = evaluation.Evaluation(proto, sets, judge.Target(metric, float(bound)), chosen.SEARCHED)
        result["bytes"] = (place / f"{model.name}.onnx").stat().st_size
        result["activations"] = evaluated.activations()
        ours(opscope, model, to, place, seconds, evaluated, result)
        if "found" in result and to == "fp16":
            theirs(autocast, model, place, seconds, evaluated, result)
            layers(evaluated, result)
        result.pop("times", None)
    return result


def ours(opscope, model, to, place, seconds, evaluated, result):
    path, out, target = place / f"{model.name}.onnx", place / "out", evaluated.target
    inputs = ",".join(str(file) for file in sorted((place / "inputs").glob("*.npz")))
    line = [opscope, "precision", path, "--to", to, "--input", inputs, "--search", chosen.SEARCHED, "--keep-within", model.target]
    line += ["--budget", f"{seconds}s", "--output", out, "--quiet", *(["--python", sys.executable] if to == "int8" else [])]
    code, took, memory = run(line, place / "log", 2 * seconds)
    result |= {"exit": code, "seconds": took, "memory": memory}
    if model.name in chosen.MEMORY:
        line = [opscope, "compare", path, path, "--input", place / "inputs/00.npz", "--quiet"]
        result["alone"] = run(line, place / "compare.log", seconds)[2]
    result["said"] = last(place / "log")
    report = json.loads((out / "precision.json").read_text()) if (out / "precision.json").exists() else None
    if report and report["written"] and not report["minimal"]:
        result["faults"].append("the search was cut short")
    elif report and report["written"] and code == 3:
        result["faults"].append(f"the written model misses the target on the inputs of the search: {report['value']}")
    elif code != 0:
        result["faults"].append(f"exit code {code}: {result['said']}")
    if report is None:
        return
    if report["written"] is None:
        return
    result["found"] = {key: report[key] for key in ("candidates", "operators", "kept_time", "full_runs", "minimal", "noise", "all_low", "value")}
    result["found"]["kept"] = [{key: each[key] for key in ("node", "op_type", "cause")} for each in report["kept"]]
    result["found"]["held_out"] = report["held_out"] and report["held_out"]["mean"]
    result["found"]["measured_by"] = report["measured_by"]
    names = (out / "keep.txt").read_text().splitlines()
    if names != [each["node"] for each in report["kept"]]:
        result["faults"].append("keep.txt and precision.json differ")
    result["times"] = times(evaluated.model, out / "trials.jsonl")
    share = sum(result["times"].get(name, 0.0) for name in names)
    if abs(share - report["kept_time"]) > 1e-6:
        result["faults"].append(f"the times of the kept operators are {share}, and precision.json says {report['kept_time']}")
    if to == "fp16" and report["full_runs"] > MOST_RUNS:
        result["faults"].append(f"{report['full_runs']:.1f} full runs")
    written = out / f"{model.name}_{to}.onnx"
    faults = list(evaluation.faults_of_file(written, evaluated.model, evaluated.sets[0]))
    result["faults"] += faults
    try:
        values = evaluated.of_file(written) if to == "fp16" else evaluated.of_quantised(written)
    except Exception as error:  # ONNX Runtime has many kinds
        result["faults"].append(f"the written model does not run: {evaluation.first_line(error)}")
        return
    result["found"] |= values
    if to == "int8" and (again := evaluated.quantised_again(path, names)) != values["run"]:
        result["faults"].append(f"the quantizer, given the list, makes a model of {again:.9g}, and the written one has {values['run']:.9g}")
    for how in values:
        value = result["found"][how]
        if not target.met_by(value):
            result["faults"].append(f"the written model misses the target on the held-out inputs ({how}): {value:.6g}")


def times(model, journal):
    """The share of each candidate's time, by the name of its node: the search measured these."""
    order = next(line["order"] for line in map(json.loads, journal.read_text().splitlines()) if "order" in line)
    nodes, inner = [], []

    def visit(graph, into):
        for node in graph.node:
            into.append(node.name)
        for node in graph.node:
            for body in judge.bodies(node):
                visit(body, inner)

    visit(model.graph, nodes)
    nodes += inner
    return {nodes[index]: ticks / max(order["total"], 1) for index, ticks in order["candidates"]}


def theirs(python, model, place, seconds, evaluated, result):
    found = result["autocast"] = {}
    searched = place / "searched"
    searched.mkdir(exist_ok=True)
    for index in range(chosen.SEARCHED):
        (searched / f"{index:02}.npz").unlink(missing_ok=True)
        os.link(place / f"inputs/{index:02}.npz", searched / f"{index:02}.npz")
    written, told = place / "autocast.onnx", place / "autocast.json"
    line = [python, HERE / "autocast.py", place / f"{model.name}.onnx", searched, written, told]
    code, found["seconds"], _ = run(line, place / "autocast.log", seconds)
    if told.exists():
        nodes = json.loads(told.read_text())
        wide = [node for node in nodes if node["kept"]]
        names = set().union(*(evaluation.covered(evaluated.model, node) for node in wide)) if wide else set()
        if written.exists():
            names |= evaluation.wide_in_bodies(onnx.load(written))  # it classifies none of these
        found["kept"] = len(names & result["times"].keys())
        found["nodes"] = len(nodes)
        found["all_kept"] = len(wide)
        found["kept_time"] = sum(result["times"].get(name, 0.0) for name in names)
    if code != 0:
        found["failed"] = f"exit code {code}: {last(place / 'autocast.log')}"
        return
    try:
        found |= evaluated.of_file(written)
    except Exception as error:  # ONNX Runtime has many kinds
        found["failed"] = f"ONNX Runtime: {evaluation.first_line(error)}"


def layers(evaluated, result):
    """How many of the first, or of the last, nodes meet the target by bisection."""
    nodes = [node.name for node in evaluated.model.graph.node if node.name in result["times"]]
    if len(nodes) < len(result["times"]):
        return  # some are in bodies
    result["layers"] = {}
    met = lambda low: evaluated.target.met_by(evaluated.lowered(set(low)))
    for direction, ordered in (("first", nodes), ("last", nodes[::-1])):
        try:
            count = evaluation.fewest(len(nodes), lambda kept: met(ordered[kept:]))
        except Exception as error:
            result["layers"]["failed"] = evaluation.first_line(error)
            return
        share = sum(result["times"][name] for name in ordered[:count])
        result["layers"][direction] = {"kept": count, "kept_time": share}
        if count == 0:
            result["layers"]["last"] = result["layers"]["first"]
            return
