"""Programs that run already: debuggers and dumps attach to them, and leave them as they were."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

# Trains until it is told to end. Every loss is written, as bits, with whether a mode or a hook is there then.
LOOP = """
import os, struct, sys, time, torch
from torch import nn
from torch.nn.modules import module
torch.manual_seed(0)
torch.set_num_threads(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
data = torch.randn(64, 4, 8)
losses = open("losses", "w", buffering=1)
step = 0
while not os.path.exists("end"):
    scale = float(open("scale").read()) if os.path.exists("scale") else 1.0
    optimizer.zero_grad()
    loss = (net(data[step % 64]) * scale).square().mean()
    loss.backward()
    optimizer.step()
    watched = torch._C._len_torch_dispatch_stack() + len(module._global_forward_pre_hooks) + len(module._global_forward_hooks)
    losses.write(f"{step} {struct.pack('f', loss.item()).hex()} {watched}\\n")
    step += 1
    time.sleep(0.002)
print("ended by itself")
"""


def hears_ctrl_c():
    """For processes of tests that were started in the background, where SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Running:
    """A program that runs."""

    def __init__(self, place, process):
        self.place, self.process = place, process

    def losses(self):
        lines = (self.place / "losses").read_text().splitlines()
        return [line.split() for line in lines if line.count(" ") == 2]

    def until(self, condition):
        end = time.monotonic() + 100
        while not condition(self.losses()):
            assert self.process.poll() is None and time.monotonic() < end, self.losses()[-3:]
            time.sleep(0.01)

    def is_watched(self):
        """Waits until a whole step was watched."""
        self.until(lambda losses: len(losses) > 3 and all(loss[2] != "0" for loss in losses[-3:]))

    def is_as_before(self):
        """Waits until nothing of ours is there any more."""
        self.until(lambda losses: losses[-1][2] == "0")

    def command(self, *words, **options):
        command = [sys.executable, "-m", "opscope", *words]
        return subprocess.run(command, cwd=self.place, text=True, capture_output=True, timeout=200, **options)

    def debug(self, *words):
        script = [word for command in words for word in ("-ex", command)]
        return self.command("debug", "--attach", str(self.process.pid), "--batch", *script)


@contextmanager
def running(place, program=LOOP, words="serve", python=(sys.executable,), **environment):
    (place / "train.py").write_text(program)
    environment = {**os.environ, "OPSCOPE_TORCH": words, **environment}
    process = subprocess.Popen([*python, "train.py"], cwd=place, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 100
        while not (place / "losses").exists() or not (place / "losses").read_text():
            assert process.poll() is None and time.monotonic() < end, process.communicate()
            time.sleep(0.02)
        yield Running(place, process)
    finally:
        (place / "end").touch()
        if process.poll() is None:
            process.kill()
            process.wait()


def ended(program):
    (program.place / "end").touch()
    out, err = program.process.communicate(timeout=100)
    return program.process.returncode, out, err


def alone(place, steps, python=(sys.executable,), **environment):
    """The losses of the same program, never attached to."""
    place.mkdir()
    limited = LOOP.replace('while not os.path.exists("end"):', f"while step < {steps}:").replace("time.sleep(0.002)", "")
    (place / "train.py").write_text(limited)
    subprocess.run([*python, "train.py"], cwd=place, check=True, capture_output=True, env={**os.environ, **environment})
    return [line.split()[1] for line in (place / "losses").read_text().splitlines()]


def test_a_debugger_looks_and_goes_and_the_program_computes_the_same_as_without(tmp_path):
    with running(tmp_path) as program:
        assert program.losses()[0][2] == "0", "nothing is watched before"
        for _ in range(3):
            looked = program.debug("break first/aten.addmm.default", "continue", "info inputs", "print output[0]", "finish", "print output[0]", "detach")
            assert looked.returncode == 0 or "output[0]" in looked.stderr, looked.stdout + looked.stderr
            assert re.search(r"before #\d+ first/aten.addmm.default", looked.stdout), looked.stdout + looked.stderr
            program.is_as_before()
        code, out, err = ended(program)
        assert (code, out, err) == (0, "ended by itself\n", "")
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses))


