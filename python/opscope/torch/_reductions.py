"""Statistics of tensors on a device: computed there, or of a copy that is fetched later."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

__all__ = ["fetch", "reduce"]

_INFINITY = float("inf")

COPIED = 1 << 20
"""Tensors of up to so many bytes are copied: that is one call of the device, and the statistics are more than twenty."""


class Copy(NamedTuple):
    """A copy in the processor's memory, which the device writes while the program continues."""

    tensor: Any
    device: Any


def reduce(tensor: Any) -> Any:
    """Begins to copy a small tensor, or to compute the statistics of a large one on its device. Returns a `Copy`, or a tensor of eight
    numbers there: elements that are NaN, +infinity, -infinity and zero, and of the finite ones the smallest, the largest, the sum, and
    the Euclidean norm. `None` if it is of a type or a size for which the processor does this at once.
    """
    if tensor.is_complex() or tensor.numel() == 0 or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    x = tensor.detach()
    if x.numel() * x.element_size() <= COPIED:
        return Copy(x.to("cpu", non_blocking=True, copy=True), x.device)
    if not x.is_floating_point():
        x = x.to(torch.uint8) if x.dtype == torch.bool else x
        wide = x.to(torch.float64)
        nothing = torch.zeros((), dtype=torch.float64, device=x.device)
        parts = [nothing, nothing, nothing, (x == 0).sum(), wide.amin(), wide.amax(), wide.sum(), torch.linalg.vector_norm(wide)]
        return torch.stack([part.to(torch.float64) for part in parts])
    wide = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    finite = wide.isfinite()
    clean = torch.where(finite, wide, 0.0)
    parts = [
        wide.isnan().sum(),
        (wide == _INFINITY).sum(),
        (wide == -_INFINITY).sum(),
        (wide == 0).sum(),
        torch.where(finite, wide, _INFINITY).amin(),
        torch.where(finite, wide, -_INFINITY).amax(),
        clean.sum(dtype=torch.float64),
        torch.linalg.vector_norm(clean, dtype=torch.float64),
    ]
    return torch.stack([part.to(torch.float64) for part in parts])


def fetch(reductions: list[Any]) -> list[Any]:
    """Waits for what was begun. Returns the copies, and the eight numbers, which are copied from each device at once."""
    results: list[Any] = [None] * len(reductions)
    places: dict[Any, list[int]] = {}
    devices = set()
    for place, reduction in enumerate(reductions):
        if isinstance(reduction, Copy):
            results[place] = reduction.tensor
            devices.add(reduction.device)
        else:
            places.setdefault(reduction.device, []).append(place)
    for device in devices:
        if device.type != "cpu":
            getattr(torch, device.type).synchronize(device)
    for own in places.values():
        numbers = torch.stack([reductions[place] for place in own]).cpu().tolist()
        for place, row in zip(own, numbers):
            results[place] = row
    return results
