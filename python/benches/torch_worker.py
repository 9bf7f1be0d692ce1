"""Does what the benchmark `torch.rs` measures: each line on stdin names it, and a line with its cost answers. Times are the least processor
time of a step, of all threads, in nanoseconds.
"""

from __future__ import annotations

import compileall
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import opscope.torch as ot

MOMENT = "OPSCOPE_BENCH_MOMENT" in os.environ
SCRATCH = Path(tempfile.mkdtemp(prefix="opscope-bench-"))
torch.set_num_threads(1)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) * (width // self.heads) ** -0.5
        y = torch.softmax(scores, -1) @ v
        return self.o(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Program:
    """A network that is trained: with its optimizer if it is big, else only forward and backward, some 780 small operators."""

    def __init__(self, size: str) -> None:
        torch.manual_seed(0)
        big = size == "big" and not MOMENT
        self.net = Net(768, 12, 12, 16_000) if big else Net(32, 6, 2, 1000)
        words, length = (16_000, 128) if big else (1000, 16)
        self.tokens = torch.randint(words, (1, length))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-4, momentum=0.9) if big else None
        self.steps = 3 if big else 20
        for _ in range(2):
            self.step()

    def step(self) -> None:
        self.net.zero_grad()
        logits = self.net(self.tokens)
        nn.functional.cross_entropy(logits[0, :-1], self.tokens[0, 1:]).backward()
        if self.optimizer is not None:
            self.optimizer.step()

    def least(self, step: Callable[[], None] | None = None) -> float:
        """The least processor time of a step. The first one finds the operators, and does not count."""
        step = step or self.step
        step()
        times = []
        for _ in range(1 if MOMENT else self.steps):
            begin = time.process_time_ns()
            step()
            times.append(time.process_time_ns() - begin)
        return min(times)


@functools.cache
def program(size: str) -> Program:
    return Program(size)


def fresh() -> Path:
    shutil.rmtree(SCRATCH / "result", ignore_errors=True)
    return SCRATCH / "result"


def within(size: str, manager: contextlib.AbstractContextManager[Any]) -> float:
    with manager:
        return program(size).least()


def detached(size: str) -> float:
    with ot.dump(fresh(), level="op", backward=True, statistics=True):
        program(size).step()
    return program(size).least()


class EmptyMode(TorchDispatchMode):
    """What PyTorch itself costs when a mode of Python's sees every operator."""

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return operator(*args, **(kwargs or {}))


@contextlib.contextmanager
def empty_hooks() -> Iterator[None]:
    """What PyTorch itself costs when every module has hooks."""
    from torch.nn.modules import module

    handles = [
        module.register_module_forward_pre_hook(lambda module, args: None),
        module.register_module_forward_hook(lambda module, args, *rest: None, always_call=True),
    ]
    yield
    for handle in handles:
        handle.remove()


@contextlib.contextmanager
def hashes() -> Iterator[None]:
    from torch.utils._debug_mode import DebugMode

    with DebugMode() as mode, mode.log_tensor_hashes():  # type: ignore[no-untyped-call]
        yield


def debug_mode(size: str) -> float:
    def step() -> None:
        with hashes():
            program(size).step()

    return program(size).least(step)


def msprobe(size: str) -> float:
    """The statistics of msprobe, in a process of its own: it stays in the one that it was in."""
    command = [sys.executable, __file__, "msprobe", size]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(ended.stdout.strip().rsplit("\n", 1)[-1])


def own_msprobe(size: str) -> float:
    from msprobe.pytorch import PrecisionDebugger  # type: ignore[import-not-found]

    config = SCRATCH / "config.json"
    facts = {"task": "statistics", "dump_path": str(SCRATCH / "msprobe"), "rank": [], "step": [], "level": "L1"}
    config.write_text(json.dumps({**facts, "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}))
    debugger = PrecisionDebugger(config_path=str(config))

    def step() -> None:
        debugger.start(model=program(size).net)
        program(size).step()
        debugger.stop()
        debugger.step()

    return program(size).least(step)


@functools.cache
def served_here() -> Any:
    """What lets debuggers attach to this process."""
    from opscope.torch._served import Served

    return Served(evaluates=False)


@contextlib.contextmanager
def debugger(breakpoints: int) -> Iterator[None]:
    """A debugger that is attached, with breakpoints on modules that do not exist."""
    served, module = served_here(), torch.nn.Linear(1, 1)
    command = [sys.executable, "-m", "opscope", "debug", "--attach", str(os.getpid()), "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin is not None and client.stdout is not None
        client.stdin.write("".join(f"break no.module.{number}\n" for number in range(breakpoints)) + "echo ready\n")
        client.stdin.flush()
        while client.stdout.readline() != "ready\n":
            pass
        # Modules are where the program notices.
        while served.session is None or served.session.is_attached != (breakpoints > 0):
            module(torch.ones(1))
        yield
        client.stdin.close()
        while served.session is not None:
            module(torch.ones(1))


SERVED = """
import os, sys, time, torch
net = torch.nn.Linear(2, 2)
print(flush=True)
while os.getppid() == int(sys.argv[1]):
    net(torch.ones(2))
    time.sleep(0.001)
"""


@functools.cache
def served() -> int:
    """The number of a process that can be attached to, and ends with this one."""
    command = [sys.executable, "-c", SERVED, str(os.getpid())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OPSCOPE_TORCH": "serve"})
    assert process.stdout is not None
    process.stdout.readline()
    return process.pid


def command(words: list[str]) -> float:
    """How long a command of ours takes, from its start to its end."""
    begin = time.perf_counter_ns()
    subprocess.run([sys.executable, "-m", "opscope", *words], check=True, capture_output=True)
    return time.perf_counter_ns() - begin


BOOT = """
import time
begin = time.perf_counter_ns()
from importlib.metadata import entry_points
for point in entry_points(group="torch.backends"):
    point.load()()
print(time.perf_counter_ns() - begin)
"""


def boot(with_package: bool) -> float:
    """What torch does at the end of its import, in a new process."""
    package = Path(ot.__file__).parents[2]
    place = SCRATCH / ("with" if with_package else "without")
    if not place.exists():
        place.mkdir()
        if with_package:
            shutil.copytree(package / "opscope", place / "opscope")
            # As installers do.
            compileall.compile_dir(place, quiet=1)
            for facts in package.glob("opscope-*.dist-info"):
                (place / facts.name).symlink_to(facts)
    command = [sys.executable, "-S", "-c", BOOT]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def answer(name: str) -> float:
    what, size = name.split()
    match what:
        case "none":
            return program(size).least()
        case "detached":
            return detached(size)
        case "modules":
            return within(size, ot.dump(fresh(), statistics=True))
        case "operators":
            return within(size, ot.dump(fresh(), level="op", backward=True, statistics=True))
        case "watch":
            return within(size, ot.watch())
        case "profile":
            return within(size, ot.profile(fresh()))
        case "mode":
            return within(size, EmptyMode())  # type: ignore[no-untyped-call]
        case "hooks":
            return within(size, empty_hooks())
        case "debugmode":
            return debug_mode(size)
        case "msprobe":
            return msprobe(size)
        case "debugger":
            return within(size, debugger(0))
        case "breakpoints":
            return within(size, debugger(100))
        case "command" if size == "attach":
            return command(["debug", "--attach", str(served()), "--batch", "-ex", "detach"])
        case "command":
            return command(["--version"])
        case "boot":
            return boot(size == "with")
    raise ValueError(name)


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["msprobe"]:
            print(own_msprobe(sys.argv[2]))
        else:
            for line in sys.stdin:
                print(answer(line.strip()), flush=True)
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
