"""Every value of small networks of many kinds, against an independent judge."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from dumps import executions, lines, manifest
from judge import Judge, copied, differences
from nets import NETS, loss_of, train

import opscope
import opscope.torch as ot


def forward_and_backward(build):
    network, inputs = build()
    torch.manual_seed(3)
    loss_of(network(*inputs)).backward()


@pytest.mark.parametrize("name", NETS)
def test_every_operator_computes_what_an_independent_mode_sees(tmp_path, name):
    network, inputs = NETS[name]()
    torch.manual_seed(3)
    with Judge() as judge:
        loss_of(network(*inputs)).backward()
    network, inputs = NETS[name]()
    torch.manual_seed(3)
    with ot.dump(tmp_path / "dump", level="op", backward=True) as result:
        loss_of(network(*inputs)).backward()
    assert result.complete, result.errors
    assert differences(tmp_path / "dump", judge) == []


@pytest.mark.parametrize("name", NETS)
def test_every_module_gives_what_a_hook_of_its_own_sees(tmp_path, name):
    network, inputs = NETS[name]()
    expected = []

    def keep(module, args, output):
        from torch.utils._pytree import tree_leaves

        leaves = tree_leaves(vars(output) if hasattr(output, "__dataclass_fields__") else output)
        expected.append((type(module).__name__, [copied(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]))

    handles = [module.register_forward_hook(keep) for module in network.modules()]
    torch.manual_seed(3)
    network(*inputs)
    [handle.remove() for handle in handles]
    torch.manual_seed(3)
    with ot.dump(tmp_path / "dump") as result:
        network(*inputs)
    assert result.complete, result.errors
    seen = executions(tmp_path / "dump")
    assert [execution[0].op_type for execution in seen] == [name for name, tensors in expected if tensors]
    for execution, (_, tensors) in zip(seen, [pair for pair in expected if pair[1]]):
        assert [line.array().tobytes() for line in execution] == [tensor.tobytes() for tensor in tensors]


@pytest.mark.parametrize("level", ["module", "op"])
@pytest.mark.parametrize("name", ["cnn", "transformer", "checkpointed", "vae"])
def test_training_is_the_same_with_and_without(tmp_path, name, level):
    def trained(watched):
        network, inputs = NETS[name]()
        torch.manual_seed(3)
        if watched:
            with ot.dump(tmp_path / "dump", level=level, backward=True, statistics=True):
                losses = train(network, inputs, steps=3)
        else:
            losses = train(network, inputs, steps=3)
        return losses, [copied(parameter) for parameter in network.parameters()]

    (losses, parameters), (expected_losses, expected) = trained(True), trained(False)
    assert losses == expected_losses
    assert all(one.tobytes() == other.tobytes() for one, other in zip(parameters, expected))


def test_names_have_the_module_the_phase_and_the_line(tmp_path):
    network, inputs = NETS["transformer"]()
    with ot.dump(tmp_path / "dump", level="op", backward=True):
        train(network, inputs, steps=2)
    found = {(line.run, line.operator): line for line in lines(tmp_path / "dump")}
    softmax = found[0, "layers.1.attention/aten._softmax.default"]
    assert (softmax.module, softmax.phase, softmax.step) == ("layers.1.attention", "forward", None)
    assert softmax.facts["class"].endswith("Attention")
    assert softmax.source["code"] == "attention = torch.softmax(scores.masked_fill(mask, -torch.inf), -1)"
    gradient = found[1, "layers.1.attention/backward/aten._softmax_backward_data.default"]
    assert (gradient.module, gradient.phase) == ("layers.1.attention", "backward")
    assert gradient.source == softmax.source
    assert softmax.operator not in {line.operator for line in found.values() if line.phase == "backward"}
    optimizer = [line for line in found.values() if line.phase == "optimizer"]
    assert optimizer and all(line.operator.startswith("AdamW/optimizer/") for line in optimizer)
    # The mask and the scores come in.
    assert found[0, "layers.0.attention/aten._softmax.default"].inputs == ["layers.0.attention/aten.masked_fill.Scalar"]
    runs = manifest(tmp_path / "dump")["runs"]
    assert [run["run"] for run in runs] == [0, 1]


def test_a_part_that_is_computed_again_is_a_phase_of_its_own(tmp_path):
    for name in ["checkpointed", "reentrant"]:
        network, inputs = NETS[name]()
        with ot.dump(tmp_path / name, level="op", backward=True):
            loss_of(network(*inputs)).backward()
        again = [line for line in lines(tmp_path / name) if line.phase == "recompute" and "softmax" in line.op_type]
        assert [line.module for line in again] == ["layers.1.attention", "layers.0.attention"]


def test_gradients_of_modules(tmp_path):
    network, inputs = NETS["cnn"]()
    expected = {}
    
    def keep(module, args, output):
        output.register_hook(lambda gradient: expected.update(conv=copied(gradient)))

    network.conv.register_forward_hook(keep)
    with ot.dump(tmp_path / "dump", backward=True) as result:
        loss_of(network(*inputs)).backward()
    assert result.complete
    found = {line.operator: line for line in lines(tmp_path / "dump")}
    assert found["conv/backward"].array().tobytes() == expected["conv"].tobytes()
    assert {"Cnn/backward", "norm/backward", "head/backward"} <= set(found)


def test_selections_steps_and_statistics(tmp_path):
    network, inputs = NETS["transformer"]()
    with ot.dump(tmp_path / "some", select="layers.[0-9]", steps="1..3", statistics=True) as result:
        for _ in range(4):
            network(*inputs)
    assert result.complete
    found = [(line.run, line.operator) for line in lines(tmp_path / "some")]
    # The modules in a module are selected with it.
    assert {run for run, _ in found} == {1, 2} and len(found) == 2 * 2 * 8
    assert all(operator.startswith("layers.") for _, operator in found)
    line = lines(tmp_path / "some")[0]
    assert line.file is None and line.mean is not None
    with ot.dump(tmp_path / "none", select="layer.9") as result:
        network(*inputs)
    assert not result.complete and "matches nothing" in result.errors[0]
    with ot.dump(tmp_path / "never", steps="7..8") as result:
        network(*inputs)
    assert not result.complete and "nothing was executed" in result.errors[0]
    with pytest.raises(opscope.InputError, match="not a range of steps"), ot.dump(tmp_path / "wrong", steps="3..1"):
        pass


def test_a_program_may_end_its_steps_itself(tmp_path):
    network, inputs = NETS["shared"]()
    with ot.dump(tmp_path / "dump"):
        for _ in range(2):
            ot.step()
            network(*inputs)
            network(*inputs)
    found = [(line.run, line.operator) for line in lines(tmp_path / "dump") if line.op_type == "Shared"]
    assert found == [(1, "Shared"), (1, "Shared@1"), (2, "Shared"), (2, "Shared@1")]


def test_a_later_write_does_not_change_what_was_captured(tmp_path):
    class Writes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(300, 300)

        def forward(self, x):
            y = self.layer(x)
            before.append(copied(y))
            return y.zero_()

    before = []
    with ot.dump(tmp_path / "dump") as result:
        Writes()(torch.ones(300, 300))
    assert result.complete
    layer, whole = lines(tmp_path / "dump")
    assert layer.array().tobytes() == before[0].tobytes() and np.any(before[0])
    assert not np.any(whole.array())


def test_opscope_reads_a_dump(tmp_path):
    network, inputs = NETS["cnn"]()
    with ot.dump(tmp_path / "dump", level="op"):
        output = network(*inputs)
    dump = opscope.open(tmp_path / "dump")
    assert dump.complete and dump.engine == "torch"
    tensor = dump["head/aten.addmm.default"].output[0]
    assert np.array_equal(tensor.numpy(), output.detach().numpy())


def test_what_the_tap_computes_itself_is_not_looked_at(tmp_path):
    """Between two steps statistics are fetched, by operators of torch, while the mode is on. Otherwise the tap would wait for itself."""
    code = f"""
