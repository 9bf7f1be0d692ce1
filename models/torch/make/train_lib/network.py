"""A small network with everything that makes names: nested modules, repeated layers, and calls of functions."""

import torch
from torch import nn
from torch.nn import functional as F

from train_lib.attention import Attention


class ConvBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.c1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.c2 = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, x):
        return F.relu(self.c2(F.relu(self.c1(x))))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.Tanh(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attn(x)
        return x + self.mlp(x)


class Network(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = ConvBlock(1, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(2))
        self.head = nn.Linear(width, 3)

    def forward(self, image):
        x = self.stem(image).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return torch.log(self.head(x.mean(1)))
