"""Statistics of tensors on a device, computed there."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["fetch", "reduce"]

_INFINITY = float("inf")


def reduce(tensor: Any) -> Any:
    """Begins to compute the statistics of a tensor on its device. Returns a tensor of eight numbers there: elements that are NaN, +infinity,
    -infinity and zero, and of the finite ones the smallest, the largest, the sum, and the Euclidean norm. `None` if it is of a type or a
    size for which the processor does this.
    """
    if tensor.is_complex() or tensor.numel() == 0 or tensor.layout is not torch.strided or tensor.is_quantized:
        return None
    x = tensor.detach()
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


def fetch(reductions: list[Any]) -> list[list[float]]:
    """Waits for the statistics that were begun, and copies them from each device at once."""
    places: dict[Any, list[int]] = {}
    for place, reduction in enumerate(reductions):
        places.setdefault(reduction.device, []).append(place)
    rows: list[list[float]] = [[] for _ in reductions]
    for own in places.values():
        numbers = torch.stack([reductions[place] for place in own]).cpu().tolist()
        for place, row in zip(own, numbers):
            rows[place] = row
    return rows
