"""The times of a device, by events that it passes in the order of its work."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["DeviceClock", "clock_of"]


class DeviceClock:
    """Events of a device. Nothing waits for the device but `milliseconds`, at the end of a step."""

    def __init__(self, device: Any) -> None:
        self._device = device
        # Events cost more to make than to record, so those of the last step are used again.
        self._free: list[Any] = []
        self._used: list[Any] = []
        device.synchronize()

    def mark(self) -> Any:
        """Lets the device record when it has done what it was given so far."""
        event = self._free.pop() if self._free else self._device.Event(enable_timing=True)
        self._used.append(event)
        event.record()
        return event

    def milliseconds(self, first: Any, events: list[Any]) -> list[float]:
        """Waits for the device. Returns how much later than the first event it passed the others."""
        self._device.synchronize()
        times = [first.elapsed_time(event) for event in events]
        self._free += self._used
        self._used.clear()
        return times


def clock_of() -> DeviceClock | None:
    """The clock of the device that the program uses. `None` if it uses none so far, or one without events."""
    accelerator = getattr(torch, "accelerator", None)
    current = accelerator.current_accelerator() if accelerator is not None and accelerator.is_available() else None
    kind = current.type if current is not None else "cuda"
    device = getattr(torch, kind, None)
    is_used = getattr(device, "is_initialized", None)
    if device is None or not hasattr(device, "Event") or is_used is None or not is_used():
        return None
    return DeviceClock(device)