@pytest.mark.parametrize("level", ["module", "op"])
def test_a_dump_of_two_steps_of_a_program_that_runs_is_complete_and_gone_afterwards(tmp_path, level):
    with running(tmp_path) as program:
        dumped = program.command("torch", "dump", "--attach", str(program.process.pid), "--steps", "2", "--level", level, "--backward", "--output-dirname", "d")
        assert dumped.returncode == 0, dumped.stdout + dumped.stderr
        program.is_as_before()
        code, out, err = ended(program)
        assert (code, out, err) == (0, "ended by itself\n", "")
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses))
    manifest = json.loads((tmp_path / "out/dump/d/manifest.json").read_text())
    assert manifest["complete"], manifest
    index = [json.loads(line) for line in (tmp_path / "out/dump/d/index.jsonl").read_text().splitlines()]
    assert {line["run"] for line in index} == {0, 1}
    of_run = [sorted((line["operator"], line["slot"]) for line in index if line["run"] == run) for run in (0, 1)]
    assert of_run[0] == of_run[1] and {line["phase"] for line in index} >= {"forward", "backward"}


def test_a_full_disk_ends_an_attached_dump_and_not_the_program(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], check=True)
    try:
        with running(tmp_path) as program:
            words = ["--steps", "30", "--level", "op", "--output", "small", "--output-dirname", "d"]
            dumped = program.command("torch", "dump", "--attach", str(program.process.pid), *words)
            assert dumped.returncode == 3 and "could not be written" in dumped.stderr, dumped
            program.is_as_before()
            assert ended(program) == (0, "ended by itself\n", "")
            losses = [loss for _, loss, _ in program.losses()]
            assert losses == alone(tmp_path / "alone", len(losses))
        index = [json.loads(line) for line in (small / "dump/d/index.jsonl").read_text().splitlines()]
        written = [line for line in index if line["state"] == "complete"]
        assert len(written) > 20 and {line["state"] for line in index} <= {"complete", "partial"}, index[-1]
        for line in written:
            assert list(np.load(small / "dump/d" / line["file"]).shape) == line["shape"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_watch_of_a_program_that_runs_names_what_it_finds_and_the_program_goes_on(tmp_path):
    with running(tmp_path) as program:
        command = [sys.executable, "-m", "opscope", "torch", "watch", "--attach", str(program.process.pid)]
        watch = subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        program.is_watched()
        (tmp_path / "scale.part").write_text("nan")
        (tmp_path / "scale.part").rename(tmp_path / "scale")
        _, told = watch.communicate(timeout=100)
        assert watch.returncode == 1, told
        assert "aten.mul.Tensor" in told and "train.py" in told, told
        program.is_as_before()
        assert ended(program) == (0, "ended by itself\n", "")


def test_a_recording_of_a_program_that_runs_has_the_steps_that_were_asked_for(tmp_path):
    with running(tmp_path) as program:
        recorded = program.command("torch", "profile", "--attach", str(program.process.pid), "--steps", "3", "--output-dirname", "p")
        assert recorded.returncode == 0 and "3 steps" in recorded.stderr, recorded.stderr
        program.is_as_before()
        assert ended(program)[0] == 0


def test_ctrl_c_ends_what_was_attached_and_not_the_program(tmp_path):
    with running(tmp_path) as program:
        command = [sys.executable, "-m", "opscope", "torch", "dump", "--attach", str(program.process.pid), "--steps", "1000000", "--output-dirname", "d"]
        dump = subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hears_ctrl_c)
        program.is_watched()
        dump.send_signal(signal.SIGINT)
        _, told = dump.communicate(timeout=100)
        assert dump.returncode == 0 and "it ends at the next call" in told, told
        program.is_as_before()
        assert ended(program) == (0, "ended by itself\n", "")
    assert (tmp_path / "out/dump/d/manifest.json").exists()


def test_a_debugger_that_wants_nothing_has_no_hooks_in_the_program(tmp_path):
    with running(tmp_path) as program:
        command = [sys.executable, "-m", "opscope", "debug", "--attach", str(program.process.pid)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as debugger:

            def says(words, told):
                debugger.stdin.write(f"{words}\n")
                debugger.stdin.flush()
                while told not in (line := debugger.stdout.readline()):
                    assert line, told
                return line

            for _ in range(3):
                says("echo ready", "ready")
                steps = len(program.losses())
                program.until(lambda losses: len(losses) > steps + 20)
                assert {watched for _, _, watched in program.losses()[steps + 2 : steps + 20]} == {"0"}
                # A breakpoint that no operator meets.
                says("break no.such.module", "Breakpoint")
                program.is_watched()
                says("delete", "deleted")
                program.is_as_before()
            # It stops by a pause, too.
            says("pause", "before #0")
            debugger.stdin.write("detach\n")
            debugger.stdin.close()
            debugger.stdout.read()
        assert ended(program) == (0, "ended by itself\n", "")
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses))


