"""The exceptions. Each has the sentence that the command prints."""

__all__ = ["DebugError", "EngineError", "Error", "FileError", "InputError", "ModelError"]


class Error(Exception):
    """What opscope could not do."""


class ModelError(Error):
    """A file is no model, or no engine here runs it."""


class EngineError(Error):
    """An engine is not there, or a run failed."""


class InputError(Error, ValueError):
    """An argument does not fit: inputs of a model, names of operators, options."""


class FileError(Error):
    """Files of recordings, dumps and reports cannot be read or written."""


class DebugError(Error):
    """The debugger cannot do this, or not at this moment."""


for _error in (DebugError, EngineError, Error, FileError, InputError, ModelError):
    _error.__module__ = "opscope"
