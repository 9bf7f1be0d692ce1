"""Programs that a debugger stops: by the command's prompt, by scripts, and by a client that goes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_program import NET, TRAIN, opscope

REPOSITORY = Path(__file__).resolve().parents[3]

# Counts operators that compute tensors or write to them, and prints how many there were.
JUDGE = """
import atexit
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
class Judge(TorchDispatchMode):
    counts = {}
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        gives = [leaf for leaf, slot in zip(result if isinstance(result, tuple) else [result], schema.returns) if not (slot.alias_info and not slot.alias_info.is_write)]
        writes = any(argument.alias_info and argument.alias_info.is_write for argument in schema.arguments)
        has_tensors = writes or any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(gives))
        if has_tensors and func.namespace != "profiler" and not str(func).split(".")[1].startswith(("empty", "new_empty")):
            Judge.counts[str(func)] = Judge.counts.get(str(func), 0) + 1
        return result
    def clear():
        Judge.counts = {}
Judge().__enter__()
atexit.register(lambda: open("judged", "w").write(__import__("json").dumps(Judge.counts)))
"""


def debug(place, *words, program=TRAIN, **environment):
    """Runs a program with commands for its debugger."""
    script = [word for command in words for word in ("-ex", command)]
    return opscope(place, "debug", "--batch", *script, program=program, **environment)


def served(place, program, *words, **environment):
    """Starts a program with a debug server, and returns it with the socket."""
    (place / "train.py").write_text(program)
    socket = place / "debug.sock"
    command = [sys.executable, "-m", "opscope", "torch", "debug", "--debug-server", str(socket), *words, "--", sys.executable, "train.py"]
    started = subprocess.Popen(command, cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
    end = time.monotonic() + 100
    while not socket.exists():
        assert started.poll() is None and time.monotonic() < end, started.communicate()
        time.sleep(0.02)
    return started, socket


def attached(socket, *words, json_lines=False):
    script = [word for command in words for word in ("-ex", command)]
    command = [sys.executable, "-m", "opscope", "debug", "--attach", str(socket), "--batch", *(["--json"] if json_lines else []), *script]
    return subprocess.run(command, text=True, capture_output=True, timeout=200)


def test_a_program_stops_where_it_is_told_and_computes_the_same(tmp_path):
    ended = debug(
        tmp_path,
        "break second/aten.addmm.default",
        "break Net/aten.relu.default after",
        "continue",
        "info inputs",
        "continue",
        "finish",
        "print output[0]",
        "delete 2",
        "continue",
        "delete",
        "continue",
    )
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
    assert plain.stdout in ended.stdout, "it prints what it prints without"
    assert "Breakpoint 1 before second/aten.addmm.default: no operator yet" in ended.stdout
    stops = re.findall(r"^(?:Breakpoint (\d), )?(before|after) #\d+ (\S+) .*run (\d)", ended.stdout, re.MULTILINE)
    assert "Paused before #0 first/aten.addmm.default" in ended.stdout
    assert stops == [
        ("2", "after", "Net/aten.relu.default", "0"),
        ("1", "before", "second/aten.addmm.default", "0"),
        ("", "after", "second/aten.addmm.default", "0"),
        ("1", "before", "second/aten.addmm.default", "1"),
    ], ended.stdout


def test_values_are_those_that_the_program_has(tmp_path):
    program = TRAIN.replace("torch.relu(self.first(x))", "keep(torch.relu(self.first(x)))").replace("class Net", "def keep(x):\n    if not kept: kept.append(x.clone())\n    return x\nkept = []\n\nclass Net")
    program += "print(kept[0].tolist())\n"
    ended = debug(tmp_path, "break Net/aten.relu.default after", "continue", "save output[0] relu.npy", "delete", "continue", program=program)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    import numpy as np

    [kept] = [line for line in ended.stdout.splitlines() if line.startswith("[[")]
    expected = np.array(json.loads(kept), np.float32)
    assert (np.load(tmp_path / "relu.npy") == expected).all()


def test_the_first_infinity_is_caught_with_its_line(tmp_path):
    program = TRAIN.replace("loss.backward()", "loss = loss / (step < 2)\n    loss.backward()")
    ended = debug(tmp_path, "catch inf", "continue", "print output[0]", "delete", "continue", program=program)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "run 2: output[0] script/aten.div.Tensor has 1 infinite" in ended.stdout
    assert re.search(r"train.py:\d+  loss = loss / \(step < 2\)\n", ended.stdout), ended.stdout


# Prints every loss as bits. What the forward pass does in the first step is in `CHANGED`.
CHANGING = (
    NET.replace("        return self.second(torch.relu(self.first(x)))", "        h = torch.relu(self.first(x))\n        y = self.second(h)\n        return y")
    + """