def test_a_debugger_that_is_killed_leaves_the_program_running(tmp_path):
    with running(tmp_path) as program:
        for _ in range(3):
            command = [sys.executable, "-m", "opscope", "debug", "--attach", str(program.process.pid)]
            debugger = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            debugger.stdin.write("break aten.relu.default\ncontinue\ninfo inputs\n")
            debugger.stdin.flush()
            # It is stopped once the debugger shows what the operator takes.
            for line in debugger.stdout:
                if "input[0]" in line:
                    break
            debugger.kill()
            debugger.communicate()
            program.is_as_before()
        code, out, err = ended(program)
        assert (code, out) == (0, "ended by itself\n")
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses))


def test_a_process_that_was_forked_is_attached_to_by_its_own_number(tmp_path):
    program = "import os, time\nimport torch\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n    os._exit(0)\nopen('child', 'w').write(str(os.getpid()))\n" + LOOP.replace(
        'print("ended by itself")', "os._exit(0)"
    )
    with running(tmp_path, program) as parent:
        child = (tmp_path / "child").read_text()
        dumped = parent.command("torch", "dump", "--attach", child, "--output-dirname", "d")
        assert dumped.returncode == 0, dumped.stderr
        ended(parent)


def test_a_fork_while_a_dump_is_attached_leaves_both_processes_as_they_were(tmp_path):
    fork = """
    if os.path.exists("fork"):
        os.remove("fork")
        if os.fork() == 0:
            with torch.no_grad():
                for _ in range(3):
                    net(data[0])
            there = torch._C._len_torch_dispatch_stack() + len(module._global_forward_pre_hooks) + len(module._global_forward_hooks)
            open("forked.part", "w").write(str(there))
            os.rename("forked.part", "forked")
            os._exit(0)
        os.wait()
"""
    program = LOOP.replace("    time.sleep(0.002)\n", "    time.sleep(0.002)\n" + fork.lstrip("\n"))
    with running(tmp_path, program) as program:
        command = [sys.executable, "-m", "opscope", "torch", "dump", "--attach", str(program.process.pid), "--steps", "1000000", "--output-dirname", "d"]
        dump = subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hears_ctrl_c)
        program.is_watched()
        (tmp_path / "fork").touch()
        program.until(lambda losses: (tmp_path / "forked").exists())
        assert (tmp_path / "forked").read_text() == "0", "nothing is watched in the child"
        dump.send_signal(signal.SIGINT)
        _, told = dump.communicate(timeout=100)
        assert dump.returncode == 0, told
        program.is_as_before()
        assert ended(program) == (0, "ended by itself\n", "")
    assert json.loads((tmp_path / "out/dump/d/manifest.json").read_text())["complete"]


# Two threads train beside the main thread, each a network of its own, as long as `goes_on` says.
THREADS = """
import threading
nets = [Net() for _ in range(2)]
def work(number):
    net, step = nets[number - 1], 0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with open(f"losses{number}", "w", buffering=1) as losses:
        while goes_on(number, step):
            optimizer.zero_grad()
            loss = net(data[step % 64]).square().mean()
            loss.backward()
            optimizer.step()
            losses.write(f"{step} {struct.pack('f', loss.item()).hex()} 0\\n")
            step += 1
            time.sleep(0.001)
threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
for thread in threads: thread.start()
"""


def test_a_program_that_trains_on_several_threads_is_attached_to_and_left(tmp_path):
    threads = LOOP.replace("losses = open(", THREADS + "losses = open(", 1).replace('while not os.path.exists("end"):', "while goes_on(0, step):")
    threads = threads.replace('print("ended', 'for thread in threads: thread.join()\nprint("ended')
    with running(tmp_path, 'goes_on = lambda number, step: not os.path.exists("end")\n' + threads) as program:
        for level in ("op", "module"):
            dumped = program.command("torch", "dump", "--attach", str(program.process.pid), "--steps", "3", "--level", level, "--output-dirname", level)
            assert dumped.returncode in (0, 3), dumped.stderr
            program.is_as_before()
        looked = program.debug("break aten.relu.default", "continue", "print input[0]", "detach")
        assert looked.returncode == 0, looked.stderr
        program.is_as_before()
        assert ended(program) == (0, "ended by itself\n", "")
    names = ["losses", "losses1", "losses2"]
    found = [(tmp_path / name).read_text().splitlines() for name in names]
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "train.py").write_text(f"goes_on = lambda number, step: step < {list(map(len, found))}[number]\n{threads}")
    subprocess.run([sys.executable, "train.py"], cwd=alone, check=True, stdout=subprocess.DEVNULL)
    for name, lines in zip(names, found):
        assert [line.split()[:2] for line in lines] == [line.split()[:2] for line in (alone / name).read_text().splitlines()], name


