"""Programs that the command starts, with nothing changed in them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dumps import lines, manifest

NET = """
import sys, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
"""
TRAIN = (
    NET
    + """
for step in range(4):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
"""
)


def opscope(place: Path, *words: str, program: str | list[str] = TRAIN, **environment: str) -> subprocess.CompletedProcess[str]:
    if isinstance(program, str):
        (place / "train.py").write_text(program)
        program = [sys.executable, "train.py"]
    command = [sys.executable, "-m", "opscope", "torch", *words, "--", *program]
    return subprocess.run(command, cwd=place, text=True, capture_output=True, timeout=300, env={**os.environ, **environment})


def test_a_program_is_dumped_and_prints_what_it_prints(tmp_path):
    ended = opscope(tmp_path, "dump", "--output-dirname", "a", "--steps", "1..3", "--level", "op", "--backward")
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, text=True, capture_output=True)
    assert (ended.returncode, ended.stdout) == (0, plain.stdout), ended.stderr
    root = tmp_path / "out/dump/a"
    assert ended.stderr.startswith("opscope: out/dump/a: ") and ended.stderr.endswith(", complete\n")
    found = lines(root)
    assert {line.run for line in found} == {1, 2}
    assert {line.phase for line in found} == {"forward", "backward", "optimizer"}
    relu = next(line for line in found if line.op_type == "aten.relu.default")
    assert relu.source == {"file": str(tmp_path / "train.py"), "line": 10, "code": "return self.second(torch.relu(self.first(x)))"}
    facts = manifest(root)
    assert facts["complete"] and facts["engine"]["name"] == "torch" and facts["model"]["name"] == "train"
    assert facts["coverage"]["modules_called"] == 3 and facts["coverage"]["modules_not_called"] == []


def test_two_runs_are_compared_and_the_first_operator_that_differs_is_named(tmp_path):
    bad = TRAIN.replace("torch.relu(self.first(x))", "torch.relu(self.first(x)) * (1 + 1e-2 * (BAD > 1))")
    bad = bad.replace("loss = net", "BAD = step; loss = net")
    good = bad.replace("BAD = step", "BAD = 0")
    for name, program in [("good", good), ("bad", bad)]:
        ended = opscope(tmp_path, "dump", "--output-dirname", name, "--level", "op", "--backward", program=program)
        assert ended.returncode == 0, ended.stderr
    command = [sys.executable, "-m", "opscope", "compare", "out/dump/bad", "out/dump/good"]
    ended = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert ended.returncode == 4, ended.stdout + ended.stderr
    text = ended.stdout[ended.stdout.index("first to diverge") :]
    assert "'Net/aten.mul.Tensor' (aten.mul.Tensor) (step 2, forward)" in text
    assert "train.py:10  return self.second(torch.relu(self.first(x)) * (1 + 1e-2 * (BAD > 1)))" in text
    assert "its inputs are right: it is this operator" in text
    assert subprocess.run([*command[:-1], "out/dump/bad"], cwd=tmp_path, capture_output=True).returncode == 0


def test_exit_codes_and_signals_of_the_program_stay(tmp_path):
    ended = opscope(tmp_path, "dump", "--output-dirname", "exit", program=TRAIN + "sys.exit(7)")
    assert ended.returncode == 7 and "complete" in ended.stderr and "exit code 7" in ended.stderr
    assert manifest(tmp_path / "out/dump/exit")["complete"]
    ended = opscope(tmp_path, "dump", "--output-dirname", "raise", program=TRAIN + "raise ValueError('wrong')")
    assert ended.returncode == 1 and "ValueError: wrong" in ended.stderr and "NOT complete" in ended.stderr
    assert manifest(tmp_path / "out/dump/raise")["runs"][-1]["failure"].endswith("ValueError: wrong")
    waits = """
import os, time
for _ in range(10000):
    if len(open("out/dump/kill/index.jsonl").readlines()) >= 9: break
    time.sleep(0.01)
