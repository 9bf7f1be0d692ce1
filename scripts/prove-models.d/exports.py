"""Exports small networks by PyTorch into a directory: `python exports.py DIR`, in an environment that has torch.

Eight architectures, with random weights of a fixed seed, each by both of PyTorch's exporters (`script`, the one that
traces, and `dynamo`), with all dimensions fixed and with free ones; besides, some in half precision. For each export
DIR gets NAME.onnx and its inputs, NAME.input.INDEX.npy, in the order of the graph's inputs. An export that PyTorch
refuses is written to NAME.refused with the reason.
"""

import contextlib
import io
import math
import pathlib
import sys
import warnings

import numpy as np
import torch
from exports_list import HALVES
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """A basic block of a ResNet."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.short(x))


class ResNet(nn.Module):
    """A ResNet of four stages that classifies images of any size."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(*[Residual(a, b, s) for a, b, s in [(32, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 2)]])
        self.head = nn.Linear(256, 100)

    def forward(self, image):
        return self.head(F.adaptive_avg_pool2d(self.stages(self.stem(image)), 1).flatten(1))


class Inverted(nn.Module):
    """A block of a MobileNetV3: widen, depthwise, squeeze and excite, narrow."""

    def __init__(self, channels, wide, out, stride):
        super().__init__()
        self.widen = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 16, 1), nn.ReLU(), nn.Conv2d(16, wide, 1), nn.Hardsigmoid())
        self.narrow = nn.Sequential(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))
        self.same = stride == 1 and channels == out

    def forward(self, x):
        y = self.depth(self.widen(x))
        y = self.narrow(y * self.excite(y))
        return x + y if self.same else y


class MobileNet(nn.Module):
    """A MobileNetV3 in small."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6())
        shapes = [(16, 64, 24, 2), (24, 72, 24, 1), (24, 96, 40, 2), (40, 120, 40, 1), (40, 160, 64, 2)]
        self.blocks = nn.Sequential(*[Inverted(*shape) for shape in shapes])
        self.head = nn.Sequential(nn.Linear(64, 128), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(128, 100))

    def forward(self, image):
        return torch.softmax(self.head(self.blocks(self.stem(image)).mean((2, 3))), 1)


class Recurrent(nn.Module):
    """A recurrent net over a sequence of features, with a class for each of its elements, and its last state."""

    def __init__(self, kind, both_ways):
        super().__init__()
        self.net = kind(40, 64, num_layers=2, batch_first=True, bidirectional=both_ways)
        self.head = nn.Linear(128 if both_ways else 64, 10)

    def forward(self, features):
        every, state = self.net(features)
        return self.head(every), state[0] if isinstance(state, tuple) else state


class Encoder(nn.Module):
    """A transformer encoder with a mask for padding, and the mean of what is no padding."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        self.places = nn.Embedding(64, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, 0.0, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        x = self.layers(x, src_key_padding_mask=mask == 0)
        weights = mask.unsqueeze(-1).to(x.dtype)
        return x, (x * weights).sum(1) / weights.sum(1)


class Attention(nn.Module):
    """Causal attention with rotary places, fewer heads for keys than for queries, and a cache."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = nn.Linear(128, 128), nn.Linear(128, 64), nn.Linear(128, 64), nn.Linear(128, 128)

    def forward(self, x, mask, turn, past):
        batch, length, _ = x.shape
        q, k, v = (part(x).view(batch, length, -1, 32).transpose(1, 2) for part in (self.query, self.key, self.value))
        q, k = rotated(q, turn), rotated(k, turn)
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        spread = [each.repeat_interleave(2, 1) for each in (k, v)]
        mixed = F.scaled_dot_product_attention(q, *spread, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, 128)), torch.stack([k, v])


def rotated(x, turn):
    """`x` with its halves turned against each other by the places' angles."""
    a, b = x.chunk(2, -1)
    return x * turn[0] + torch.cat([-b, a], -1) * turn[1]


class Norm(nn.Module):
    """A root mean square norm."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(128))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Decoder(nn.Module):
    """A language model in the manner of today's: one step that reads `ids` after a cache, and passes the cache on."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        self.attention = nn.ModuleList([Attention() for _ in range(2)])
        self.gate, self.up, self.down = (nn.ModuleList([nn.Linear(*s) for _ in range(2)]) for s in [(128, 256), (128, 256), (256, 128)])
        self.norms = nn.ModuleList([Norm() for _ in range(5)])

    def forward(self, ids, cache):
        """`cache` is [layer, key or value, batch, head, place, 32]."""
        known, new = cache.shape[4], ids.shape[1]
        places = torch.arange(known, known + new)
        angles = places[:, None] * torch.exp(torch.arange(16) * (-math.log(10000) / 16))
        turn = [torch.cat([part, part], -1).to(cache.dtype) for part in (angles.cos(), angles.sin())]
        mask = torch.arange(known + new)[None, :] <= places[:, None]
        x, caches = self.words(ids), []
        for index in range(2):
            mixed, kept = self.attention[index](self.norms[2 * index](x), mask, turn, cache[index])
            x = x + mixed
            caches.append(kept)
            y = self.norms[2 * index + 1](x)
            x = x + self.down[index](F.silu(self.gate[index](y)) * self.up[index](y))
        return self.norms[4](x) @ self.words.weight.T, torch.stack(caches)


