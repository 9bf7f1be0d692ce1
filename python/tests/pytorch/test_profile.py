"""Recordings of programs: what was executed how often, within what, and how long by another clock."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import nets
import pytest
import torch
from test_program import NET, TRAIN, opscope
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import opscope.torch as ot
from opscope import InputError
from opscope import open as open_result

SLOW = """
import time
class Slow(nn.Module):
    calls = 0
    def forward(self, x):
        # One call takes up to twice as long as another, so whether a run is a slow one depends on this and not on how busy the machine
        # is for a while.
        self.calls += 1
        end = time.perf_counter() + MILLISECONDS * (1 + self.calls * 0.618 % 1) / 1e3
        while time.perf_counter() < end: pass
        return x
net.second = nn.Sequential(Slow(), net.second)
"""


class Spinning(nn.Module):
    """Takes as long as it is told, and keeps when it began and ended."""

    def __init__(self, milliseconds, *inner):
        super().__init__()
        self.inner = nn.ModuleList(inner)
        self.milliseconds = milliseconds
        self.own = []

    def forward(self, x):
        begin = time.perf_counter_ns()
        while time.perf_counter_ns() - begin < self.milliseconds * 1e6:
            pass
        self.own.append(time.perf_counter_ns() - begin)
        for module in self.inner:
            x = module(x)
        return x


class Judge(TorchDispatchMode):
    """Counts what is executed."""

    def __init__(self):
        super().__init__()
        self.names = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace != "profiler":
            self.names[str(func)] += 1
        return func(*args, **(kwargs or {}))


def account(directory):
    return json.loads(open_result(directory).json())


def rows(directory):
    return {row["operator"]: row for row in account(directory)["operators"]}


def test_modules_have_their_own_times(tmp_path):
    inner = [Spinning(4), Spinning(1)]
    net = Spinning(2, *inner)
    with ot.profile(tmp_path / "p") as result:
        for _ in range(3):
            net(torch.ones(2))
    assert (result.complete, result.steps, result.operators, result.executions) == (True, 3, 3, 9)
    found = account(tmp_path / "p")
    by_name = {row["operator"]: row for row in found["operators"]}
    assert by_name.keys() == {"Spinning", "inner.0", "inner.1"}
    # A module spins for as long as its own clock says, so its own time is no shorter, and not that of those in it.
    for name, module in [("Spinning", net), ("inner.0", inner[0]), ("inner.1", inner[1])]:
        assert by_name[name]["dispatches"] == 3
        assert by_name[name]["total_ns"] >= 0.999 * sum(module.own)
    # A step is no shorter than what is in it, and has nothing else.
    total = found["run"]["total_ns"]
    assert sum(row["total_ns"] for row in found["operators"]) <= 1.001 * total
    assert found["shares"]["operators"]["total_ns"] <= 1.001 * total
    assert by_name["Spinning"]["total_ns"] <= total - 0.999 * (sum(inner[0].own) + sum(inner[1].own))


@pytest.mark.parametrize("name", ["cnn", "lstm", "transformer", "reentrant", "custom", "inplace"])
def test_every_operator_of_the_dispatcher_is_recorded(name, tmp_path):
    net, inputs = nets.NETS[name]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nets.loss_of(net(*inputs)).backward()
        optimizer.step()

    step()
    with ot.profile(tmp_path / "p", level="op") as result:
        step()
    judge = Judge()
    with judge:
        step()
    assert result.complete
    counted = Counter()
    for row in rows(tmp_path / "p").values():
        counted[row["op_type"]] += row["dispatches"]
    assert counted == judge.names
    names = rows(tmp_path / "p").keys()
    assert any("/backward/" in name for name in names) and any(name.startswith("SGD/optimizer/") for name in names)


def test_the_gradients_of_modules_are_timed_within_those_around_them(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 8)), nn.Linear(8, 2))
    with ot.profile(tmp_path / "p") as result:
        net(torch.randn(3, 4)).sum().backward()
    assert result.complete
    found = rows(tmp_path / "p")
    forward = {"Sequential", "0", "1", "1.0", "1.1", "2"}
    assert found.keys() == forward | {f"{name}/backward" for name in forward}
    assert all(row["dispatches"] == 1 for row in found.values())
    text = (tmp_path / "p/op_summary.csv").read_text()
    assert "Sequential[0] > 1[0]" in text.replace("/backward", "")


class SlowGradient(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        end = time.perf_counter() + 0.03
        while time.perf_counter() < end:
            pass
        return gradient


def test_a_slow_gradient_counts_for_its_module(tmp_path):
    class Slow(nn.Module):
        def forward(self, x):
            return SlowGradient.apply(x)

    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), Slow()), nn.Linear(4, 4))
    with ot.profile(tmp_path / "p"):
        net(torch.randn(3, 4)).sum().backward()
    found = rows(tmp_path / "p")
    assert found["1.1/backward"]["total_ns"] >= 29e6
    assert sum(row["total_ns"] for row in found.values()) <= 1.001 * account(tmp_path / "p")["run"]["total_ns"]


@pytest.mark.parametrize("name", ["checkpointed", "reentrant"])
def test_what_is_computed_again_and_optimizers_have_their_phases(name, tmp_path):
    net, inputs = nets.NETS[name]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with ot.profile(tmp_path / "p") as result:
        nets.loss_of(net(*inputs)).backward()
        optimizer.step()
    assert result.complete
    names = rows(tmp_path / "p").keys()
    assert any(name.endswith("/recompute") for name in names) and "SGD/optimizer" in names


def test_a_program_computes_the_same_while_it_is_profiled(tmp_path):
    plain = subprocess.run([sys.executable, "-c", TRAIN], text=True, capture_output=True).stdout
    for level in ("module", "op"):
        ended = opscope(tmp_path, "profile", "--output-dirname", level, "--level", level)
        assert (ended.returncode, ended.stdout) == (0, plain), ended.stderr
        assert f"out/profiler/{level}: 4 steps of " in ended.stderr and ended.stderr.endswith(", complete\n")


def test_the_module_that_became_slower_is_named(tmp_path):
    # The runs of each have to take a second together, or there is no interval to judge by.
    # It becomes so much slower that a busy machine does not hide it.
    for name, milliseconds, steps in [("a", 10, 100), ("b", 100, 40)]:
        program = NET + SLOW.replace("MILLISECONDS", str(milliseconds)) + TRAIN[len(NET) :].replace("range(4)", f"range({steps})")
        ended = opscope(tmp_path, "profile", "--output-dirname", name, program=program)
        assert ended.returncode == 0, ended.stderr
    command = [sys.executable, "-m", "opscope", "compare", "out/profiler/a", "out/profiler/b", "--fail-above", "50%", "--json"]
    ended = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["operators"][0]["operators"] == ["second.0"]
    for word in ("inspect", "report"):
        more = ["--output", "page.html"] if word == "report" else []
        read = subprocess.run([sys.executable, "-m", "opscope", word, "out/profiler/a", *more], cwd=tmp_path, text=True, capture_output=True)
        assert read.returncode == 0 and "Slow" in read.stdout + "Slow" * (word == "report"), read.stderr


def test_steps_are_selected(tmp_path):
    ended = opscope(tmp_path, "profile", "--output-dirname", "a", "--steps", "1..3")
    assert ended.returncode == 0, ended.stderr
    assert account(tmp_path / "out/profiler/a")["runs"]["measured"] == 2
    ended = opscope(tmp_path, "profile", "--output-dirname", "none", "--steps", "9..")
    assert ended.returncode == 3 and "nothing was executed in the steps that were asked for" in ended.stderr


def test_a_program_that_is_killed_keeps_its_steps(tmp_path):
    program = TRAIN + "import os; os.kill(os.getpid(), 9)"
    ended = opscope(tmp_path, "profile", "--output-dirname", "a", program=program)
    assert ended.returncode == -9 and "NOT complete: the process of the program ended before it could close" in ended.stderr
    assert "out/profiler/a: 3 steps" in ended.stderr
    found = account(tmp_path / "out/profiler/a")
    assert not found["complete"] and found["runs"]["measured"] == 3


class FakeEvent:
    """An event of a device whose clock is ten times as slow as the processor's."""

    times = []

    def record(self):
        self.at = time.perf_counter_ns()
        self.times.append(self.at)

    def elapsed_time(self, other):
        return (other.at - self.at) / 10 / 1e6


