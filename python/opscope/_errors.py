"""The exceptions. Each has the sentence that the command prints."""

from __future__ import annotations

from typing import Any

__all__ = ["DebugError", "EngineError", "Error", "FileError", "InputError", "ModelError", "NonFinite"]


class Error(Exception):
    """The base of all errors of opscope."""


class ModelError(Error):
    """The file is not a model, or no engine here can run it."""


class EngineError(Error):
    """An engine is missing, or a run failed."""


class InputError(Error, ValueError):
    """An argument does not fit: inputs of a model, names of operators, options."""


class FileError(Error):
    """Files of recordings, dumps and reports cannot be read or written."""


class DebugError(Error):
    """The debugger cannot do this, or not at this moment."""


class NonFinite(Error):
    """A PyTorch program computed the first NaN, or the first infinity. The attributes say where."""

    operator: str
    op_type: str
    step: int
    phase: str
    module: str | None
    class_name: str | None
    file: str | None
    line: int | None
    code: str | None
    found: str
    # Whether an input of the operator has it. Otherwise the operator made it.
    came_in: bool
    first_infinity: str | None
    # Of each input: name, dtype, shape, written, nan, inf, min and max.
    inputs: list[dict[str, Any]]


for _error in (DebugError, EngineError, Error, FileError, InputError, ModelError, NonFinite):
    _error.__module__ = "opscope"
