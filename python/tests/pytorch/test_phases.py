"""A debugger stops a program in every part of a step: forward, backward, what is computed again, the optimizer, compiled code."""

import re
import subprocess
import sys

import pytest
from test_debug import bits, debug
from test_program import opscope

# A part of it is computed again in the backward pass. Prints every loss as bits.
PROGRAM = """
import struct, torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)
    def forward(self, x):
        u = self.up(x)
        h = torch.tanh(u)
        return self.down(h)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Block(), Block()
    def forward(self, x):
        return self.b(checkpoint(self.a, x, use_reentrant=False))

torch.manual_seed(0)
net = Net()
call = net
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
x = torch.randn(3, 4)
in_backward = False
for step in range(4):
    optimizer.zero_grad()
    loss = call(x).square().mean()
    in_backward = True
    loss.backward()
    in_backward = False
    optimizer.step()
    print(struct.pack("f", loss.item()).hex())
"""

# A breakpoint of each part of a step, and where it stops first.
PARTS = {
    "forward": ("b/aten.tanh.default", "b/aten.tanh.default"),
    "backward": ("aten.tanh_backward.default", "b/backward/aten.tanh_backward.default"),
    "recompute": ("a/recompute/aten.tanh.default", "a/recompute/aten.tanh.default"),
    "optimizer": ("aten.add_.Tensor", "SGD/optimizer/aten.add_.Tensor"),
}


def compiled(backend):
    return PROGRAM.replace("call = net\n", f"call = torch.compile(net, backend={backend!r})\n")


def losses(place, program):
    (place / "plain.py").write_text(program)
    ended = subprocess.run([sys.executable, "plain.py"], cwd=place, text=True, capture_output=True, check=True)
    found = bits(ended.stdout)
    assert len(found) == 4
    return found


@pytest.mark.parametrize("program", [PROGRAM, compiled("inductor"), compiled("eager")], ids=["written", "inductor", "eager"])
def test_each_part_of_a_step_is_stopped_in_and_the_program_computes_the_same(tmp_path, program):
    commands = [command for target, _ in PARTS.values() for command in (f"tbreak {target}", "continue", "backtrace")]
    ended = debug(tmp_path, *commands, "continue", program=program)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stops = re.findall(r"^Breakpoint \d, before #\d+ (\S+) \(\S+\), run (\d)$", ended.stdout, re.MULTILINE)
    first_step = ["forward", "backward", "recompute", "optimizer"]
    assert stops == [(PARTS[part][1], "0") for part in first_step], ended.stdout
    # Where the program's own code is, at each of them.
    code = re.findall(r"^in the program\n(?:.*\n)*?.*in <module> +(.*)$", ended.stdout, re.MULTILINE)
    assert code == ["loss = call(x).square().mean()", "loss.backward()", "loss.backward()", "optimizer.step()"], ended.stdout
    assert bits(ended.stdout) == losses(tmp_path, PROGRAM)


def test_a_graph_that_was_captured_is_stopped_in_operator_by_operator(tmp_path):
    program = compiled("eager").replace("checkpoint(self.a, x, use_reentrant=False)", "self.a(x)")
    targets = ["b/aten.tanh.default", "b/backward/aten.tanh_backward.default", "SGD/optimizer/aten.add_.Tensor"]
    script = [word for target in targets for command in (f"tbreak {target}", "continue") for word in ("-ex", command)]
    ended = opscope(tmp_path, "debug", "--batch", "--compiled", "interpret", *script, "-ex", "continue", program=program)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.findall(r"^Breakpoint \d, before #\d+ (\S+) ", ended.stdout, re.MULTILINE) == targets
    assert bits(ended.stdout) == losses(tmp_path, program)


@pytest.mark.parametrize(
    "commands, line, change",
    [
        # The gradient of what one block has computed first.
        (
            ["break b/backward/aten.tanh_backward.default after", "continue", "set output[0] = 0"],
            "        h = torch.tanh(u)\n",
            "        if step == 0 and self is net.b: u.register_hook(torch.zeros_like)\n        h = torch.tanh(u)\n",
        ),
        # What the backward pass computes again.
        (
            ["break a/recompute/aten.tanh.default after", "continue", "set output[0][1] = 0"],
            "        h = torch.tanh(u)\n",
            "        h = torch.tanh(u)\n        if step == 0 and in_backward: h.data[1] = 0\n",
        ),
        # The first parameter is not changed in this step.
        (
            ["break aten.add_.Tensor", "continue", "set input[1] = 0"],
            "    optimizer.step()\n",
            "    kept = net.a.up.weight.detach().clone()\n    optimizer.step()\n    if step == 0: net.a.up.weight.data.copy_(kept)\n",
        ),
    ],
    ids=["backward", "recompute", "optimizer"],
)
def test_what_is_changed_there_is_as_if_the_source_had_changed_it(tmp_path, commands, line, change):
    debugged = debug(tmp_path, *commands, "delete", "continue", program=PROGRAM)
    assert debugged.returncode == 0, debugged.stdout + debugged.stderr
    assert line in PROGRAM
    expected = losses(tmp_path, PROGRAM.replace(line, change))
    assert bits(debugged.stdout) == expected != losses(tmp_path, PROGRAM), debugged.stdout
