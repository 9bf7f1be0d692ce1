"""Programs with `opscope.onnxruntime` that commands attach to while they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import opscope
from opscope.onnxruntime import InferenceSession

# It runs on some threads until its standard input ends, and prints each output that it has not had before.
PROGRAM = """
import select, sys, threading, numpy
from opscope.onnxruntime import InferenceSession, SessionOptions

options = SessionOptions()
options.intra_op_num_threads = 1
session = InferenceSession(sys.argv[1], options)
image = numpy.load(sys.argv[2])
seen, lock = set(), threading.Lock()

def work():
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            output = session.run(["probabilities"], {"image": image})[0]
            output[0] += 0  # The program may write to it.
            output = output.tobytes().hex()
        except Exception as error:
            output = f"{type(error).__name__}: {error}"
        with lock:
            if output not in seen:
                print(output, flush=True)
            seen.add(output)

threads = [threading.Thread(target=work) for _ in range(int(sys.argv[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class Running:
    """A program that runs."""

    def __init__(self, place: Path, models: Path, threads: int = 1, before: str = "") -> None:
        """`before` is done first. Without it this waits for the first output."""
        place.chmod(0o700)
        self.socket = place / "debug.sock"
        (place / "server.py").write_text(before + PROGRAM)
        files = [str(models / name) for name in ("digits_cnn.onnx", "digits_cnn.input.image.npy")]
        command = [sys.executable, "server.py", *files, str(threads)]
        environment = {**os.environ, "OPSCOPE_DEBUG_SERVER": str(self.socket)}
        pipe = subprocess.PIPE
        self.started = subprocess.Popen(command, cwd=place, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.expected = "" if before else self.line()

    def line(self) -> str:
        assert self.started.stdout is not None
        return self.started.stdout.readline().strip()

    def attach(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        attach = [sys.executable, "-m", "opscope", command, "--attach", str(self.socket), *words]
        return subprocess.run(attach, text=True, capture_output=True, timeout=300)

    def debug(self, *commands: str) -> str:
        script = [word for command in commands for word in ("-ex", command)]
        ended = self.attach("debug", "--batch", *script)
        assert ended.returncode == 0, ended
        return ended.stdout

    def end(self) -> list[str]:
        """The other outputs that it has had."""
        out, err = self.started.communicate()
        assert self.started.returncode == 0, err
        assert err == f"opscope: attach with: opscope debug --attach {self.socket}\n"
        return out.splitlines()


def numbers(output: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(output), np.float32)


@pytest.fixture
def running(tmp_path: Path, models: Path) -> Iterator[Running]:
    running = Running(tmp_path, models)
    yield running
    running.started.kill()
    running.started.communicate()


def test_a_debugger_stops_a_session_changes_what_it_computes_and_leaves_it_as_it_was(
    running: Running, models: Path, image: np.ndarray
) -> None:
    expected = onnxruntime.InferenceSession(models / "digits_cnn.onnx").run(None, {"image": image})[0]
    assert running.expected == expected.tobytes().hex()
    shown = running.debug("break /fc1/Gemm", "continue", "info inputs", "delete", "detach")
    assert "before #12 /fc1/Gemm (Gemm)" in shown and "float32 [8, 128]" in shown, shown
    # What the debugger puts there is what the program gets.
    running.debug("break type:Softmax", "continue", "finish", "set output[0] = 0.5", "delete", "detach")
    *exact, changed = running.end()
    assert (numbers(changed) == 0.5).all()
    # With a debugger every operator runs as the file has it.
    for output in exact:
        assert np.allclose(numbers(output), expected.flat, atol=1e-6)


# Loading a model takes until the file `go` exists.
LOADS_LONG = """
import os, time, onnxruntime
load = onnxruntime.InferenceSession.__init__
def loads_long(*arguments):
    while not os.path.exists("go"):
        time.sleep(0.001)
    load(*arguments)
onnxruntime.InferenceSession.__init__ = loads_long
"""


def test_a_debugger_attaches_while_the_model_loads(tmp_path: Path, models: Path) -> None:
    running = Running(tmp_path, models, before=LOADS_LONG)
    try:
        end = time.monotonic() + 100
        while not running.socket.exists():
            assert running.started.poll() is None and time.monotonic() < end, "nobody can attach"
            time.sleep(0.001)
        commands = ("break /fc1/Gemm", "continue", "delete", "detach")
        words = [sys.executable, "-m", "opscope", "debug", "--attach", str(running.socket), "--batch"]
        words += [word for command in commands for word in ("-ex", command)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as debugger:
            assert debugger.stdout is not None
            patience = threading.Timer(100, debugger.kill)
            patience.start()
            while "no operator yet" not in (line := debugger.stdout.readline()):
                assert line, "the debugger ended"
            (tmp_path / "go").touch()
            shown = debugger.communicate()[0]
            patience.cancel()
            assert "Breakpoint 1, before #12 /fc1/Gemm (Gemm), run 0" in shown, shown
        assert running.end()
    finally:
        running.started.kill()
        running.started.communicate()


def test_a_run_that_a_debugger_aborts_raises_and_the_next_one_is_the_sessions_own(running: Running) -> None:
    running.debug("break /fc1/Gemm", "continue", "abort", "delete", "detach")
    outputs = running.end()
    assert [output for output in outputs if output.startswith("EngineError: ")], outputs


@pytest.mark.onnxruntime(25)
def test_a_dump_and_a_recording_are_whole_and_change_nothing(running: Running, tmp_path: Path) -> None:
    for command, folder in (("dump", "dump"), ("profile", "profiler")):
        ended = running.attach(command, "--output", str(tmp_path / "out"), "--output-dirname", "now", "--json")
        assert ended.returncode == 0, ended
        told = json.loads(ended.stdout)
        assert told["error"] is None and told["model"].endswith("digits_cnn.onnx")
        made = opscope.open(tmp_path / "out" / folder / "now")
        assert made.complete and isinstance(made, opscope.Dump if command == "dump" else opscope.Profile)
    refused = running.attach("dump", "--output", str(running.socket), "--output-dirname", "now")
    assert refused.returncode == 1 and "debug.sock" in refused.stderr, refused
    assert running.end() == []


@pytest.mark.onnxruntime(25)
@pytest.mark.parametrize(("command", "folder"), [("dump", "dump"), ("profile", "profiler")])
def test_a_program_that_ends_meanwhile_waits_until_what_was_begun_is_whole(
    running: Running, tmp_path: Path, command: str, folder: str
) -> None:
    words = ["--attach", str(running.socket), "--output", str(tmp_path / "out"), "--output-dirname", "now"]
    asking = subprocess.Popen([sys.executable, "-m", "opscope", command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The program's thread creates it after it has loaded the model, before the runs.
    while not (tmp_path / "out" / folder).exists():
        assert asking.poll() is None, asking.communicate()
        time.sleep(0.001)
    assert running.end() == []
    asking.communicate()
    assert opscope.open(tmp_path / "out" / folder / "now").complete


def test_runs_on_several_threads_are_each_stopped(models: Path, tmp_path: Path) -> None:
    running = Running(tmp_path, models, threads=4)
    try:
        shown = running.debug("break /fc1/Gemm", *["continue"] * 8, "delete", "detach")
        assert shown.count("before #12 /fc1/Gemm (Gemm)") == 8, shown
        for output in running.end():
            assert np.allclose(numbers(output), numbers(running.expected), atol=1e-6)
    finally:
        running.started.kill()
        running.started.communicate()
    assert not running.socket.exists()


def test_a_forked_process_has_a_server_of_its_own_and_a_taken_socket_is_told(models: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    program = """
import os, sys
from opscope.onnxruntime import InferenceSession
session = InferenceSession(sys.argv[1])
child = os.fork()
if child == 0:
    InferenceSession(sys.argv[1])
    sys.stderr.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    environment = {**os.environ, "OPSCOPE_DEBUG_SERVER": str(tmp_path / "debug.sock")}
    command = [sys.executable, "-c", program, str(models / "digits_cnn.onnx")]
    ended = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=100)
    assert ended.returncode == 0, ended
    how = f"opscope: attach with: opscope debug --attach {tmp_path / 'debug.sock'}\n"
    assert ended.stderr.startswith(f"{how}{how}opscope: no debugger can attach: "), ended.stderr


def test_a_model_that_opscope_cannot_read_leaves_the_program_as_it_is(
    models: Path, image: np.ndarray, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise opscope.ModelError("it has no graph")

    monkeypatch.setenv("OPSCOPE_DEBUG_SERVER", "1")
    monkeypatch.setattr("opscope.onnxruntime.listen", lambda _: object())
    monkeypatch.setattr("opscope.onnxruntime.Served", refused)
    session = InferenceSession(models / "digits_cnn.onnx")
    assert len(session.run(None, {"image": image})[0]) == len(image)
    assert capsys.readouterr().err == "opscope: no debugger can attach to a session: it has no graph\n"


def test_a_place_that_is_none_is_named(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_DEBUG_SERVER", "yes")
    with pytest.raises(opscope.InputError, match="OPSCOPE_DEBUG_SERVER is 1 or a path such as ./socket, and not 'yes'"):
        InferenceSession(models / "digits_cnn.onnx")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("opscope")]