class FakeDevice:
    waits = 0

    @staticmethod
    def Event(enable_timing):
        assert enable_timing
        return FakeEvent()

    @classmethod
    def synchronize(cls):
        cls.waits += 1


def test_times_on_a_device_are_those_of_its_events(tmp_path):
    from opscope.torch._device_clock import DeviceClock
    from opscope.torch._session import Session

    net = nn.Sequential(Spinning(3), Spinning(1))
    session = Session(level="module", backward=True, steps=None, compiled="eager")
    session.profile(tmp_path / "p")
    session._has_clock = True
    session.tap.set_clock(DeviceClock(FakeDevice))
    session.attach()
    for _ in range(2):
        net(torch.ones(2, device="meta"))
    session.detach()
    session.close(None)
    assert FakeDevice.waits == 3, "once to begin, and once at the end of each step"
    found = rows(tmp_path / "p")
    # A step records seven: its own beginning, and where each of the three modules begins and ends.
    assert len(FakeEvent.times) == 14
    first, second = ([step[place + 1] - step[place] for step in (FakeEvent.times[:7], FakeEvent.times[7:])] for place in (2, 4))
    assert found["0"]["total_ns"] == pytest.approx(sum(first) / 10, rel=1e-3)
    assert found["1"]["total_ns"] == pytest.approx(sum(second) / 10, rel=1e-3)


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(InputError, match="level is module or op"), ot.profile(tmp_path / "p", level="line"):
        pass
    ended = opscope(tmp_path, "profile", "--output-dirname", "a", "--tool", "missing.so")
    assert ended.returncode == 3 and "missing.so" in ended.stderr and "loss" in ended.stdout
    (tmp_path / "out/profiler/b").mkdir(parents=True)
    (tmp_path / "out/profiler/b/file").touch()
    ended = opscope(tmp_path, "profile", "--output-dirname", "b", "--overwrite")
    assert ended.returncode == 2 and "neither a dump nor a recording" in ended.stderr