import struct
for step in range(4):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    print(struct.pack("f", loss.item()).hex())
"""
)
H, Y = "        h = torch.relu(self.first(x))\n", "        y = self.second(h)\n"


def in_first_step(line, change):
    """The line of a forward pass, followed by a change of what it has computed."""
    return f"{line}        if step == 0:\n            with torch.no_grad(): {change}\n"


def bits(out):
    return [line for line in out.splitlines() if re.fullmatch("[0-9a-f]{8}", line)]


@pytest.mark.parametrize(
    "commands, line, changed",
    [
        (["break Net/aten.relu.default after", "continue", "set output[0][1] = 0"], H, in_first_step(H, "h.data[1] = 0")),
        # An input is other only for this operator: autograd has what was there, and so has the program.
        (["break second/aten.addmm.default", "continue", "set input[1] = 0"], Y, in_first_step(Y, "y.data.copy_(self.second(torch.zeros_like(h)))")),
        # The weight is transposed.
        (
            ["break second/aten.addmm.default", "continue", "set input[2][:, 1] = 5"],
            Y,
            in_first_step(Y, "w = self.second.weight.clone(); w[1] = 5; y.data.copy_(torch.nn.functional.linear(h, w, self.second.bias))"),
        ),
        # The operator writes to it.
        (
            ["break Net/aten.relu_.default", "continue", "set input[0][0] = 3"],
            H,
            "        h = self.first(x)\n" + in_first_step("", "h.data[0] = 3") + "        h = h.relu_()\n",
        ),
        (["break Net/aten.relu.default", "continue", "save input[0] x.npy", "skip x.npy"], H, in_first_step(H, "h.data.copy_(self.first(x))")),
        # One of a list.
        (
            ["break Net/aten.cat.default", "continue", "set input[1] = 7"],
            H,
            "        h = torch.relu(self.first(x))\n" + in_first_step("        h = torch.cat([h, h, h])\n", "h.data[3:6] = 7"),
        ),
    ],
    ids=["output", "input", "transposed", "written", "skipped", "list"],
)
def test_what_is_changed_is_as_if_the_source_had_changed_it(tmp_path, commands, line, changed):
    in_place = {"written": "        h = self.first(x).relu_()\n", "list": H + "        h = torch.cat([h, h, h])\n"}
    kind = "written" if "relu_.default" in commands[0] else "list" if "cat" in commands[0] else ""
    program = CHANGING.replace(line, in_place.get(kind, line))
    debugged = debug(tmp_path, *commands, "delete", "continue", program=program)
    assert debugged.returncode == 0, debugged.stdout + debugged.stderr
    (tmp_path / "changed.py").write_text(CHANGING.replace(line, changed))
    expected = subprocess.run([sys.executable, "changed.py"], cwd=tmp_path, text=True, capture_output=True, check=True)
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert bits(debugged.stdout) == bits(expected.stdout) != bits(plain.stdout), debugged.stdout
    assert len(bits(expected.stdout)) == 4


def test_what_does_not_fit_changes_nothing(tmp_path):
    script = ["break Net/aten.relu.default", "continue", "save input[0][0] other.npy", "skip other.npy", "delete", "continue"]
    ended = debug(tmp_path, *script, program=CHANGING)
    assert ended.returncode == 0 and "aten.relu.default was not skipped" in ended.stdout + ended.stderr, ended.stdout + ended.stderr
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert bits(ended.stdout) == bits(plain.stdout)
    ended = debug(tmp_path, "break aten.relu.default", "continue", "set input[0] = other.npy")
    assert ended.returncode == 1 and "and float32 [8] was given" in ended.stderr, ended.stderr


# A module in a module in a module.
DEEP = (
    """
