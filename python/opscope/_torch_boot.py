"""What `import torch` calls in a program that `opscope torch` has started, or that has OPSCOPE_TORCH=serve. In any other program this is one look at the environment.

Nothing here may break `import torch`, and nothing is imported before it is needed.
"""

import os

__all__ = ["boot"]


def boot() -> None:
    """Called by torch when it has been imported, as an entry point of `torch.backends`."""
    request = os.environ.get("OPSCOPE_TORCH")
    if not request:
        return
    try:
        if request.startswith("{"):
            from opscope.torch import _program

            _program.arm(request)
        else:
            from opscope.torch import _served

            _served.arm(request)
    except BaseException as error:  # An exception would break `import torch`.
        import sys

        print(f"opscope: this program is not watched: {type(error).__name__}: {error}", file=sys.stderr)
