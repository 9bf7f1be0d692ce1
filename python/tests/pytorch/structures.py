"""Programs that compute the same in another form, and bugs that are planted in one of the two."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bug = None

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / (x.shape[-1] ** 0.5 * (1.3 if self.bug == "scale" else 1))
        if self.bug == "temperature":
            scores = scores * 1.5
        attention = torch.softmax(scores, 1 if self.bug == "axis" else -1)
        return self.o(attention @ v)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.bug = None

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        up = self.up(x)
        up = F.silu(up) if self.bug == "activation" else F.gelu(up)
        down = self.down(up)
        return x - down if self.bug == "sign" else x + down


class Network(nn.Module):
    def __init__(self, width=16, checkpointed=False):
        super().__init__()
        self.layers = nn.ModuleList(Block(width) for _ in range(3))
        self.head = nn.Linear(width, 4)
        self.checkpointed = checkpointed

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointed else layer(x)
        return self.head(x)


class Body(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.h = layers


class Renamed(nn.Module):
    """The same network with other names, as another library has it."""

    def __init__(self, network):
        super().__init__()
        self.transformer, self.classifier = Body(network.layers), network.head

    def forward(self, x):
        for layer in self.transformer.h:
            x = layer(x)
        return self.classifier(x)


RENAMES = [r"layers\.(\d+)=transformer.h.$1", "head=classifier"]

# For each bug, the module that it is planted in, and the operators that may be named.
BUGS = {
    "scale": ("attention", ["aten.div"]),
    "temperature": ("attention", ["aten.mul", "aten._softmax"]),
    "axis": ("attention", ["aten._softmax"]),
    "activation": ("", ["aten.silu", "aten.gelu", "down"]),
    "sign": ("", ["aten.sub", "aten.add", "next"]),
    "weight": ("down", ["aten.addmm"]),
    "epsilon": ("norm", ["aten.native_layer_norm"]),
    "bias": ("attention.qkv", ["aten.addmm"]),
}
FORMS = ["same", "renamed", "checkpointed", "bf16", "batch"]


def build(form="same", bug=None, layer=1):
    """A network in one of the forms, with a bug in one of its layers."""
    torch.manual_seed(3)
    network = Network(checkpointed=form == "checkpointed")
    block = network.layers[layer]
    with torch.no_grad():
        if bug in ("scale", "temperature", "axis"):
            block.attention.bug = bug
        elif bug in ("activation", "sign"):
            block.bug = bug
        elif bug == "weight":
            block.down.weight += 0.1 * torch.randn_like(block.down.weight)
        elif bug == "epsilon":
            block.norm.eps = 0.5
        elif bug == "bias":
            block.attention.qkv.bias += 0.1
    if form == "renamed":
        network = Renamed(network)
    return network.to(torch.bfloat16) if form == "bf16" else network


def run(network, form="same", batch=2):
    """Runs a network forward and backward; only forward with a batch of another size, whose gradients are others."""
    torch.manual_seed(4)
    x = torch.randn(4, 5, 16)[: 1 if form == "batch" else batch]
    x = x.to(next(network.parameters()).dtype)
    if form == "batch" or batch == 4:
        with torch.no_grad():
            network(x)
    else:
        network(x).square().mean().backward()


def planted(count=40):
    """Forms with bugs, in an order that is the same each time."""
    cases = [(form, bug, layer) for form in FORMS for bug in BUGS for layer in range(3)]
    random.Random(9).shuffle(cases)
    chosen = []
    # As many of each form and bug.
    for round_ in range(3):
        for form in FORMS:
            for bug in BUGS:
                fitting = [case for case in cases if case[:2] == (form, bug)]
                chosen.append(fitting[round_])
    return chosen[:count]


def is_named(found, form, bug, layer):
    """Whether the first divergence names what was planted: the operator in its module, or one before it that only one side has."""
    first = found["first_divergence"]
    if first is None:
        return False
    module, operators = BUGS[bug]
    around = f"layers.{layer}"
    names = [first["operator"], *first["between"]]
    inside = f"{around}.{module}" if module else around
    expected = [f"{inside}/{operator}." for operator in operators if "." in operator]
    if "down" in operators:
        expected.append(f"{around}.down/")
    if "next" in operators:
        expected.append(f"layers.{layer + 1}.norm/" if layer < 2 else "head/")
    return any(name.startswith(prefix) for name in names for prefix in expected)
