"""The command: `python -m opscope` is the program, in all that can be seen of it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import opscope

PYTHON = [sys.executable, "-m", "opscope"]


def command(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    return subprocess.run([*PYTHON, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, **options)  # type: ignore[call-overload, no-any-return]


def program() -> str:
    """The program that cargo built, with which the command is compared."""
    found = os.environ.get("OPSCOPE_PROGRAM")
    if not found:
        pytest.skip("OPSCOPE_PROGRAM names no program of opscope's")
    return found


def test_the_version_and_the_exit_codes(models: Path, tmp_path: Path) -> None:
    assert command("--version").stdout == f"opscope {opscope.__version__}\n"
    assert command().returncode == 2
    wrong = command("benchmrk", models / "digits_cnn.onnx")
    assert wrong.returncode == 2 and "benchmark" in wrong.stderr and wrong.stdout == ""
    missing = command("benchmark", tmp_path / "nowhere.onnx")
    assert missing.returncode == 2 and missing.stderr.startswith("error: ")
    assert command("compare", models / "precision" / "digits_qdq.onnx", models / "digits_cnn.onnx").returncode in (0, 4)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["benchmark", "--help-all"],
        ["inspect", "digits_cnn.onnx", "--operators"],
        ["inspect", "digits_cnn.onnx", "--json"],
        ["inspect", "fixtures/cycle.onnx"],
        ["compare", "digits_cnn.onnx", "digits_cnn.onnx", "--json"],
        ["debug", "fixtures/nan.onnx", "--input", "fixtures/nan.input.x.npy", "--batch", "-ex", "catch nan", "-ex", "run"],
        ["completions", "bash"],
    ],
)
def test_every_byte_is_the_programs(words: list[str], models: Path) -> None:
    ours = command(*words, cwd=models)
    theirs = subprocess.run([program(), *words], capture_output=True, text=True, timeout=120, check=False, cwd=models)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_a_summary_has_what_the_programs_has(models: Path) -> None:
    words = ["benchmark", "digits_cnn.onnx", "--loop", "20", "--json"]
    ours = json.loads(command(*words, cwd=models).stdout)
    theirs = json.loads(
        subprocess.run([program(), *words], capture_output=True, text=True, timeout=120, check=True, cwd=models).stdout
    )
    assert list(ours) == list(theirs)
    # The first word is the program's name.
    assert ours.pop("args")[1:] == theirs.pop("args")[1:] == words
    for same in ("schema", "inputs", "batchsize", "engine"):
        assert ours[same] == theirs[same], same


def test_an_isolated_job_runs_in_a_process_of_its_own(models: Path) -> None:
    plain = command("benchmark", models / "digits_cnn.onnx", "--loop", "3", "--isolate", "--json", cwd=models)
    assert plain.returncode == 0, plain.stderr
    assert json.loads(plain.stdout)["NPU_compute_time"]["count"] == 3


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("isolate", [[], ["--isolate"]])
def test_a_signal_ends_it_and_what_was_measured_is_kept(
    kind: signal.Signals, code: int, isolate: list[str], models: Path, tmp_path: Path
) -> None:
    words = ["benchmark", models / "digits_cnn.onnx", "--duration", "600", "--output", tmp_path, "--output-dirname", "run"]
    words += ["--profiler", *isolate]
    child = subprocess.Popen([*PYTHON, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # The records of runs are in a file when runs are under way.
        while child.poll() is None and not any(path.stat().st_size > 1 << 16 for path in tmp_path.rglob("records.bin")):
            time.sleep(0.001)
        child.send_signal(kind)
        _, stderr = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode in (0, 3, code), stderr
    recording = opscope.open(tmp_path / "profiler" / "run")
    assert isinstance(recording, opscope.Profile) and recording.runs > 0


def test_a_terminal_sees_how_far_it_is_and_a_pipe_does_not(models: Path) -> None:
    words = [*PYTHON, "benchmark", str(models / "digits_cnn.onnx"), "--duration", "1"]
    leader, follower = pty.openpty()
    child = subprocess.Popen(words, stdin=follower, stdout=follower, stderr=follower, env={**os.environ, "TERM": "xterm"})
    os.close(follower)
    seen = b""
    # The read fails when the last one who has the terminal ends.
    with contextlib.suppress(OSError):
        while part := os.read(leader, 1 << 16):
            seen += part
    os.close(leader)
    assert child.wait(timeout=60) == 0
    assert b" runs [" in seen and b"\x1b[2K" in seen
    assert b"\x1b" not in subprocess.run(words, capture_output=True, check=True, timeout=60).stderr


def test_output_into_a_closed_pipe_is_no_error(models: Path) -> None:
    words = [*PYTHON, "inspect", str(models / "digits_cnn.onnx"), "--operators"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        assert child.wait(timeout=60) == 0
        assert child.stderr.read() == b""


def test_importing_the_package_changes_no_signal_and_imports_no_arrays() -> None:
    code = """
import signal, sys
before = [signal.getsignal(kind) for kind in signal.valid_signals()]
import opscope, opscope._cli
assert before == [signal.getsignal(kind) for kind in signal.valid_signals()]
caught = next(line for line in open("/proc/self/status") if line.startswith("SigCgt"))
assert int(caught.split()[1], 16) & ~(1 << signal.SIGINT - 1) == 0, caught
print([name for name in ("numpy", "torch", "onnx", "onnxruntime", "pyarrow") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
