"""The processes of a distributed program, which wait for each other."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["longest_stop"]

# What is left is for what the others do until they wait.
_SHARE = 0.8


def longest_stop() -> float | None:
    """How long a debugger may stop this process, in seconds: other ranks wait for it in collectives, which time out. `None` if there are none."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return None
    from torch.distributed import distributed_c10d

    timeouts = []
    for group in distributed_c10d._world.pg_map:
        for device in group._device_types:
            # A backend may have no time-out.
            with contextlib.suppress(Exception):
                timeouts.append(group._get_backend(device).options._timeout.total_seconds())
    return _SHARE * min(timeouts) if timeouts else None
