"""PyTorch programs: every value, two runs compared, the first NaN with its source line.

    import opscope.torch as ot

    with ot.dump("out/a", level="op", backward=True):     # a directory that opscope.open, inspect and compare read
        model(x).sum().backward()
    with ot.watch():                                       # raises opscope.NonFinite: operator, module, line, inputs
        loss.backward()
    with ot.profile("out/p"):                              # a recording: where the time goes, by module
        model(x)

`opscope torch dump -- python train.py` does the same with a program as it is. docs/torch.md of the repository describes all of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opscope.torch._api import DumpResult, ProfileResult, dump, profile, step, watch

__all__ = ["DumpResult", "ProfileResult", "dump", "profile", "step", "watch"]


def __getattr__(name: str) -> Any:
    """Loads torch when something is asked for: the command starts programs that have it, and need not have it itself."""
    if name not in __all__:
        raise AttributeError(f"module 'opscope.torch' has no attribute '{name}'")
    from opscope.torch import _api

    return getattr(_api, name)
