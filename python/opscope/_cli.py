"""The command, as the program `opscope` and as `python -m opscope`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from opscope._onnxruntime_library import library

__all__ = ["main"]

# What starts the command in another process, for `--isolate` and for questions to libraries. The directory of this package comes first,
# and the working directory does not count.
_LAUNCH = "import sys; sys.path[:] = [{place!r}, *filter(None, sys.path)]; from opscope._cli import main; sys.exit(main())"


def main() -> int:
    """Runs the command with the words of this process, and returns its exit code."""
    place = _place()
    # A program that is attached to finds the package here, if its own environment has none.
    os.environ["OPSCOPE_PACKAGE"] = place
    if sys.argv[1:2] == ["torch"]:
        from opscope.torch import _command

        return _command.main(sys.argv[2:])
    from opscope import _opscope

    # Python's handler only sets a flag on Ctrl-C, so the command would not end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    found = library()
    if found is not None:
        os.environ["ORT_DYLIB_PATH"] = str(found)
    return _opscope.run_command(["opscope", *sys.argv[1:]], launcher())


def launcher() -> list[str]:
    """The words that start the command in another process; empty if the interpreter does not know its file."""
    return [sys.executable, "-c", _LAUNCH.format(place=_place())] if sys.executable else []


def _place() -> str:
    return str(Path(__file__).resolve().parent.parent)
