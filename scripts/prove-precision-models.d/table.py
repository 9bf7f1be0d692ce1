"""The results as text and as a page."""

import datetime
import math
import pathlib
import re

INTRO = """# Half precision and int8 on third-party models

This page shows what `opscope precision` finds for models that others made: for fp16 beside two other tools, and for
[int8](#int8). `scripts/prove-precision-models --write` generates it. The models are those of [models.md](models.md), and some of the
package onnx with random weights. Each has 16 sets of inputs: the search sees 8 of them, and the values below are those of the other 8.
The last model was tried on {date}, on {processor}.

## fp16

"""

READING = """
- *target*: what the model's outputs must keep of the original's: cosine of at least 0.999, or for classifiers the same largest class in at
  least 99 of 100 places.
- *kept*: operators that stay in float32, of those that can be lowered; *time*: their share of the time that the search measured.
- *runs*: the whole runs for each set of inputs that the search took.
- *held out*: the value on the inputs that the search did not see. ONNX Runtime runs the written file, without optimisations. The second
  number is that of the same file with each value that is float16 in it rounded: ONNX Runtime's CPU provider has no kernels of half
  precision for many operators, and does not round between them. The target counts as met if both meet it.
- *AutoCast*: `modelopt.onnx.autocast.convert_to_mixed_precision` of {modelopt}, with its defaults, the inputs of the search as
  calibration data, and `keep_io_types`. It has no target; it keeps operators whose values are beyond 512, or whose weights half precision
  does not hold. *kept* counts only operators that opscope could lower, and *time* is by the same times as ours.
- *first*, *last*: how many of the first or the last operators stay in float32 when a bisection looks for the fewest that meet the target
  on the inputs of the search, and their share of the time. This is the method of polygraphy's `debug precision`, which itself needs
  TensorRT; the trials are runs of ONNX Runtime in which values are rounded.
- *result*: whether ours keeps less time wide than AutoCast, the same, or more; or what AutoCast's model does instead of meeting the target.
  *missed*: ours does not meet it on the held-out inputs. *refused*: ONNX Runtime does not load our file. *failed*: the command found nothing.
  Operators in bodies of `If` and `Loop` have no times; there the number of operators decides.

AutoCast is run without the packages that it asks for and does not use: PyTorch, an empty module in its place while it is imported, and
CUDA's. Its reference values are computed by ONNX Runtime on the CPU, as they are by default. Inputs are real where it says so; the others
are random numbers of the range that the model takes, drawings of lines of text, or noise.
"""

QUANTISED = """
## int8

`--to int8` with ONNX Runtime's quantizer and its defaults: static, in the format QDQ, one scale for each tensor, calibrated by the least and
the largest values on the inputs of the search. No other tool is beside it: none looks for such a set by measuring.
Classifiers whose largest classes on 8 sets of inputs said too little about the other 8 were tried again by their cosine.

{counts}

- *all int8*: the value, on the inputs of the search, with every operator in int8 that the quantizer takes.
- *kept*, *time*, *runs*: as above. Each set is tried by running what the quantizer writes.
- *held out*: the value of the written file on the inputs that the search did not see, as ONNX Runtime runs it without optimisations. The
  quantizer, given the list in a Python of its own, makes a model of exactly this value.

"""

MEMORY = """
## Memory

The largest resident size of the search, in MiB, beside that of `opscope compare` of the model with itself, which runs it exactly.
*values* is the size of all values of a run together. The goal is at most 480 MiB more: 224 of the [dump's queue](dump.md#how-tensors-are-delivered),
and 256.

"""

SAID = {"less": "less", "same": "same", "more": "MORE", "missed": "MISSED", "failed": "FAILED", "refused": "REFUSED", "theirs misses": "AutoCast misses", "theirs fails": "AutoCast fails"}


def met(result, of):
    """Whether a tool's model meets the target on the held-out inputs, run and rounded."""
    found = result.get(of, {})
    values = [found.get("run"), found.get("rounded")]
    if None in values:
        return False
    bound = float(result["target"].split()[2])
    return all(value >= bound for value in values)


