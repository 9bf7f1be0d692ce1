"""Attention with one head."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.scale = width**-0.5

    def forward(self, x):
        scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) * self.scale
        attn = torch.softmax(scores, -1)
        return self.out(torch.matmul(attn, self.v(x)))
