"""What could go unseen: it is captured, or named, and then the dump is not complete."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from dumps import executions, lines, manifest
from judge import copied
from nets import NETS
from torch import nn

import opscope.torch as ot


class Direct(nn.Module):
    """Calls the forward of a layer, and not the layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer.forward(x) + 1


def test_a_forward_without_a_call(tmp_path):
    network, x = Direct(), torch.ones(2, 4)
    with ot.dump(tmp_path / "module") as result:
        network(x)
    assert not result.complete and "layer has parameters and was never called" in result.errors[0]
    with ot.dump(tmp_path / "op", level="op") as result:
        network(x)
    assert result.complete
    assert [line.operator for line in lines(tmp_path / "op")] == ["Direct/aten.addmm.default", "Direct/aten.add.Tensor"]
    assert manifest(tmp_path / "op")["coverage"]["read_without_call"] == ["layer"]


@pytest.mark.parametrize("before", [True, False])
def test_a_compiled_module(tmp_path, before):
    network, inputs = NETS["shared"]()
    compiled = torch.compile(network, backend="eager")
    if before:
        compiled(*inputs)
    with ot.dump(tmp_path / "eager", level="op") as result:
        compiled(*inputs)
    assert result.complete
    names = [line.op_type for line in lines(tmp_path / "eager")]
    assert names == ["aten.addmm.default", "aten.tanh.default", "aten.addmm.default"]
    with ot.dump(tmp_path / "outside", compiled="outside") as result:
        compiled(*inputs)
    assert not result.complete and any("compiled by torch.compile" in error for error in result.errors)


def test_an_exception_in_a_forward_pass(tmp_path):
    class Raises(nn.Module):
        def forward(self, x):
            raise ValueError("planted")

    class Catches(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = Raises(), nn.Linear(4, 4)

        def forward(self, x):
            try:
                self.bad(x)
            except ValueError:
                pass
            return self.good(x)

    network = Catches()
    with ot.dump(tmp_path / "dump") as result:
        network(torch.ones(1, 4))
    assert not result.complete and "bad ended by an exception" in result.errors[0]
    assert [line.operator for line in lines(tmp_path / "dump")] == ["good", "Catches"]
    with pytest.raises(ValueError), ot.dump(tmp_path / "ends") as result:
        Raises()(torch.ones(1))
    assert not result.complete
    assert manifest(tmp_path / "ends")["runs"] == [] or manifest(tmp_path / "ends")["runs"][0]["failure"]


def test_operators_of_another_library(tmp_path):
    library = torch.library.Library("opscope_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.define("grow(Tensor(a!) x) -> ()")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("grow", lambda x: x.add_(1) and None if x.numel() == 1 else None, "CPU")
    with ot.dump(tmp_path / "dump", level="op") as result:
        x = torch.ones(1)
        y = torch.ops.opscope_test.twice(x)
        torch.ops.opscope_test.grow(y)
    assert result.complete
    found = [(line.op_type, line.array().tolist()) for line in lines(tmp_path / "dump")]
    assert found[-2:] == [("opscope_test.twice.default", [2.0]), ("opscope_test.grow.default", [3.0])]


@pytest.mark.filterwarnings("ignore")
def test_odd_tensors_are_named(tmp_path):
    with ot.dump(tmp_path / "dump", level="op") as result:
        torch.ones(3).to_sparse() * 2
        torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
        torch.ones(3, device="meta") + 1
    assert not result.complete
    reasons = {entry["operator"]: entry["reason"] for entry in manifest(tmp_path / "dump")["missing"]}
    assert "layout sparse_coo" in next(reason for name, reason in reasons.items() if "sparse" in name)
    assert "type qint8" in reasons["script/aten.quantize_per_tensor.default"]
    assert "on meta" in reasons["script/aten.add.Tensor"]


def test_a_subclass_shows_the_operators_that_it_runs(tmp_path):
    from torch.testing._internal.two_tensor import TwoTensor

    with ot.dump(tmp_path / "dump", level="op") as result:
        both = TwoTensor(torch.ones(2), torch.zeros(2))
        both + 1
    assert result.complete
    found = [(line.op_type, line.array().tolist()) for line in lines(tmp_path / "dump") if "add" in line.op_type]
    assert found == [("aten.add.Tensor", [2.0, 2.0]), ("aten.add.Tensor", [1.0, 1.0])]


def test_a_fork_writes_nothing(tmp_path):
    network, inputs = NETS["shared"]()
    with ot.dump(tmp_path / "dump", level="op") as result:
        network(*inputs)
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)
            is_left = torch._C._len_torch_dispatch_stack() == 0
            torch.ones(1) + 1
            os._exit(0 if is_left else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        network(*inputs)
    assert result.complete and {line.run for line in lines(tmp_path / "dump")} == {0, 1}


def test_a_full_disk(tmp_path):
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    network = nn.Linear(100, 10000)
    with ot.dump(tmp_path / "dump") as result:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, old[1]))
        try:
            import signal

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            network(torch.ones(100, 100))
            network(torch.ones(100, 100))
        finally:
            pass
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert not result.complete and any("could not be written" in error for error in result.errors), result.errors


