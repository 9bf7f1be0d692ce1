"""How what `torch.compile` has compiled is executed while a program is watched."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

__all__ = ["Stance"]

# Importing it takes seconds. A program that has not imported it has compiled nothing.
_COMPILER = "torch._dynamo"


class Stance:
    """The stance of the compiler: set while a program is watched. If the program has not imported the compiler, it is set when it does."""

    def __init__(self, compiled: str) -> None:
        self.compiled = compiled
        self.stance: Any = None
        self.waits: _AtImport | None = None

    def enter(self) -> None:
        # Before 2.6 there is none.
        if not hasattr(torch.compiler, "set_stance"):
            return
        if _COMPILER in sys.modules:
            self.set()
        else:
            self.waits = _AtImport(self.set)
            sys.meta_path.insert(0, self.waits)

    def set(self) -> None:
        if self.compiled == "interpret":
            from opscope.torch._interpreted import interpret

            self.stance = torch.compiler.set_stance("default", force_backend=interpret)
        else:
            self.stance = torch.compiler.set_stance("force_eager")
        self.stance.__enter__()

    def exit(self) -> None:
        if self.waits is not None:
            self.waits.remove()
        stance, self.stance = self.stance, None
        if stance is not None:
            stance.__exit__(None, None, None)


class _AtImport(importlib.abc.MetaPathFinder):
    """Does something when the compiler has been imported."""

    def __init__(self, do: Callable[[], None]) -> None:
        self.do = do

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _COMPILER:
            return None
        # The others find it.
        self.remove()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self.do()

            loader.exec_module = exec_module
        return spec

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
