"""Threads, forks, interrupts, and the end of the interpreter."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
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
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    # The call is under way when its thread is there.
    while child.poll() is None and "opscope-work" not in names_of_threads(child.pid):
        pass
    child.send_signal(signal.SIGINT)
    printed, _ = child.communicate(timeout=60)
    assert (printed, child.returncode) == ("interrupted (1, 10)\n", 0)


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