import torch
from torch import nn

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        h = self.a(x)
        return self.b(torch.tanh(h))

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        y = self.inner(x)
        return torch.sigmoid(y)

net = nn.Sequential(Outer(), nn.ReLU())

def train():
    for step in range(2):
        net(torch.ones(2, 4))

train()
"""
)


def test_modules_around_an_operator_are_chosen_left_and_stepped_over(tmp_path):
    commands = ["backtrace", "up", "up", "finish", "tbreak 0.inner.a", "continue", "next", "next", "up", "down", "-down", "-up 9"]
    ended = debug(tmp_path, *commands, program=DEEP)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stops = re.findall(r"^(?:Breakpoint \d, |Paused )?before #\d+ (\S+)\.default .*run (\d)$", ended.stdout, re.MULTILINE)
    assert stops == [
        ("0.inner.a/aten.addmm", "0"),
        # Out of 0.inner, which is the second module around it.
        ("0/aten.sigmoid", "0"),
        ("0.inner.a/aten.addmm", "1"),
        ("0.inner/aten.tanh", "1"),
        # Past the operators of 0.inner.b.
        ("0/aten.sigmoid", "1"),
    ], ended.stdout
    lines = [line.strip() for line in ended.stdout.splitlines()]
    modules = lines.index("in the modules")
    assert [line.split() for line in lines[modules + 1 : modules + 4]] == [
        ["0.inner.a", "torch.nn.modules.linear.Linear"],
        ["0.inner", "__main__.Inner"],
        ["0", "__main__.Outer"],
    ], ended.stdout
    code = lines.index("in the program")
    assert [" ".join(line.split()[1:]) for line in lines[code + 1 : code + 5]] == [
        "in forward h = self.a(x)",
        "in forward y = self.inner(x)",
        "in train net(torch.ones(2, 4))",
        "in <module> train()",
    ], ended.stdout
    chosen = [line for line in lines if re.fullmatch(r"in \S+ \(\S+\)", line)]
    assert chosen == ["in 0.inner.a (torch.nn.modules.linear.Linear)", "in 0.inner (__main__.Inner)", "in 0 (__main__.Outer)"]
    assert "nothing is inside of it" in ended.stderr and "only 1 module is around this" in ended.stderr, ended.stderr


def test_an_abort_is_an_exception(tmp_path):
    ended = debug(tmp_path, "break aten.relu.default", "continue", "abort enough of it")
    assert ended.returncode == 1
    assert "opscope.DebugError: the debugger ended the run: enough of it" in ended.stderr.replace("_errors", ""), ended.stderr
    assert "return self.second(torch.relu(self.first(x)))" in ended.stderr, "the traceback has the line"


OTHERS = """
import threading, time
def tick():
    with open("ticks", "w", buffering=1) as ticks:
        while True:
            print("tick", file=ticks)
            time.sleep(0.005)
