"""Small networks of many kinds. Each function returns a network and its inputs, and seeds everything itself."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states[:, -1])


class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups = heads, groups
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width // heads * groups)
        self.o = nn.Linear(width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        size = width // self.heads
        q = self.q(x).view(batch, length, self.heads, size).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, self.groups, size).permute(2, 0, 3, 1, 4)
        q, k = rotate(q), rotate(k)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) / size**0.5
        attention = torch.softmax(scores.masked_fill(mask, -torch.inf), -1)
        return self.o((attention @ v).transpose(1, 2).reshape(batch, length, width))


def rotate(x):
    """Rotary positions, by complex numbers."""
    length, size = x.shape[-2:]
    angles = torch.outer(torch.arange(length), 1 / 100 ** (torch.arange(size // 2) / size))
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], size // 2, 2).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, 4, 2)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, mask):
        x = x + self.attention(self.norm(x), mask)
        return x + self.down(F.gelu(self.up(x)))


class Transformer(nn.Module):
    """With tied embeddings, rotary positions and grouped queries."""

    def __init__(self, checkpointed=None):
        super().__init__()
        self.embedding = nn.Embedding(13, 16)
        self.layers = nn.ModuleList(Block(16) for _ in range(2))
        self.head = nn.Linear(16, 13, bias=False)
        self.head.weight = self.embedding.weight
        self.checkpointed = checkpointed

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        for layer in self.layers:
            x = layer(x, mask) if self.checkpointed is None else checkpoint(layer, x, mask, use_reentrant=self.checkpointed)
        return self.head(x)


class Moe(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x):
        weights, chosen = torch.softmax(self.gate(x), -1).topk(2)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, slots = torch.where(chosen == number)
            result.index_add_(0, rows, weights[rows, slots, None] * expert(x[rows]))
        return result


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(4, 4, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 1, 2, stride=2)

    def forward(self, x):
        down = F.silu(self.down(x))
        return self.up(torch.cat([down, F.silu(self.middle(down))], 1))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 6), nn.Linear(3, 8)

    def forward(self, x):
        mean, log = self.encoder(x).chunk(2, -1)
        return self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * log))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.again = self.layer

    def forward(self, x):
        return self.again(torch.tanh(self.layer(x)))


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        hidden = self.layer(x)
        return {"hidden": hidden, "sums": [hidden.sum(), hidden.mean(0)]}


@dataclass
class Result:
    logits: torch.Tensor
    loss: torch.Tensor


class Dataclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Named()

    def forward(self, x):
        inner = self.inner(x)
        return Result(inner["hidden"], inner["sums"][0])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return gradient * 3 * x * x


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return Cube.apply(self.layer(x))


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        z = y.add(1).mul_(2)
        z[:, 1:3].sigmoid_()
        return torch.clamp(z, max=3)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, dtype=torch.complex64))

    def forward(self, x):
        spectrum = torch.fft.fft(x.to(torch.complex64)) @ self.weight
        return (spectrum.conj() * spectrum).real + spectrum.conj().imag


class Odd(nn.Module):
    """Tensors that lie in memory in other ways, and of other types."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x):
        y = self.layer(x)
        half = y.t().to(torch.bfloat16) * 2
        wide = y.to(torch.float64)[:, ::2] + 1
        whole = (y > 0).sum(-1, keepdim=True).expand(-1, 3) * 2
        empty = y[:0] * 2
        return y + half.t().float() + wide.float().sum() + whole.sum() + empty.sum() + y.half().float()


def seeded(make, *inputs):
    def build():
        torch.manual_seed(7)
        network = make()
        return network, [each() for each in inputs]

    return build


def tokens(high):
    return lambda: torch.randint(high, (2, 5))


def numbers(*shape):
    return lambda: torch.randn(*shape)


NETS = {
    "cnn": seeded(Cnn, numbers(2, 3, 8, 8)),
    "lstm": seeded(Lstm, tokens(11)),
    "transformer": seeded(Transformer, tokens(13)),
    "checkpointed": seeded(lambda: Transformer(checkpointed=False), tokens(13)),
    "reentrant": seeded(lambda: Transformer(checkpointed=True), tokens(13)),
    "moe": seeded(Moe, numbers(8, 6)),
    "unet": seeded(UNet, numbers(2, 1, 8, 8)),
    "vae": seeded(Vae, numbers(3, 8)),
    "shared": seeded(Shared, numbers(3, 4)),
    "dict": seeded(Named, numbers(3, 4)),
    "dataclass": seeded(Dataclass, numbers(3, 4)),
    "custom": seeded(Custom, numbers(3, 4)),
    "inplace": seeded(InPlace, numbers(3, 4)),
    "complex": seeded(Complex, numbers(3, 4)),
    "odd": seeded(Odd, numbers(3, 4)),
    "encoder": seeded(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), numbers(2, 5, 8)),
}


def loss_of(output):
    """One number, of whatever a network returns."""
    if isinstance(output, torch.Tensor):
        return output.float().square().mean()
    if isinstance(output, Result):
        return output.loss + output.logits.square().mean()
    if isinstance(output, dict):
        return sum(loss_of(item) for item in output.values())
    return sum(loss_of(item) for item in output)


def train(network, inputs, steps=1, optimizer=torch.optim.AdamW):
    """Trains, and returns the losses."""
    optimizer = optimizer(network.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(network(*inputs))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