def verdict(result):
    """Ours beside AutoCast's; see SAID."""
    if "found" not in result:
        return "failed"
    if "run" not in result["found"]:
        return "refused"
    if not met(result, "found"):
        return "missed"
    if "failed" in result["autocast"]:
        return "theirs fails"
    if not met(result, "autocast"):
        return "theirs misses"
    # Operators in bodies have no times; then their number counts.
    ours = (result["found"]["kept_time"], len(result["found"]["kept"]))
    theirs = (result["autocast"]["kept_time"], result["autocast"]["kept"])
    return "same" if ours == theirs else "less" if ours < theirs else "more"


def line(result):
    """One result for the terminal."""
    found = result.get("found")
    told = f"{result['name']}: {result['seconds']:.0f} s, {result['memory'] / 2**20:.0f} MiB"
    if found:
        told += f"; {len(found['kept'])} of {found['candidates']} kept, {100 * found['kept_time']:.2f} %, {found['full_runs']:.1f} runs"
        told += f", {found.get('run')} run, {found.get('rounded')} rounded, {found['held_out']} said; AutoCast {result.get('autocast')}"
        told += f"; layers {result.get('layers')}; {verdict(result) if 'autocast' in result else verdict_quantised(result)}"
    return "\n    FAULT: ".join([told, *result["faults"]])


def counts(results):
    verdicts = [verdict(each) for each in results]
    at_most = sum(kind in ("less", "same") for kind in verdicts)
    fair = at_most + verdicts.count("more")
    return (
        f"{len(results)} models. Both meet the target in {fair}: ours keeps at most AutoCast's time wide in {at_most} of them, "
        f"less in {verdicts.count('less')}. AutoCast's model misses the target that ours meets in {verdicts.count('theirs misses')}, and "
        f"cannot be made or run in {verdicts.count('theirs fails')}. Ours misses it on the held-out inputs in {verdicts.count('missed')}; ONNX Runtime refuses our "
        f"file in {verdicts.count('refused')}; the command fails, or finds nothing in time, in {verdicts.count('failed')}."
    )


def holds(results):
    good = [verdict(each) in ("less", "same", "theirs misses", "theirs fails") for each in results]
    return 5 * sum(good) >= 4 * len(good) and not any("refused" in fault for each in results for fault in each["faults"])


def verdict_quantised(result):
    if "found" not in result:
        return "FAILED"
    if "run" not in result["found"]:
        return "REFUSED"
    met = result["found"]["run"] >= float(result["target"].split()[2])
    return "MISSED" if not met else "met" if result["found"]["minimal"] else "met, cut short"


def counts_quantised(results):
    verdicts = [verdict_quantised(each) for each in results]
    return (
        f"{len(results)} models. The written model meets the target on the held-out inputs in {sum('met' in each for each in verdicts)}: in "
        f"{verdicts.count('met')} of them with a set that is shown to be minimal, and in {verdicts.count('met, cut short')} with the best one that was "
        f"found in time. It misses it in {verdicts.count('MISSED')}; the command fails, or finds nothing in time, in {verdicts.count('FAILED')}."
    )


def holds_quantised(results):
    return sum("met" in verdict_quantised(each) for each in results) >= 25


# The page.


def page(results, quantised, modelopt):
    results = sorted(results, key=lambda each: each["bytes"])
    runs = [each["found"]["full_runs"] for each in results if "found" in each]
    text = INTRO.format(date=datetime.date.today().isoformat(), processor=processor()) + counts(results) + f" A search took {sum(runs) / len(runs):.1f} runs in the mean, {max(runs):.1f} at most.\n"
    text += READING.format(modelopt=modelopt.replace("==", " ")) + "\n"
    text += table(
        ["model", "MB", "target", "kept", "time", "runs", "held out", "AutoCast kept", "time", "held out", "first", "last", "result"],
        [row(each) for each in results],
        "llrrrrrrrrrl",
    )
    kept = [each for each in results if each.get("found", {}).get("kept")]
    text += "\n### What is kept in fp16\n\n" + table(["model", "operators", "why"], [why(each) for each in kept], "ll")
    if quantised:
        quantised = sorted(quantised, key=lambda each: each["bytes"])
        text += QUANTISED.format(counts=counts_quantised(quantised))
        text += table(["model", "MB", "target", "all int8", "kept", "time", "runs", "held out", "result"], [row_quantised(each) for each in quantised], "llrrrrrl")
        kept = [each for each in quantised if each.get("found", {}).get("kept")]
        text += "\n### What is kept in int8\n\n" + table(["model", "operators", "why"], [why(each) for each in kept], "ll")
    text += "\n## The models\n\n" + table(["model", "what it is", "from", "inputs"], [[each["name"], each["about"], each["source"], each["inputs"]] for each in results], "lll")
    missed = [f"- {each['name']}: {each['autocast']['failed']}" for each in results if "failed" in each.get("autocast", {})]
    if missed:
        text += "\n## Where AutoCast fails\n\n" + "\n".join(missed).replace("|", "\\|") + "\n"
    every = [(each, "") for each in results] + [(each, " in int8") for each in quantised]
    faulty = [f"- {each['name']}{which}: {without_places(fault)}" for each, which in every for fault in each["faults"]]
    if faulty:
        text += "\n## What is wrong with ours\n\n" + "\n".join(faulty).replace("|", "\\|") + "\n"
    return text + memory(results)


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of an {names[0]}" if names else "an unknown processor"


