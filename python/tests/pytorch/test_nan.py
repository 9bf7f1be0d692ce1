"""The first NaN: planted ones, each with the operator, the module, the line and the origin that are right."""

import math

import pytest
import torch
from nets import NETS, Transformer, loss_of
from torch import nn

import opscope
import opscope.torch as ot


def found_in(work, **options):
    with pytest.raises(opscope.NonFinite) as raised, ot.watch(**options):
        work()
    return raised.value


class Planted(nn.Module):
    """NaN or infinity in one place, which is named by the line's comment."""

    def __init__(self, plant):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.inner = Inner(plant)

    def forward(self, x):
        return self.inner(self.layer(x)).sum()


class Inner(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        x = x * self.scale
        return self.plant(x)


def square_root(x):
    return torch.sqrt(-x.abs() - 1)


def divide(x):
    return torch.where(x > 9, x, (x - x) / (x - x))


def logarithm(x):
    y = x.abs() + 1
    return y.neg_().log_()


def masked(x):
    return torch.softmax(x.masked_fill(torch.ones_like(x, dtype=torch.bool), -torch.inf), -1)


def half(x):
    y = x.to(torch.float16) * 0 + 60000
    return (y * y) - (y * y)


def brain(x):
    return torch.sqrt(-(x.to(torch.bfloat16).abs()) - 1)


def complexes(x):
    y = torch.complex(x, x)
    return torch.view_as_real((y - y) / (y - y))


CASES = {
    "square_root": (square_root, "aten.sqrt.default", "torch.sqrt(-x.abs() - 1)", False),
    "divide": (divide, "aten.div.Tensor", "torch.where(x > 9, x, (x - x) / (x - x))", False),
    "logarithm": (logarithm, "aten.log_.default", "y.neg_().log_()", False),
    "masked": (masked, "aten._softmax.default", "torch.softmax", False),
    "half": (half, "aten.sub.Tensor", "(y * y) - (y * y)", False),
    "brain": (brain, "aten.sqrt.default", "x.to(torch.bfloat16)", False),
    "complexes": (complexes, "aten.div.Tensor", "torch.view_as_real", False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_forward_pass(case):
    plant, operator, code, came_in = CASES[case]
    torch.manual_seed(0)
    network = Planted(plant)
    finding = found_in(lambda: network(torch.randn(3, 4)))
    assert (finding.op_type, finding.module, finding.phase) == (operator, "inner", "forward")
    assert code in finding.code and finding.file == __file__
    assert finding.class_name == f"{__name__}.Inner"
    assert (finding.found, finding.came_in, finding.step) == ("nan", came_in, 0)
    assert finding.operator in str(finding) and finding.code in str(finding)


def test_a_line_that_is_executed_in_one_step_only_is_named():
    class Sometimes(nn.Module):
        def forward(self, x, step):
            if step == 2:
                x = x + math.nan  # In the steps before, the operator of this name is in the next line.
            return (x + 1).sum()

    network = Sometimes()

    def train():
        for step in range(3):
            network(torch.zeros(3), step)

    finding = found_in(train)
    assert (finding.operator, finding.step) == ("Sometimes/aten.add.Tensor", 2)
    assert finding.code.startswith("x = x + math.nan")


def test_a_parameter_with_nan_is_named():
    network, inputs = NETS["transformer"]()
    with torch.no_grad():
        network.layers[1].up.weight[3, 5] = math.nan
    finding = found_in(lambda: network(*inputs))
    assert (finding.module, finding.op_type, finding.came_in) == ("layers.1.up", "aten.addmm.default", True)
    bad = [each["name"] for each in finding.inputs if each["nan"]]
    assert bad == ["layers.1.up.weight"]
    assert finding.code == "return x + self.down(F.gelu(self.up(x)))"


def test_an_input_with_nan_came_in():
    network, inputs = NETS["cnn"]()
    inputs[0][1, 2, 3, 4] = math.nan
    finding = found_in(lambda: network(*inputs))
    assert (finding.module, finding.op_type, finding.came_in) == ("conv", "aten.convolution.default", True)
    assert [each["nan"] for each in finding.inputs][0] == 1


def test_a_backward_pass_has_the_line_of_the_forward_operator():
    class Root(nn.Module):
        def forward(self, x):
            return (x.sqrt() * 0).sum()  # The gradient is 0 times infinity.

    x = torch.zeros(3, requires_grad=True)
    network = Root()
    finding = found_in(lambda: network(x).backward())
    assert (finding.phase, finding.operator) == ("backward", "Root/backward/aten.div.Tensor")
    assert finding.code.startswith("return (x.sqrt() * 0).sum()")


def test_a_custom_function_in_the_backward_pass():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            return gradient * math.nan

    class Root(nn.Module):
        def forward(self, x):
            return Bad.apply(x).sum()

    network = Root()
    finding = found_in(lambda: network(torch.ones(3, requires_grad=True)).backward())
    assert (finding.phase, finding.op_type) == ("backward", "aten.mul.Tensor")
    assert finding.code == "return x * 2"


@pytest.mark.parametrize("foreach", [False, True])
def test_an_optimizer(foreach):
    network, inputs = NETS["shared"]()
    optimizer = torch.optim.Adam(network.parameters(), foreach=foreach)
    loss_of(network(*inputs)).backward()
    optimizer.step()
    for state in optimizer.state.values():
        state["exp_avg_sq"].fill_(-1.0)
    finding = found_in(optimizer.step)
    assert (finding.phase, finding.operator.split("/")[0]) == ("optimizer", "Adam")
    assert "sqrt" in finding.op_type


def test_the_loss_outside_of_modules():
    def work():
        output = network(torch.ones(2, 4))
        (output.sum() * torch.inf * 0).backward()  # planted

    network = nn.Linear(4, 4)
    finding = found_in(work)
    assert finding.code.endswith("# planted") and finding.module is None
    assert finding.operator.startswith("script/")


def test_the_step_is_counted():
    network, inputs = NETS["shared"]()

    def work():
        for step in range(5):
            if step == 3:
                with torch.no_grad():
                    network.layer.bias.fill_(math.nan)
            network(*inputs)

    finding = found_in(work)
    # What fills the bias comes after the end of the call before.
    assert finding.step == 2 and finding.op_type == "aten.fill_.Scalar" and not finding.came_in


def test_masks_of_infinities_are_no_finding_unless_asked_for():
    network, inputs = NETS["transformer"]()
    with ot.watch():
        loss_of(network(*inputs)).backward()
    finding = found_in(lambda: network(*inputs), nonfinite="any")
    assert (finding.op_type, finding.found) == ("aten.masked_fill.Scalar", "infinity")


def test_an_output_beside_a_right_one_is_found():
    parts = [torch.ones(3), -torch.ones(3)]
    finding = found_in(lambda: torch._foreach_sqrt(parts))
    assert finding.op_type == "aten._foreach_sqrt.default" and "output 1" in str(finding)
    finding = found_in(lambda: torch._foreach_sqrt_(parts))
    assert finding.op_type == "aten._foreach_sqrt_.default" and "output 1" in str(finding)
    assert [each["written"] for each in finding.inputs] == [True, True]


def test_the_first_infinity_of_the_step_is_told():
    def plant(x):
        y = (x.abs() + 1).exp() * 1e38 * 1e38
        return y - y

    finding = found_in(lambda: Planted(plant)(torch.ones(2, 4)))
    assert finding.op_type == "aten.sub.Tensor"
    assert finding.first_infinity == "inner/aten.mul.Tensor#1"
    assert finding.first_infinity in str(finding)


@pytest.mark.parametrize("name", NETS)
def test_networks_without_nan_have_no_finding(name):
    network, inputs = NETS[name]()
    with ot.watch():
        loss_of(network(*inputs)).backward()


@pytest.mark.parametrize("checkpointed", [None, False, True])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("part", ["attention.q", "attention.o", "norm", "up", "down"])
def test_every_parameter_of_a_transformer(checkpointed, layer, part):
    torch.manual_seed(1)
    network = Transformer(checkpointed)
    owner = network.layers[layer].get_submodule(part)
    with torch.no_grad():
        owner.weight.view(-1)[0] = math.nan
    finding = found_in(lambda: network(torch.randint(13, (2, 5))))
    assert (finding.module, finding.came_in) == (f"layers.{layer}.{part}", True)
    assert f"layers.{layer}.{part}.weight" in [each["name"] for each in finding.inputs if each["nan"]]