def test_a_full_disk_of_statistics(tmp_path):
    import resource
    import signal

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    network = nn.Linear(4, 4)
    with ot.dump(tmp_path / "dump", statistics=True) as result:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 13, old[1]))
        # So many that the index is too large, and the manifest, which lists what is missing, is not.
        for _ in range(30):
            network(torch.ones(4))
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)
    assert not result.complete and any("could not be written" in error for error in result.errors), result.errors
    written = (tmp_path / "dump" / "index.jsonl").read_text().rpartition("\n")[0].splitlines()
    runs = [json.loads(line)["run"] for line in written]
    assert 5 < len(runs) < 30 and runs == list(range(len(runs)))
    assert manifest(tmp_path / "dump")["tensors"] == len(runs)


def test_conjugated_and_negated_views_have_their_values(tmp_path):
    x = torch.randn(3, dtype=torch.complex64)

    class Views(nn.Module):
        def forward(self, x):
            return x.conj(), x.conj().imag

    with ot.dump(tmp_path / "dump") as result:
        expected = Views()(x)
    assert result.complete
    for line, tensor in zip(lines(tmp_path / "dump"), expected):
        assert line.array().tobytes() == copied(tensor).tobytes()


@torch.library.custom_op("opscope_tests::lazy", mutates_args=())
def lazy(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).conj()


def test_operators_that_give_conjugated_tensors_have_their_values(tmp_path):
    x = torch.randn(3, dtype=torch.complex64)
    half = torch.randn(3, 2).to(torch.float16)
    kept = {}

    class Lazy(nn.Module):
        def forward(self, x):
            kept["opscope_tests.lazy.default"] = lazy(x)
            kept["aten._unsafe_view.default"] = torch.ops.aten._unsafe_view(x.conj(), [3, 1])
            return torch.view_as_complex(half).conj().imag

    with ot.dump(tmp_path / "ops", level="op") as ops, ot.dump(tmp_path / "modules") as modules:
        result = Lazy()(x)
    assert ops.complete and modules.complete
    for operator, tensor in kept.items():
        line = next(line for line in lines(tmp_path / "ops") if line.op_type == operator)
        assert line.array().tobytes() == copied(tensor).tobytes(), operator
    assert lines(tmp_path / "modules")[0].array().tobytes() == copied(result).tobytes(), "negated, of 16 bits"


def test_threads_that_end_leave_no_mode_behind():
    program = "import threading, torch, opscope.torch as ot\nnet = torch.nn.Linear(4, 4)\n"
    program += "def work():\n    net(torch.ones(4))\n    assert torch._C._len_torch_dispatch_stack() == 1\n"
    program += "with ot.watch():\n    for _ in range(20):\n        thread = threading.Thread(target=work)\n"
    program += "        thread.start()\n        thread.join()\n"
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_a_backward_pass_on_the_thread_of_another_network_has_the_right_operator(tmp_path):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)

    class One(nn.Module):
        def forward(self, x):
            return torch.sin(first(x)).sum()

    class Two(nn.Module):
        def forward(self, x):
            return torch.cos(second(x)).sum()

    one, two, computed = One(), Two(), []
    with ot.dump(tmp_path / "dump", level="op", backward=True) as result:
        one(torch.ones(1, 2))
        thread = threading.Thread(target=lambda: computed.append(two(torch.ones(1, 2))))
        thread.start()
        thread.join()
        computed[0].backward()
    assert result.complete
    # The nodes of both have the same numbers: what tells them apart is what made them.
    names = [line.operator for line in lines(tmp_path / "dump") if line.phase == "backward"]
    assert "Two/backward/aten.sin.default" in names and not any(name.startswith("One/backward/aten.sin") for name in names)


def test_two_watchers_at_once(tmp_path):
    network, inputs = NETS["shared"]()
    with ot.dump(tmp_path / "one", level="op") as one, ot.dump(tmp_path / "two", level="op") as two, ot.watch():
        network(*inputs)
    assert one.complete and two.complete
    first, second = (executions(tmp_path / name) for name in ["one", "two"])
    assert len(first) == len(second) == 3
    assert all(np.array_equal(a[0].array(), b[0].array()) for a, b in zip(first, second))
    assert torch._C._len_torch_dispatch_stack() == 0
    assert not torch.nn.modules.module._global_forward_hooks


def test_modules_on_several_threads(tmp_path):
    import threading

    network, inputs = NETS["shared"]()
    with ot.dump(tmp_path / "dump", level="op") as result:
        threads = [threading.Thread(target=lambda: [network(*inputs) for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert result.complete
    found = lines(tmp_path / "dump")
    assert len(found) == 4 * 20 * 3
    # Each execution is written once, whatever the threads do at the same time.
    assert len({(line.run, line.operator) for line in found}) == len(found)