class Step(nn.Module):
    """A residual block of a UNet that knows the time."""

    def __init__(self, channels, out):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, out, 3, 1, 1))
        self.time = nn.Linear(64, out)
        self.second = nn.Sequential(nn.GroupNorm(8, out), nn.SiLU(), nn.Conv2d(out, out, 3, 1, 1))
        self.short = nn.Conv2d(channels, out, 1)

    def forward(self, x, time):
        return self.second(self.first(x) + self.time(time)[:, :, None, None]) + self.short(x)


class Look(nn.Module):
    """Attention between the pixels of a picture."""

    def __init__(self, channels):
        super().__init__()
        self.norm, self.mix = nn.GroupNorm(8, channels), nn.MultiheadAttention(channels, 4, batch_first=True)

    def forward(self, x):
        flat = self.norm(x).flatten(2).transpose(1, 2)
        return x + self.mix(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(x.shape)


class UNet(nn.Module):
    """A UNet as diffusion models have it."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 64))
        self.enter = nn.Conv2d(4, 32, 3, 1, 1)
        self.down, self.shrink = nn.ModuleList([Step(32, 32), Step(32, 64)]), nn.ModuleList([nn.Conv2d(32, 32, 3, 2, 1), nn.Conv2d(64, 64, 3, 2, 1)])
        self.low, self.look, self.last = Step(64, 64), Look(64), Step(64, 64)
        self.up, self.grow = nn.ModuleList([Step(128, 64), Step(96, 32)]), nn.ModuleList([nn.Conv2d(64, 64, 3, 1, 1), nn.Conv2d(64, 64, 3, 1, 1)])
        self.leave = nn.Sequential(nn.GroupNorm(8, 32), nn.SiLU(), nn.Conv2d(32, 4, 3, 1, 1))

    def forward(self, sample, timestep):
        rates = torch.exp(torch.arange(16) * (-math.log(10000) / 16))
        angles = timestep[:, None].float() * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1).to(sample.dtype))
        x, kept = self.enter(sample), []
        for step, shrink in zip(self.down, self.shrink):
            x = step(x, time)
            kept.append(x)
            x = shrink(x)
        x = self.last(self.look(self.low(x, time)), time)
        for step, grow in zip(self.up, self.grow):
            x = grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = step(torch.cat([x, kept.pop()], 1), time)
        return self.leave(x)


def pictures(batch):
    return {"image": torch.rand(batch, 3, 96, 96)}


def features(batch):
    return {"features": torch.randn(batch, 20, 40)}


def words(batch):
    mask = torch.ones(batch, 24).long()
    mask[1:, 17:] = 0
    return {"ids": torch.randint(0, 1000, (batch, 24)), "mask": mask}


def step(batch):
    return {"ids": torch.randint(0, 1000, (batch, 3)), "cache": torch.randn(2, 2, batch, 2, 13, 32)}


def noise(batch):
    return {"sample": torch.randn(batch, 4, 32, 32), "timestep": torch.randint(0, 1000, (batch,))}


BATCH = {0: "batch"}
NETS = {
    "resnet": (ResNet, pictures, {"image": BATCH}),
    "mobilenet": (MobileNet, pictures, {"image": {0: "batch", 2: "height", 3: "width"}}),
    "lstm": (lambda: Recurrent(nn.LSTM, False), features, {"features": BATCH}),
    "bilstm": (lambda: Recurrent(nn.LSTM, True), features, {"features": BATCH}),
    "gru": (lambda: Recurrent(nn.GRU, True), features, {"features": BATCH}),
    "encoder": (Encoder, words, {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}),
    "decoder": (Decoder, step, {"ids": {0: "batch", 1: "new"}, "cache": {2: "batch", 4: "known"}}),
    "unet": (UNet, noise, {"sample": BATCH, "timestep": BATCH}),
}
"""The net, its inputs for a batch of a size, and the dimensions that may be free."""


def main():
    into = pathlib.Path(sys.argv[1])
    for net in NETS:
        for exporter in ("script", "dynamo"):
            for free in (False, True):
                export(into, net, exporter, free, torch.float32)
    for net in HALVES:
        export(into, net, "dynamo", False, torch.float16)


def export(into, net, exporter, free, dtype):
    """Exports one net one way."""
    make, example, dimensions = NETS[net]
    half = "-half" if dtype == torch.float16 else ""
    path = into / f"{net}-{exporter}-{'free' if free else 'fixed'}{half}.onnx"
    if path.exists():
        return
    torch.manual_seed(7)
    model = make().eval().to(dtype)
    settle(model)
    feeds = fed(example(2), dtype)
    options = {"input_names": list(feeds), "dynamo": exporter == "dynamo"}
    if free and options["dynamo"]:
        options["dynamic_shapes"] = {name: {axis: torch.export.Dim.DYNAMIC for axis in axes} for name, axes in dimensions.items()}
    elif free:
        options["dynamic_axes"] = dimensions
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if options["dynamo"]:
                options["external_data"] = False
                options["verbose"] = False
            torch.onnx.export(model, tuple(feeds.values()), str(path), **options)
    except Exception as error:  # an exporter's failure is an outcome, too
        path.with_suffix(".refused").write_text(f"{type(error).__name__}: {error}")
        print(f"{path.stem}: refused by PyTorch: {str(error).strip().splitlines()[0]}")
        return
    used = fed(example(3), dtype) if free else feeds
    for index, x in enumerate(used.values()):
        np.save(path.with_name(f"{path.stem}.input.{index}.npy"), x.numpy())
    print(path.stem)


def fed(example, dtype):
    """The inputs with their fractions in `dtype`."""
    return {name: x.to(dtype) if x.is_floating_point() else x for name, x in example.items()}


def settle(model):
    """Gives batch norms statistics that are not those of a new net."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)


if __name__ == "__main__":
    main()
