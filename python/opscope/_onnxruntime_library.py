"""Where the library of ONNX Runtime is that is installed beside this package. Nothing is imported to find it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

__all__ = ["library"]


def library() -> Path | None:
    """The library of the package `onnxruntime`; None where ORT_DYLIB_PATH names one, or there is no such package."""
    if os.environ.get("ORT_DYLIB_PATH"):
        return None
    try:
        spec = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(Path(place, "capi").glob("libonnxruntime.so*"))
        if found:
            return found[-1]
    return None
