"""The tour of the README: what the library gives is what the command prints, byte for byte but for times."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opscope

ROOT = Path(__file__).resolve().parents[2]
# What says when and how long, in which process, and by which words. All else is the same.
MEASURED = {
    "run", "args", "pid", "start_unix_ns", "load_ms", "plan_ms", "peak_memory_bytes", "NPU_compute_time", "H2D_latency", "D2H_latency",
    "median_interval_95", "npu_compute_time_list", "throughput", "throughput_at_median", "verify_ms", "reused", "until_stable", "noise",
    "load",
}  # fmt: skip


def command(*words: str) -> str:
    program = [sys.executable, "-m", "opscope", *words]
    return subprocess.run(program, capture_output=True, text=True, check=True, timeout=120, cwd=ROOT).stdout


def without_times(document: str) -> str:
    """The document, with what was measured in it as an empty text."""

    def cut(value: object, key: str = "") -> object:
        if key in MEASURED or (key.endswith(("_ms", "_ns", "seconds")) and isinstance(value, (int, float))):
            return ""
        if isinstance(value, dict):
            return {key: cut(inner, key) for key, inner in value.items()}
        return [cut(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(cut(json.loads(document)), indent=2)


def spelled(document: str) -> str:
    """The bytes of the document, without its numbers and the command's words."""
    plain = re.sub(r'"args":\s*\[[^]]*\]', '"args"', document)
    return re.sub(r"-?\d[\d.eE+-]*", "0", plain)


def test_the_tour_gives_what_the_command_prints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    (tour,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    scope: dict[str, object] = {}
    exec(compile(tour, "README.md", "exec"), scope)  # noqa: S102
    model = scope["model"]
    assert isinstance(model, opscope.Model)

    # The benchmark of the tour, whose runs are warmed up once.
    # Neither finds what the other one knows of the model's plan.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ours-cache"))
    ours = model.benchmark(runs=1000).json()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs-cache"))
    printed = command("benchmark", "models/digits_cnn.onnx", "--loop", "1000", "--json", "--quiet")
    assert without_times(ours) == without_times(printed)
    # Both are written in the same way: only numbers differ, and the words that the command was started with.
    assert spelled(ours + "\n") == spelled(printed)

    # The dump of the tour.
    words = ["--loop", "1", "--warmup-count", "0", "--output", str(tmp_path), "--output-dirname", "theirs", "--quiet"]
    command("benchmark", "models/digits_cnn.onnx", "--dump", "--dump-operator", "/conv*/Conv", *words)
    model.write_dump(tmp_path / "ours", select="/conv*/Conv")
    theirs = tmp_path / "dump" / "theirs"
    # Where the index lies, lie the tensors.
    assert (tmp_path / "ours" / "index.jsonl").read_bytes() == (theirs / "index.jsonl").read_bytes()
    tensors = list(model.dump(select="/conv*/Conv"))
    files = sorted(path.relative_to(theirs) for path in theirs.rglob("*.output*.npy"))
    assert len(files) == len(tensors) == 3
    for file, tensor in zip(files, tensors, strict=True):
        assert (tmp_path / "ours" / file).read_bytes() == (theirs / file).read_bytes()
        np.testing.assert_array_equal(tensor.numpy(), np.load(theirs / file))


def test_a_comparison_is_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    pair = ("models/precision/digits_qdq.onnx", "models/digits_cnn.onnx")
    printed = subprocess.run(
        [sys.executable, "-m", "opscope", "compare", *pair, "--json"], capture_output=True, text=True, check=False, timeout=120
    )
    ours = opscope.compare(*pair)
    assert (ours.json() + "\n", ours.exit_code) == (printed.stdout, printed.returncode)