os.kill(os.getpid(), 9)
"""
    ended = opscope(tmp_path, "dump", "--output-dirname", "kill", program=TRAIN + waits)
    assert ended.returncode == -signal.SIGKILL and "SIGKILL" in ended.stderr
    facts = manifest(tmp_path / "out/dump/kill")
    assert not facts["complete"] and facts["tensors"] >= 9
    assert "ended before it could close the dump" in facts["errors"][0]


def test_a_signal_reaches_the_program(tmp_path):
    program = TRAIN + "import time; open('ready', 'w').close(); time.sleep(60)"
    (tmp_path / "train.py").write_text(program)
    command = [sys.executable, "-m", "opscope", "torch", "dump", "--output-dirname", "a", "--", sys.executable, "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
        deadline = time.monotonic() + 100
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        errors = child.stderr.read()
    assert child.returncode == -signal.SIGTERM and "NOT complete" in errors
    assert lines(tmp_path / "out/dump/a")


def test_wrong_use_is_refused_before_anything_runs(tmp_path):
    for words, message in [
        (["dump", "--steps", "3..1"], "not a range of steps"),
        (["dump", "--level", "layer"], "invalid choice"),
        (["dump", "--compiled", "interpret"], "--compiled interpret looks at operators; add --level op"),
        (["view"], "invalid choice"),
    ]:
        ended = opscope(tmp_path, *words)
        assert ended.returncode == 2 and message in ended.stderr
    ended = opscope(tmp_path, "dump", program=[])
    assert ended.returncode == 2 and "no program is given" in ended.stderr
    ended = opscope(tmp_path, "dump", program=["./no-such-program"])
    assert ended.returncode == 2 and "could not be started" in ended.stderr
    (tmp_path / "out/dump/mine").mkdir(parents=True)
    (tmp_path / "out/dump/mine/notes.txt").write_text("mine")
    ended = opscope(tmp_path, "dump", "--output-dirname", "mine")
    assert ended.returncode == 2 and "exists" in ended.stderr
    ended = opscope(tmp_path, "dump", "--output-dirname", "mine", "--overwrite")
    assert ended.returncode == 2 and "is neither a dump nor a recording" in ended.stderr


def test_a_dump_is_overwritten_only_when_asked(tmp_path):
    for more, code in [([], 0), ([], 2), (["--overwrite"], 0)]:
        assert opscope(tmp_path, "dump", "--output-dirname", "a", *more).returncode == code


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("print('no torch')", "did not import a torch"),
        ("import torch; torch.ones(3) * 2", "called no module"),
        ("import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'" + TRAIN, "did not import a torch"),
    ],
)
def test_a_program_that_is_not_watched_is_named(tmp_path, program, why):
    ended = opscope(tmp_path, "dump", program=program)
    assert ended.returncode == 3 and "nothing was watched" in ended.stderr and why in ended.stderr


def test_a_selection_that_matches_nothing_is_named(tmp_path):
    ended = opscope(tmp_path, "dump", "--select", "third")
    assert ended.returncode == 3 and "the selection matches nothing" in ended.stderr


def test_an_error_of_ours_does_not_break_the_program(tmp_path):
    (tmp_path / "out").write_text("a file, so that no directory can be made")
    ended = opscope(tmp_path, "dump", "--output-dirname", "a")
    assert "loss" in ended.stdout
    assert ended.returncode == 3 and "could not be watched" in ended.stderr


def test_a_watch_stops_the_program_at_the_first_nan(tmp_path):
    bad = TRAIN.replace("loss.backward()", "(loss * 0).sqrt().backward() if step == 2 else loss.backward()")
    ended = opscope(tmp_path, "watch", program=bad)
    assert ended.returncode == 1 and "loss" not in ended.stdout
    assert "opscope: the first NaN: script/backward/" in ended.stderr and "(step 2, backward)" in ended.stderr
    assert "opscope.NonFinite" in ended.stderr
    ended = opscope(tmp_path, "watch", "--steps", "0..2", program=bad)
    assert ended.returncode == 0 and "no operator computed NaN" in ended.stderr


def test_every_rank_has_a_directory(tmp_path):
    program = NET.replace(
        "torch.manual_seed(0)", "import torch.distributed as dist\ndist.init_process_group('gloo')\ntorch.manual_seed(dist.get_rank())"
    )
    program += "net = nn.parallel.DistributedDataParallel(net)\nnet(x).mean().backward()\ndist.destroy_process_group()\n"
    (tmp_path / "train.py").write_text(program)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    ended = opscope(tmp_path, "dump", "--output-dirname", "a", "--level", "op", program=launch)
    assert ended.returncode == 0, ended.stderr
    for rank in range(2):
        assert f"rank {rank}: out/dump/a/rank-{rank}: " in ended.stderr
        assert any(line.operator == "module.first/aten.addmm.default" for line in lines(tmp_path / f"out/dump/a/rank-{rank}"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_of_the_program_has_a_directory(tmp_path, method):
    program = NET + f"""
def work():
    torch.set_num_threads(1)
    net(x)

if __name__ == "__main__":
    import torch.multiprocessing as mp
    net(x)
    child = mp.get_context("{method}").Process(target=work)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""
    ended = opscope(tmp_path, "dump", "--output-dirname", "a", program=program)
    assert ended.returncode == 0, ended.stderr
    found = sorted((tmp_path / "out/dump").iterdir())
    assert len(found) == 2 and "a-process-" in found[1].name
    assert all(len(lines(root)) == 3 for root in found)


def test_a_process_that_an_exception_ends_is_not_complete(tmp_path):
    program = NET + """
def work():
    net(x)
    raise ValueError("wrong")

if __name__ == "__main__":
    import multiprocessing
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
"""
    ended = opscope(tmp_path, "dump", "--output-dirname", "a", program=program)
    assert ended.returncode == 3 and "ValueError: wrong" in ended.stderr, ended.stderr
    (root,) = (tmp_path / "out/dump").iterdir()
    assert not manifest(root)["complete"] and manifest(root)["runs"][-1]["failure"].endswith("ValueError: wrong")


def test_loaders_are_left_alone(tmp_path):
    program = NET + """
from torch.utils.data import DataLoader, TensorDataset
for (batch,) in DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4, num_workers=1):
    net(batch)
"""
    ended = opscope(tmp_path, "dump", "--output-dirname", "a", program=program)
    assert ended.returncode == 0, ended.stderr
    assert [line.run for line in lines(tmp_path / "out/dump/a") if line.op_type == "Net"] == [0, 1]


def test_importing_torch_without_the_command_asks_for_nothing(tmp_path):
    code = "import torch, sys; print([name for name in sys.modules if name.startswith('opscope')])"
    ended = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, cwd=tmp_path)
    assert json.loads(ended.stdout.replace("'", '"')) == ["opscope", "opscope._torch_boot"]
