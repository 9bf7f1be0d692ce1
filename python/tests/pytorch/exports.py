"""Networks that both of PyTorch's exporters take, their exports, and bugs that are planted in the exported files."""

import contextlib
import copy
import io
import json
import random
import re
import subprocess
import sys
import warnings

import nets
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

KINDS = ["axis", "epsilon", "padding", "gelu", "operands", "weight"]


class Wide(nn.Linear):
    """Gives numbers of all sizes, so that it matters how an activation behind it is computed."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.weight.data *= 4


class Attention(nn.Module):
    """Of one head, without a library's kernel."""

    def __init__(self, width=8):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-1, -2) / x.shape[-1] ** 0.5
        return self.o(torch.softmax(scores, -1) @ self.v(x))


class Fused(Attention):
    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (2, 4)).transpose(1, 2) for part in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width=8, approximate="none"):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = Wide(width, 2 * width), nn.Linear(2 * width, width)
        self.approximate = approximate

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate=self.approximate))


class Rms(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Gated(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm, self.gate, self.up, self.down = Rms(width), nn.Linear(width, 16), nn.Linear(width, 16), nn.Linear(16, width)

    def forward(self, x):
        x = self.norm(x)
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Excite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.down, self.up = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x):
        x = F.gelu(self.conv(x))
        weights = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        return x * weights[:, :, None, None]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        return F.relu(x - self.second(F.relu(self.norm(self.first(x)))))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        left, right = self.left(x), self.right(x)
        both = torch.cat([left - right, left / (right.abs() + 1)], 0)
        return torch.where(both > 0, both, both * 0.1) @ both.transpose(0, 1)


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        scores = self.layer(x)
        masked = scores.masked_fill(torch.ones(6, 6, dtype=torch.bool).triu(1), -1e4)
        return torch.log_softmax(masked, -1), (x - scores).pow(2).mean(-1)


class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        product = torch.einsum("bij,bjk->bik", self.first(x), self.second(x))
        return torch.tanh(product) - torch.softmax(product, 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        return torch.softmax(self.head(self.gru(x)[0][:, -1]), -1)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.up = nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        return x - F.interpolate(self.up(F.elu(self.conv(x))), scale_factor=1.0, mode="nearest") / 2


def sequence(*layers):
    return lambda: nn.Sequential(*(layer() for layer in layers))


def of(layer, *arguments, **keywords):
    return lambda: layer(*arguments, **keywords)


# What nets.py has and both exporters take, and more. A network is a function that makes it, and its inputs.
NETS = {
    **{name: nets.NETS[name] for name in ("cnn", "lstm", "moe", "unet", "shared", "dict", "custom", "inplace")},
    "attention": nets.seeded(Attention, nets.numbers(2, 5, 8)),
    "fused": nets.seeded(Fused, nets.numbers(2, 5, 8)),
    "layer": nets.seeded(Layer, nets.numbers(2, 5, 8)),
    "layers": nets.seeded(sequence(Layer, Layer, of(nn.LayerNorm, 8), of(nn.Linear, 8, 4)), nets.numbers(2, 5, 8)),
    "tanh-gelu": nets.seeded(of(Layer, 8, "tanh"), nets.numbers(2, 5, 8)),
    "rms": nets.seeded(sequence(of(nn.Linear, 8, 8), Rms), nets.numbers(3, 8)),
    "gated": nets.seeded(sequence(Gated, Gated), nets.numbers(2, 5, 8)),
    "excite": nets.seeded(Excite, nets.numbers(2, 3, 6, 6)),
    "residual": nets.seeded(sequence(Residual, Residual), nets.numbers(2, 4, 6, 6)),
    "branches": nets.seeded(Branches, nets.numbers(3, 6)),
    "scores": nets.seeded(Scores, nets.numbers(6, 6)),
    "einsum": nets.seeded(Einsum, nets.numbers(2, 4, 4)),
    "gru": nets.seeded(Recurrent, nets.numbers(2, 4, 6)),
    "scaled": nets.seeded(Scaled, nets.numbers(1, 2, 8, 8)),
    "mlp": nets.seeded(sequence(of(Wide, 6, 12), nn.GELU, of(nn.Linear, 12, 6), of(nn.Softmax, -1)), nets.numbers(6, 6)),
    "instance": nets.seeded(sequence(of(nn.Conv2d, 2, 4, 3, padding=1), of(nn.InstanceNorm2d, 4, affine=True), nn.GELU), nets.numbers(1, 2, 6, 6)),
    "pooled": nets.seeded(sequence(of(nn.Conv2d, 2, 4, 3, padding=1), of(nn.MaxPool2d, 3, 2, 1), of(nn.AvgPool2d, 2), nn.Flatten), nets.numbers(1, 2, 8, 8)),
    "conv1d": nets.seeded(sequence(of(nn.Conv1d, 3, 6, 3, padding=1), nn.LeakyReLU, of(nn.Conv1d, 6, 3, 5, padding=2)), nets.numbers(2, 3, 9)),
    "depthwise": nets.seeded(sequence(of(nn.Conv2d, 4, 4, 3, padding=1, groups=4), of(nn.Conv2d, 4, 6, 1), nn.Hardswish), nets.numbers(1, 4, 6, 6)),
    "dilated": nets.seeded(sequence(of(nn.Conv2d, 2, 4, 3, padding=2, dilation=2), nn.Softplus, of(nn.GroupNorm, 2, 4)), nets.numbers(1, 2, 7, 7)),
    "embedded": nets.seeded(sequence(of(nn.Embedding, 11, 8), Layer, of(nn.Linear, 8, 11), of(nn.LogSoftmax, -1)), nets.tokens(11)),
    "normed": nets.seeded(sequence(of(nn.Conv2d, 2, 4, 3, padding=1), nn.ReLU, of(nn.BatchNorm2d, 4), of(nn.Conv2d, 4, 2, 3, padding=1)), nets.numbers(2, 2, 6, 6)),
}
EXPORTERS = ["new", "old"]


def network(name):
    """A network in the state in which it is exported, and its inputs."""
    built, inputs = NETS[name]()
    built.eval()
    for module in built.modules():
        # Its own would be nearly nothing.
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.5, 1.5)
    return built, inputs


def export(name, exporter, path):
    """Exports a network to a file."""
    built, inputs = network(name)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(built, tuple(inputs), str(path), dynamo=exporter == "new", external_data=False)


def changes(model):
    """What can be changed in a model: a kind, the operators that change, and what changes a copy of the model."""
    graph = model.graph
    weights = {weight.name: weight for weight in graph.initializer}
    # An exporter may give constants as operators.
    constants = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    takers = {}
    for node in graph.node:
        for name in node.input:
            takers.setdefault(name, []).append(node.name)
    found = []
    for place, node in enumerate(graph.node):
        attributes = {attribute.name: attribute for attribute in node.attribute}

        def attribute(name, value, place=place):
            def change(copied):
                node = copied.graph.node[place]
                kept = [attribute for attribute in node.attribute if attribute.name != name]
                del node.attribute[:]
                node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])

            return change

        def swapped(first, second, place=place):
            def change(copied):
                inputs = copied.graph.node[place].input
                inputs[first], inputs[second] = inputs[second], inputs[first]

            return change

        def number(name, of):
            def change(copied):
                for weight in copied.graph.initializer:
                    if weight.name == name:
                        weight.CopyFrom(numpy_helper.from_array(of(numpy_helper.to_array(weight)), name))
                for other in copied.graph.node:
                    if other.op_type == "Constant" and other.output[0] == name:
                        value = numpy_helper.to_array(other.attribute[0].t)
                        other.attribute[0].t.CopyFrom(numpy_helper.from_array(of(value), ""))

            return change

        if node.op_type in ("Softmax", "LogSoftmax"):
            found.append(("axis", [node.name], attribute("axis", 0)))
        if node.op_type in ("Concat", "Gather"):
            found.append(("axis", [node.name], attribute("axis", 1)))
        if node.op_type == "ReduceMean" and len(node.input) > 1:
            found.append(("axis", takers[node.input[1]], number(node.input[1], lambda value: value * 0)))
        if "epsilon" in attributes:
            found.append(("epsilon", [node.name], attribute("epsilon", 1e-2)))
        if node.op_type == "Add" and any(is_epsilon(name, weights, constants) for name in node.input):
            name = next(name for name in node.input if is_epsilon(name, weights, constants))
            found.append(("epsilon", takers[name], number(name, lambda value: value * np.float32(1000))))
        if "pads" in attributes and any(attributes["pads"].ints):
            pads = list(attributes["pads"].ints)
            half = len(pads) // 2
            begins, ends = pads[:half], pads[half:]
            moved = [begin + 1 for begin in begins] + [end - 1 for end in ends]
            found.append(("padding", [node.name], attribute("pads", moved)))
        if node.op_type == "Gelu":
            is_tanh = "approximate" in attributes and attributes["approximate"].s == b"tanh"
            found.append(("gelu", [node.name], attribute("approximate", "none" if is_tanh else "tanh")))
        if node.op_type in ("Sub", "Div", "Pow", "MatMul") and not any(name in constants for name in node.input):
            found.append(("operands", [node.name], swapped(0, 1)))
        if node.op_type == "Where":
            found.append(("operands", [node.name], swapped(1, 2)))
        for name in node.input:
            weight = weights.get(name)
            if weight is not None and weight.data_type == onnx.TensorProto.FLOAT and len(weight.dims) >= 1 and np.prod(weight.dims) >= 4:
                found.append(("weight", takers[name], number(name, stale)))
    return found


