"""What `torch.compile` has captured, executed operator by operator."""

import gc
import weakref

import pytest
import torch
from dumps import lines, manifest
from nets import NETS, loss_of
from torch import nn

import opscope
import opscope.torch as ot


def dumped(root, network, call, compiled, inputs):
    """Dumps a training step. Returns what the dump says of each tensor, with its bytes."""
    network.zero_grad()
    torch.manual_seed(1)
    with ot.dump(root, level="op", backward=True, compiled=compiled) as result:
        loss_of(call(*inputs)).backward()
    assert result.complete, result.errors
    return [(line.operator, line.phase, line.module, line.source, line.array().tobytes()) for line in lines(root)]


@pytest.mark.parametrize("name", ["cnn", "shared", "unet"])
@pytest.mark.parametrize("backend", ["eager", "opscope"])
def test_a_graph_has_the_operators_modules_and_lines_of_the_program(tmp_path, name, backend):
    network, inputs = NETS[name]()
    network.eval()
    written = dumped(tmp_path / "written", network, network, "eager", inputs)
    compiled = torch.compile(network, backend=backend)
    compiled(*inputs)
    captured = dumped(tmp_path / "captured", network, compiled, "interpret", inputs)
    assert captured == written
    assert [manifest(tmp_path / dump)["coverage"]["compiled"] for dump in ("written", "captured")] == ["eager", "interpret"]


def test_what_is_captured_differently_is_shown_as_it_was_captured(tmp_path):
    network, inputs = NETS["transformer"]()
    network.eval()
    written = dumped(tmp_path / "written", network, network, "eager", inputs)
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    captured = dumped(tmp_path / "captured", network, torch.compile(network, backend="eager"), "interpret", inputs)
    # What the program unpacks is selected there, so the gradients of the parts are put together by other operators.
    forward = [[facts for facts in dump if facts[1] == "forward"] for dump in (captured, written)]
    assert forward[0] == forward[1]
    assert all(torch.equal(parameter.grad, gradient) for parameter, gradient in zip(network.parameters(), gradients))


class Breaks(nn.Module):
    """A program whose graph ends in the middle, with a part that is compiled alone."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.alone = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.alone(self.second(x)).relu()


# PyTorch looks whether a value in the middle of the program has a gradient.
LOOKS = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@LOOKS
def test_each_part_of_a_program_is_in_the_modules_that_call_it(tmp_path):
    network, x = Breaks(), torch.ones(2, 4)
    expected = [
        "first/aten.addmm.default",
        "second/aten.addmm.default",
        "alone.0/aten.addmm.default",
        "alone.1/aten.relu.default",
        "Breaks/aten.relu.default",
    ]
    inner = Breaks()
    inner.alone = torch.compile(inner.alone, backend="eager")
    for number, call in enumerate([torch.compile(network, backend="eager"), inner]):
        root = tmp_path / str(number)
        with ot.dump(root, level="op", compiled="interpret") as result:
            call(x)
            call(x)
        assert result.complete, result.errors
        found = lines(root)
        assert {line.run for line in found} == {0, 1}
        assert [line.operator.replace("_orig_mod.", "") for line in found if line.run == 1] == expected


def test_a_function_is_interpreted_as_a_module_is(tmp_path):
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)

    @torch.compile(backend="eager")
    def computed(layer, x):
        return layer(x).exp()

    with ot.dump(tmp_path / "dump", level="op", compiled="interpret") as result:
        computed(layer, x)
    assert result.complete, result.errors
    assert [line.operator for line in lines(tmp_path / "dump")] == ["Linear/aten.addmm.default", "script/aten.exp.default"]


@LOOKS
def test_a_module_that_is_compiled_in_place_is_named(tmp_path):
    network, x = Breaks(), torch.ones(2, 4)
    network.compile(backend="eager")
    with ot.dump(tmp_path / "dump", level="op", compiled="interpret") as result:
        network(x)
    assert not result.complete
    assert result.errors == [
        "Breaks was compiled in place by Module.compile, so what it computes itself is named script; compile it with torch.compile(module) to keep its name"
    ]
    assert manifest(tmp_path / "dump")["coverage"]["not_seen"] == {"compiled modules": 1}
    assert len(lines(tmp_path / "dump")) == 5


def test_a_watch_names_the_line_and_module_of_a_captured_operator():
    class Bad(nn.Module):
        def forward(self, x):
            y = x - x
            return y / y

    network = nn.Sequential(nn.Linear(4, 4), Bad())
    compiled = torch.compile(network, backend="eager")
    with pytest.raises(opscope.NonFinite) as found, ot.watch(compiled="interpret"):
        compiled(torch.ones(2, 4))
    finding = found.value
    assert (finding.operator, finding.module, finding.code) == ("1/aten.div.Tensor", "1", "return y / y")
    # Nothing is left behind in what is not watched.
    assert compiled(torch.ones(2, 4)).isnan().all()


def test_an_exception_of_the_program_is_its_own_and_one_that_is_handled_ends_no_module(tmp_path):
    class Raises(nn.Module):
        def forward(self, x, size):
            return self.layer(x).view(size)

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

    network, x = Raises(), torch.ones(2, 4)
    compiled = torch.compile(network, backend="eager")
    with ot.dump(tmp_path / "dump", level="op", compiled="interpret") as result:
        try:
            raise ValueError("it is tried again")
        except ValueError:
            compiled(x, 8)
    assert result.complete, result.errors

    def failing(x):
        return network.layer(x).index_select(0, torch.tensor([7]))

    with pytest.raises(IndexError) as written:
        failing(x)
    with pytest.raises(IndexError) as raised, ot.dump(tmp_path / "failed", level="op", compiled="interpret"):
        torch.compile(failing, backend="eager")(x)
    assert str(raised.value) == str(written.value)


def test_what_a_graph_has_computed_is_freed_at_once(tmp_path):
    compiled = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="eager")
    gc.disable()
    try:
        with torch.no_grad(), ot.dump(tmp_path / "dump", level="op", compiled="interpret"):
            compiled(torch.ones(2, 4))
            freed = weakref.ref(compiled(torch.ones(2, 4)))
            assert freed() is None
    finally:
        gc.enable()


def test_modules_alone_are_not_interpreted(tmp_path):
    with pytest.raises(opscope.InputError) as refused, ot.dump(tmp_path / "dump", compiled="interpret"):
        pass
    assert str(refused.value) == "what torch.compile has captured consists of operators: to interpret it, the level must be op"
    assert not (tmp_path / "dump").exists()