RANKS = """
import datetime, os, sys, torch, torch.distributed as dist
rank = int(sys.argv[1])
os.environ.update(RANK=str(rank), WORLD_SIZE="2")
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2, timeout=datetime.timedelta(seconds=20))
net = torch.nn.Linear(2, 2)
losses = open(f"losses.{rank}", "w", buffering=1)
over = torch.zeros(1)
while over.item() == 0:
    dist.all_reduce(net(torch.ones(2)))
    over = torch.tensor([float(os.path.exists("end"))])
    dist.all_reduce(over, dist.ReduceOp.MAX)
    print("step", file=losses)
dist.destroy_process_group()
"""


@contextmanager
def started(place, *commands):
    """Processes, each with all that it starts. They are gone in the end."""
    processes = [
        subprocess.Popen(
            [sys.executable, *command],
            cwd=place,
            env={**os.environ, "OPSCOPE_TORCH": "serve"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for command in commands
    ]
    try:
        yield processes
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def steps_of_ranks(place):
    files = [place / f"losses.{rank}" for rank in range(2)]
    return min(len(file.read_text().splitlines()) if file.exists() else 0 for file in files)


def until(condition, processes):
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        for process in processes:
            assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_a_rank_is_not_stopped_until_the_collectives_of_the_others_time_out(tmp_path):
    (tmp_path / "train.py").write_text(RANKS)
    with started(tmp_path, ["train.py", "0"], ["train.py", "1"]) as ranks:
        until(lambda: steps_of_ranks(tmp_path) > 3, ranks)
        command = [sys.executable, "-m", "opscope", "debug", "--attach", str(ranks[0].pid), "--quiet"]
        with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as debugger:
            debugger.stdin.write("pause\n")
            debugger.stdin.flush()
            while "before" not in debugger.stdout.readline():
                assert debugger.poll() is None
            stopped = steps_of_ranks(tmp_path)
            # It goes on before the twenty seconds of the group are over.
            until(lambda: steps_of_ranks(tmp_path) > stopped + 2, ranks)
            debugger.stdin.write("print input[0]\n")
            debugger.stdin.close()
            assert "the program lets no run stop for longer" in debugger.stderr.read()
        (tmp_path / "end").touch()
        ended = [rank.communicate(timeout=100)[1] for rank in ranks]
        assert [rank.returncode for rank in ranks] == [0, 0], ended
        assert "the program lets no run stop for longer; its thread continues" in ended[0] and "opscope" not in ended[1], ended


# As torchrun does: it starts the ranks, and tells each its number.
LAUNCH = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, "train.py", str(rank)], env={**os.environ, "RANK": str(rank)}) for rank in (1, 0)]
print(*(rank.pid for rank in ranks), flush=True)
sys.exit(sum(rank.wait() for rank in ranks))
"""


@pytest.mark.parametrize("by_launcher", [False, True])
def test_ranks_are_debugged_at_one_prompt(tmp_path, by_launcher):
    (tmp_path / "train.py").write_text(RANKS.replace("seconds=20", "seconds=200"))
    (tmp_path / "launch.py").write_text(LAUNCH)
    with started(tmp_path, ["launch.py"]) as [launcher]:
        pids = launcher.stdout.readline().split()
        until(lambda: steps_of_ranks(tmp_path) > 3, [launcher])
        # At first, one may stop before the other one has come to where debuggers are attached, and then the other one waits for it.
        commands = ["all break aten.addmm.default", *["all continue"] * 5, "rank 1", "print input[0]", "rank", "all continue", "-rank 7", "rank 0", "backtrace", "all delete"]
        command = [sys.executable, "-m", "opscope", "debug", "--attach", str(launcher.pid) if by_launcher else ",".join(pids), "--batch"]
        script = [word for one in [*commands, "all detach"] for word in ("-ex", one)]
        debugged = subprocess.run([*command, *script], text=True, capture_output=True, timeout=200)
        assert debugged.returncode == 0, debugged.stdout + debugged.stderr
        for rank in (0, 1):
            stops = re.findall(rf"^rank {rank}: Breakpoint 1, before #\d+ Linear/aten.addmm.default .*run (\d+)$", debugged.stdout, re.MULTILINE)
            assert len(stops) >= 2 and int(stops[-1]) == int(stops[-2]) + 1, debugged.stdout
        assert re.search(r"^rank 1: input\[0\]", debugged.stdout, re.MULTILINE), debugged.stdout
        assert re.search(rf"^\* rank 1  process {pids[0]}  stopped$", debugged.stdout, re.MULTILINE), debugged.stdout
        assert "there is no rank 7" in debugged.stderr
        before = steps_of_ranks(tmp_path)
        until(lambda: steps_of_ranks(tmp_path) > before + 20, [launcher])
        (tmp_path / "end").touch()
        _, err = launcher.communicate(timeout=100)
        assert launcher.returncode == 0, err


def test_expressions_see_the_stopped_call_and_only_if_the_program_was_started_so(tmp_path):
    stop = ["break second/aten.addmm.default", "continue"]
    with running(tmp_path, words="serve,eval") as program:
        # The program's own modules are called on the thread that is stopped in one of them.
        looked = program.debug(*stop, "py (type(self).__name__, tuple(x.shape))", "py self.first(x).shape[1] + 1", "-py nonsense", "-py x[99]", "py net is self", "detach")
        assert looked.returncode == 0, looked.stdout + looked.stderr
        assert "\n('Net', (4, 8))\n17\nTrue\n" in looked.stdout, looked.stdout
        assert "NameError: name 'nonsense' is not defined" in looked.stderr, looked.stderr
        assert "IndexError: " in looked.stderr, looked.stderr
        program.is_as_before()
        code, out, err = ended(program)
        assert (code, out, err) == (0, "ended by itself\n", "")
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses))
    (tmp_path / "plain").mkdir()
    with running(tmp_path / "plain") as program:
        refused = program.debug(*stop, "py 1 + 1")
        assert refused.returncode != 0 and "start it with OPSCOPE_TORCH=serve,eval" in refused.stderr, refused.stderr
        assert ended(program)[0] == 0


def test_what_cannot_be_attached_to_is_said(tmp_path):
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as plain:
        plain.stdout.readline()
        told = Running(tmp_path, plain).command("torch", "dump", "--attach", str(plain.pid))
        plain.stdin.close()
    assert told.returncode == 1 and str(plain.pid) in told.stderr, told.stderr
    told = Running(tmp_path, plain).command("torch", "dump", "--attach", "1", "--", "python", "train.py")
    assert told.returncode == 2 and "one is given after --" in told.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif("OPSCOPE_TEST_TORCH_314" not in os.environ, reason="OPSCOPE_TEST_TORCH_314 names no CPython 3.14 with PyTorch")
def test_a_program_that_was_not_prepared_is_attached_to_and_computes_the_same(tmp_path):
    # Its environment has PyTorch, and not this package.
    python, packages = os.environ["OPSCOPE_TEST_TORCH_314"].split(":", 1)
    with running(tmp_path, words="", python=[python], PYTHONPATH=packages) as program:
        for _ in range(3):
            looked = program.debug("break second/aten.addmm.default", "continue", "finish", "print output[0]", "backtrace", "-py 1 + 1", "detach")
            assert "second/aten.addmm.default" in looked.stdout and "in forward" in looked.stdout, looked.stdout + looked.stderr
            assert "this program evaluates nothing" in looked.stderr, looked.stderr
            program.is_as_before()
        dumped = program.command("torch", "dump", "--attach", str(program.process.pid), "--output-dirname", "a", "--steps", "2")
        assert dumped.returncode == 0 and dumped.stderr.endswith(", complete\n"), dumped.stderr
        program.is_as_before()
        code, out, err = ended(program)
        assert (code, out) == (0, "ended by itself\n") and "Traceback" not in err and "opscope:" not in err, err
        losses = [loss for _, loss, _ in program.losses()]
        assert losses == alone(tmp_path / "alone", len(losses), [python], PYTHONPATH=packages)


def test_other_words_in_the_variable_are_said_and_the_program_runs(tmp_path):
    with running(tmp_path, words="sever") as program:
        code, out, err = ended(program)
    assert (code, out) == (0, "ended by itself\n")
    assert err == "opscope: this program is not watched: ValueError: OPSCOPE_TORCH is serve or serve,eval, not 'sever'\n"