def is_epsilon(name, weights, constants):
    if name in weights:
        value = numpy_helper.to_array(weights[name])
    elif name in constants and constants[name].attribute[0].HasField("t"):
        value = numpy_helper.to_array(constants[name].attribute[0].t)
    else:
        return False
    return value.size == 1 and 0 < float(value.reshape(-1)[0]) < 1e-3


def stale(weight):
    """A weight some steps of training earlier."""
    return weight + (np.random.default_rng(5).standard_normal(weight.shape) * 0.1 * (weight.std() + 0.01)).astype(weight.dtype)


def outputs(model, inputs):
    """What the reference of the format computes; None if it does not take the model."""
    given = {place.name: tensor.numpy() for place, tensor in zip(model.graph.input, inputs, strict=True)}
    try:
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(None, given)
    except Exception:
        return None


def planted(model, inputs, seed):
    """Changed copies of a model whose outputs are others, as (kind, operators, model), in an order that the seed gives."""
    right = outputs(model, inputs)
    if right is None:
        return
    candidates = changes(model)
    random.Random(seed).shuffle(candidates)
    for kind, operators, change in candidates:
        changed = copy.deepcopy(model)
        change(changed)
        wrong = outputs(changed, inputs)
        if wrong is not None and any(is_other(one, other) for one, other in zip(right, wrong, strict=True)):
            yield kind, operators, changed