def memory(results):
    rows = [
        [each["name"], mib(each["activations"]), mib(each["alone"]), mib(each["memory"]), mib(each["memory"] - each["alone"])]
        for each in results
        if "alone" in each
    ]
    return MEMORY + table(["model", "values", "compare", "search", "more"], rows, "rrrr") if rows else ""


def table(titles, rows, sides):
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "".join("---:|" if side == "r" else "---|" for side in sides)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def row(result):
    cells = [result["name"], f"{result['bytes'] / 1e6:.3g}", result["target"].replace(">=", "≥")]
    found, theirs, layers = result.get("found"), result.get("autocast", {}), result.get("layers") or {}
    if not found:
        return [*cells, *["-"] * 9, SAID["failed"]]
    cut = "" if found["minimal"] else ", cut short"
    cells += [f"{len(found['kept'])} of {found['candidates']}{cut}", percent(found["kept_time"], len(found["kept"])), f"{found['full_runs']:.1f}", both(found)]
    cells += [theirs.get("kept", "-"), percent(theirs.get("kept_time"), theirs.get("kept")), both(theirs) if "run" in theirs else "-"]
    cells += [f"{layers[each]['kept']}, {percent(layers[each]['kept_time'])}" if each in layers else "-" for each in ("first", "last")]
    return [*cells, SAID[verdict(result)]]


def row_quantised(result):
    cells = [result["name"], f"{result['bytes'] / 1e6:.3g}", result["target"].replace(">=", "≥")]
    found = result.get("found")
    if not found:
        return [*cells, *["-"] * 5, verdict_quantised(result)]
    all_low = number((found["all_low"] or {}).get("value"))
    kept = f"{len(found['kept'])} of {found['candidates']}"
    return [*cells, all_low, kept, percent(found["kept_time"], len(found["kept"])), f"{found['full_runs']:.1f}", number(found.get("run")), verdict_quantised(result)]


def why(result):
    kept = result["found"]["kept"]
    kinds = ", ".join(f"{each['op_type']} `{short(each['node'])}`" for each in kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
    causes = dict.fromkeys(cause(each["cause"]) for each in kept)
    return [result["name"], kinds, ", ".join(causes)]


def without_places(text):
    """A message without directories of this machine."""
    return re.sub(r"/(?:dev/shm|tmp|root|home)/\S*/", "", text)


def short(name):
    return name if len(name) <= 40 else f"...{name[-37:]}"


def cause(found):
    return "rounding adds up" if found is None else str(found).replace("_", " ") if isinstance(found, str) else ", ".join(map(str, found)).replace("_", " ")


def percent(share, kept=0):
    if share is None or (share == 0 and kept):
        return "-"
    return "0" if share == 0 else f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"


def both(found):
    return f"{number(found.get('run'))}, {number(found.get('rounded'))}"


def number(value):
    """Two digits of what is missing to 1, never rounded up."""
    if value is None:
        return "-"
    missing = abs(1 - value)
    if missing < 1e-9:
        return "1"
    if missing > 0.1 or missing != missing:
        return f"{value:.2g}"
    digits = 2
    while missing < 0.1:
        missing, digits = 10 * missing, digits + 1
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"


def mib(count):
    return f"{count / 2**20:.0f}"
