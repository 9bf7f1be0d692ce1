"""Threads, forks, interrupts, and the end of the interpreter."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import opscope


def outputs_of(path: Path, image: np.ndarray) -> bytes:
    """Loads and runs in another process."""
    return opscope.load(path).run([image])["probabilities"].tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_another_process_loads_and_runs(method: str, models: Path, digits: opscope.Model, image: np.ndarray) -> None:
    expected = digits.run([image])["probabilities"].tobytes()
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(outputs_of, [(models / "digits_cnn.onnx", image)] * 4).get(timeout=120)
    assert found == [expected] * 4


def in_fork(work: str) -> str:
    """Forks a process that has loaded models, and returns what the child prints."""
    code = f"""
import os, sys, warnings
import numpy as np
import opscope
warnings.simplefilter("ignore")
one = opscope.load({str(MODEL)!r})
two = opscope.load({str(MODEL)!r}, threads=2)
x = np.zeros((1, 1, 8, 8), np.float32)
one.run([x]), two.run([x])
child = os.fork()
if child == 0:
    try:
        {work}
    except Exception as error:
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout


MODEL = Path(__file__).resolve().parents[2] / "models" / "digits_cnn.onnx"


def test_a_model_of_one_thread_runs_in_a_fork() -> None:
    assert in_fork('print(one.run([x])["probabilities"].shape)') == "(1, 10)\n"


def test_a_model_of_several_threads_says_what_to_do_in_a_fork() -> None:
    printed = in_fork("two.run([x])")
    assert printed.startswith("Error ") and "a fork copies no threads; load it in the new process" in printed


@contextlib.contextmanager
def interruptible(code: str) -> Iterator[subprocess.Popen[str]]:
    """Runs code in a process that Ctrl-C reaches also where this one ignores it, as in the background of a shell. At the end it is gone."""
    handler = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    child = subprocess.Popen([sys.executable, "-c", handler + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("call", ["model.benchmark(duration=600)", "model.profile(runs=10**9)"])
def test_ctrl_c_ends_a_call(call: str, names_of_threads: Callable[..., list[str]]) -> None:
    code = f"""
import opscope
model = opscope.load({str(MODEL)!r})
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", model.run(model.generate_inputs())["probabilities"].shape)
"""
    with interruptible(code) as child:
        # The call is under way when its thread is there.
        while child.poll() is None and "opscope-work" not in names_of_threads(child.pid):
            time.sleep(0.001)
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=60)
    assert (printed, child.returncode) == ("interrupted (1, 10)\n", 0)


@pytest.mark.parametrize(
    "call",
    [
        "opscope.load(path)",
        "model.run(inputs)",
        "model.benchmark(inputs, runs=3)",
        "profile = model.profile(inputs, runs=3)",
        "model.profile(inputs, runs=3).report(free())",
        "model.profile(inputs, runs=3).save(free())",
        "list(model.dump(inputs))",
        "next(model.dump(inputs))",
        "model.write_dump(free(), inputs)",
        "opscope.open(dump)[-1].statistics",
        "opscope.compare(model, model, inputs).ok",
        "opscope.compare(model, dump, inputs).text()",
        "stop_at_each(model)",
        "model.generate_inputs(1)",
        "recorded()",
    ],
)
def test_ctrl_c_at_any_moment_leaves_everything_usable(call: str, tmp_path: Path) -> None:
    """Calls follow each other without a pause, so that most signals come in the midst of one. Each is a KeyboardInterrupt, once."""
    code = f"""
import pathlib, tempfile, time
import opscope
path, scratch = {str(MODEL)!r}, {str(tmp_path)!r}
model = opscope.load(path)
inputs = model.generate_inputs(1)
expected = model.run(inputs)["probabilities"].tobytes()
dump = scratch + "/dump"
model.write_dump(dump, inputs)

def free():
    return tempfile.mkdtemp(dir=scratch) + "/free"

def stop_at_each(model):
    with model.debug(inputs) as debugger:
        debugger.break_at("*")
        stop = debugger.run()
        while stop is not None:
            stop.outputs
            stop = debugger.step()

def recorded():
    with opscope.record() as recorder, opscope.range("run"):
        model.run(inputs)
    return recorder.table

print("ready", flush=True)
interrupts = 0
while interrupts < 5:
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        interrupts += 1
        print("interrupted", flush=True)
assert model.run(inputs)["probabilities"].tobytes() == expected
assert opscope.open(dump).complete and opscope.compare(model, dump, inputs).ok
assert len(list(model.dump(inputs))) == 16
"""
    pause = random.Random(call)
    with interruptible(code) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        for _ in range(5):
            assert line in ("ready\n", "interrupted\n"), child.communicate()
            time.sleep(0.02 + pause.random() * 0.05)
            child.send_signal(signal.SIGINT)
            line = child.stdout.readline()
        _, errors = child.communicate(timeout=60)
    assert (line, child.returncode) == ("interrupted\n", 0), errors


def test_other_threads_go_on_while_a_model_runs(models: Path) -> None:
    model = opscope.load(models / "tiny_transformer.onnx")
    values = np.zeros((16, 64, 64), np.float32)
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = counted
    for _ in range(10):
        model.run([values])
    during = counted - before
    ended.set()
    counter.join()
    assert during > 0


def test_the_interpreter_ends_while_runs_are_under_way() -> None:
    code = f"""
import threading
import opscope
model = opscope.load({str(MODEL)!r})
inputs = model.generate_inputs()

def work():
    while True:
        model.run(inputs)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
stream = model.dump()
next(stream)
session = model.debug().__enter__()
session.break_at("*")
session.run()
with opscope.record():
    model.run(inputs)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