def is_other(right, wrong):
    if right.shape != wrong.shape:
        return True
    if right.dtype.kind != "f" or not np.isfinite(right).all() or not np.isfinite(wrong).all():
        return bool((right != wrong).any())
    return bool(np.abs(right - wrong).max() > 1e-4 * np.abs(right).max())


def compare(dump, model, engine, *options):
    """What the command says of a dump and a model."""
    command = [sys.executable, "-m", "opscope", "compare", str(dump), str(model), "--engine", engine, "--json", "--quiet", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode in (0, 3, 4), ended.stderr
    return json.loads(ended.stdout)


def named(comparison):
    """The operators that the first divergence names: the one that differs, and those before it that only the export has."""
    first = comparison["first_divergence"]
    if first is None:
        return []
    return [first["operator"], *(name.rsplit(" (", 1)[0] for name in first["between"])]


def has_line(dump, model, engine):
    """Whether the first divergence is told with a line of the program."""
    command = [sys.executable, "-m", "opscope", "compare", str(dump), str(model), "--engine", engine, "--rows", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    return re.search(r":[0-9]+  \S", printed.partition("first to diverge")[2]) is not None


def told(comparison):
    only = comparison["only_in_tensors"] + comparison["only_in_reference"]
    return f"named {named(comparison)[:4]}, only on one side {only[:4]}, problems {comparison['problems'][:2]}"
