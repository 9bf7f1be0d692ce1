"""A network whose weights are spread over ranks: the first layer by columns, the second one by rows."""

import torch
import torch.distributed as dist
from torch import nn

import opscope.torch as ot

# What each rank has a part of: the outputs of the first layer, what is computed from them, and addends of the second.
SHARDS = ["up:dim=-1", "Network:dim=-1", "down/aten.mm:sum"]


class Joined(nn.Linear):
    """Adds up what the ranks computed."""

    def __init__(self, inputs, outputs, world):
        super().__init__(inputs, outputs, bias=False)
        self.world = world

    def forward(self, x):
        x = super().forward(x)
        if self.world > 1:
            dist.all_reduce(x)
        return x


class Network(nn.Module):
    def __init__(self, rank, world):
        super().__init__()
        torch.manual_seed(2)
        up, down = nn.Linear(8, 16), nn.Linear(16, 8, bias=False)
        self.up, self.down = nn.Linear(8, 16 // world), Joined(16 // world, 8, world)
        self.norm = nn.LayerNorm(8)
        part = slice(rank * 16 // world, (rank + 1) * 16 // world)
        with torch.no_grad():
            self.up.weight.copy_(up.weight[part])
            self.up.bias.copy_(up.bias[part])
            self.down.weight.copy_(down.weight[:, part])

    def forward(self, x):
        return self.norm(self.down(torch.relu(self.up(x))))


def dump(rank, world, path):
    """Dumps a rank's run. The network is made before, so that the dump is of the run alone."""
    network = Network(rank, world)
    torch.manual_seed(1)
    x = torch.randn(4, 8)
    with torch.no_grad(), ot.dump(path, level="op"):
        network(x)


def on_rank(rank, world, port, place):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    dump(rank, world, place / f"rank-{rank}")
    dist.destroy_process_group()
