"""Types of arguments, for checkers of types."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Union

__all__ = ["Array", "Inputs", "ModelProto", "ModelSource"]


class ModelProto(Protocol):
    """What `onnx.ModelProto` has."""

    def SerializeToString(self) -> bytes: ...


# Anything that knows DLPack, numpy's array interface or the buffer protocol, and numbers and lists of them.
Array = Any
# Arrays by the names of the inputs, or in their order; the array itself for a model that takes one.
Inputs = Union[Mapping[str, Array], Sequence[Array], Array]
ModelSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, ModelProto]