REPOSITORY = Path(__file__).resolve().parents[3]
COUNTED = """
from torch.utils._python_dispatch import TorchDispatchMode
class Judge(TorchDispatchMode):
    count = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Judge.count += func.namespace != "profiler"
        return func(*args, **(kwargs or {}))
Judge().__enter__()
import atexit
atexit.register(lambda: open("counted", "w").write(str(Judge.count)))
"""


def test_consumers_get_every_operator_of_every_step(tmp_path):
    (tmp_path / "lib").mkdir()
    consumer = REPOSITORY / "crates/producer/tests/c/consumer.c"
    words = ["cc", "-shared", "-fPIC", "-I", str(REPOSITORY / "crates/producer/include"), str(consumer), "-o", "lib/librocprofiler64.so.2"]
    subprocess.run(words, cwd=tmp_path, check=True)
    found = {"OPSCOPE_LIB_DIR": str(tmp_path / "lib"), "CONSUMER_LOG": str(tmp_path / "log")}
    training = TRAIN[len(NET) :]
    # The judge counts from the first call of a module on, as the program is watched.
    counted = training.replace("loss = net", "Judge.count = 0 if step == 0 else Judge.count; loss = net")
    subprocess.run([sys.executable, "-c", NET + COUNTED + counted], cwd=tmp_path, check=True, capture_output=True)
    ended = opscope(tmp_path, "profile", "--output-dirname", "a", "--level", "op", **found)
    assert ended.returncode == 0, ended.stderr
    calls = [line.split("\t") for line in (tmp_path / "log").read_text().splitlines()]
    of = {what: [call for call in calls if call[0] == what] for what in ("run_begin", "run_end", "dispatch_begin", "dispatch_end", "plan_made")}
    judged = int((tmp_path / "counted").read_text())
    assert len(of["run_begin"]) == len(of["run_end"]) == 4
    assert len(of["dispatch_begin"]) == len(of["dispatch_end"]) == judged
    assert judged == sum(row["dispatches"] for row in rows(tmp_path / "out/profiler/a").values())
    assert any("Net/aten.relu.default" in field for call in calls for field in call)