import torch
from opscope.torch import _reductions
from opscope.torch._session import Session

real = _reductions.fetch

def fetch(reductions):
    for _ in range(3):
        torch.ones(2) + 1
    return real(reductions)

_reductions.fetch = fetch
network = torch.nn.Linear(2, 2)
session = Session(level="op", backward=False, steps=None, compiled="eager", reduces_all=True)
session.dump({str(tmp_path / "dump")!r}, True, [])
session.attach()
for _ in range(3):
    network(torch.ones(1, 2))
session.detach()
session.close(None)
assert session.result.complete, session.result.errors
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    operators = [line.operator.split("/")[-1] for line in lines(tmp_path / "dump")]
    assert operators.count("aten.addmm.default") == 3 and "aten.add.Tensor" not in operators


@pytest.mark.parametrize("copied", [0, 1 << 20])
@pytest.mark.parametrize("level", ["module", "op"])
@pytest.mark.parametrize("name", ["cnn", "transformer", "odd", "complex"])
def test_statistics_that_a_device_would_compute_are_those_of_the_processor(tmp_path, monkeypatch, name, level, copied):
    """On the processor, in place of a device: the same reductions by torch, or the same copies, fetched at the end of each step."""
    from opscope.torch import _reductions
    from opscope.torch._session import Session

    monkeypatch.setattr(_reductions, "COPIED", copied)

    def dumped(reduces_all):
        network, inputs = NETS[name]()
        root = tmp_path / str(reduces_all)
        session = Session(level=level, backward=True, steps=None, compiled="eager", reduces_all=reduces_all)
        session.dump(root, True, [])
        session.attach()
        train(network, inputs, steps=2)
        session.detach()
        session.close(None)
        assert session.result.complete, session.result.errors
        return lines(root)

    reduced, expected = dumped(True), dumped(False)
    key = lambda line: (line.run, line.operator, line.slot)  # noqa: E731
    expected = {key(line): line for line in expected}
    assert len(reduced) == len(expected)
    without_hash = 0
    for line in reduced:
        other = expected[key(line)]
        assert (line.dtype, line.shape, line.nan, line.inf) == (other.dtype, other.shape, other.nan, other.inf)
        for one, two in [(line.min, other.min), (line.max, other.max), (line.mean, other.mean)]:
            assert one == two or one == pytest.approx(two, rel=1e-12, abs=1e-12), line.operator
        assert line.xxh3 in (other.xxh3, None)
        without_hash += line.xxh3 is None
    assert without_hash == 0 if copied else without_hash > len(reduced) / 2
    dump = opscope.open(tmp_path / "True")
    assert dump.complete
    assert not opscope.compare(tmp_path / "True", tmp_path / "False").first_divergence