threading.Thread(target=tick, daemon=True).start()
"""


def test_other_threads_go_on_while_one_is_stopped(tmp_path):
    started, socket = served(tmp_path, OTHERS + TRAIN, OPSCOPE_DEBUG_WAIT="100")
    command = [sys.executable, "-m", "opscope", "debug", "--attach", str(socket)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        client.stdin.write("break aten.relu.default\ncontinue\n")
        client.stdin.flush()
        patience = threading.Timer(100, client.kill)
        patience.start()
        while "before #" not in (line := client.stdout.readline()):
            assert line, "the debugger ended"
        patience.cancel()
        ticks = tmp_path / "ticks"
        more = len(ticks.read_text().splitlines()) + 100
        end = time.monotonic() + 100
        while len(ticks.read_text().splitlines()) < more:
            assert time.monotonic() < end, "the other thread stands still"
            time.sleep(0.02)
        client.communicate("delete\ncontinue\nquit\n", timeout=100)
    stdout, stderr = started.communicate(timeout=100)
    assert started.returncode == 0 and stdout.startswith("loss"), stderr


def test_a_program_goes_on_when_its_debugger_is_killed(tmp_path):
    started, socket = served(tmp_path, TRAIN, OPSCOPE_DEBUG_WAIT="100")
    client = subprocess.Popen(
        [sys.executable, "-m", "opscope", "debug", "--attach", str(socket), "-ex", "break aten.addmm.default", "-ex", "continue"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    end = threading.Timer(60, client.kill)
    end.start()
    for line in client.stdout:
        if "before #" in line:
            break
    end.cancel()
    time.sleep(0.5)
    assert started.poll() is None, "it is stopped"
    client.send_signal(signal.SIGKILL)
    client.communicate()
    stdout, stderr = started.communicate(timeout=100)
    assert started.returncode == 0 and stdout.startswith("loss"), stderr
    assert "'opscope debug' is detached" in stderr or "opscope debug is detached" in stderr, stderr


def test_a_program_that_no_one_debugs_ends_as_it_does(tmp_path):
    socket = tmp_path / "debug.sock"
    ended = opscope(tmp_path, "debug", "--debug-server", str(socket))
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True)
    assert (ended.returncode, ended.stdout) == (0, plain.stdout)
    assert ended.stderr == f"opscope: attach with: opscope debug --attach {socket}\n"
    # The second process of a program has a socket of its own.
    forks = TRAIN + "import os\nif os.fork() == 0:\n    net(x)\n    os._exit(0)\nos.wait()\n"
    ended = opscope(tmp_path, "debug", "--debug-server", str(socket), program=forks)
    first, second, *rest = ended.stderr.splitlines()
    assert first.endswith(str(socket)) and second.startswith("opscope: attach with: opscope debug --attach ")
    assert second.split()[-1].isdecimal(), ended.stderr
    ended = opscope(tmp_path, "debug", "--batch", "-ex", "info runs", program="print(1)\n")
    assert ended.returncode == 3 and "nothing was watched" in ended.stderr


def test_a_debugger_of_cudas_sees_every_operator(tmp_path):
    library = os.environ.get("OPSCOPE_TEST_LIBRARIES")
    if library is None:
        pytest.skip("OPSCOPE_TEST_LIBRARIES is not the directory of libcudadebugger.so.1")
    sources = REPOSITORY / "abi/cudbg"
    words = ["cc", "-std=gnu11", "-I", str(sources / "include"), str(sources / "tests/c/dispatches.c"), "-L", library]
    subprocess.run([*words, "-l:libcudadebugger.so.1", "-lpthread", "-o", "client"], cwd=tmp_path, check=True)
    training = TRAIN[len(NET) :]
    # The judge counts from the first call of a module on, as the program is watched.
    program = NET + JUDGE + training.replace("loss = net", "Judge.clear() if step == 0 else None; loss = net")
    started, socket = served(tmp_path, program, OPSCOPE_DEBUG_WAIT="100")
    client = subprocess.run(
        ["./client"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=200,
        env={**os.environ, "LD_LIBRARY_PATH": library, "OPSCOPE_DEBUG_TARGET": str(socket)},
    )
    stdout, stderr = started.communicate(timeout=100)
    assert started.returncode == 0 and client.returncode == 0, stderr + client.stderr
    judged = json.loads((tmp_path / "judged").read_text())
    lines = client.stdout.splitlines()
    assert sum(judged.values()) == sum(line.startswith("ready ") for line in lines) == sum(line.startswith("finished ") for line in lines)
