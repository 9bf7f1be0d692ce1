"""What is attached to PyTorch while a program is watched: hooks of modules and optimizers, and the dispatch mode."""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch

from opscope import _opscope
from opscope._errors import InputError
from opscope.torch._device_clock import clock_of
from opscope.torch._stance import Stance

__all__ = ["DumpResult", "ProfileResult", "Session", "end_step", "interpreting"]


@dataclass
class DumpResult:
    """What a block has written. It is filled in when the block ends."""

    directory: Path | None = None
    complete: bool = False
    tensors: int = 0
    bytes: int = 0
    operators: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass
class ProfileResult:
    """What a block has recorded. It is filled in when the block ends."""

    directory: Path | None = None
    complete: bool = False
    steps: int = 0
    executions: int = 0
    operators: int = 0
    bytes: int = 0
    errors: list[str] = field(default_factory=list)


_TWICE = "Using `torch.compile\\(module\\)` when there are global hooks"
# The class around a module that torch.compile has compiled. Run as it is written, it only calls that module.
_WRAPPER = "OptimizedModule"


class _Captured(threading.local):
    """The modules whose captured graphs are being executed on this thread."""

    modules: list[Any] = []


# The sessions that are attached. A fork detaches those of its parent.
_attached: weakref.WeakSet[Session] = weakref.WeakSet()


# What each thread has of a mode, as long as the thread lives.
_modes = threading.local()


class _ModeOfThread:
    """Takes a mode off the stack of a thread that ends. PyTorch would release it after the interpreter, which aborts the process."""

    def __init__(self, tap: Any, threads: set[int]) -> None:
        self.tap = tap
        self.thread = threading.get_ident()
        self.threads = threads
        threads.add(self.thread)

    def __del__(self) -> None:
        self.threads.discard(self.thread)
        depth = torch._C._len_torch_dispatch_stack() if threading.get_ident() == self.thread else 0
        if depth and torch._C._get_dispatch_stack_at(depth - 1) is self.tap:
            torch._C._pop_torch_dispatch_stack(None)


class Session:
    """A tap and what calls it."""

    def __init__(self, *, level: str, backward: bool, steps: str | None, compiled: str, reduces_all: bool = False) -> None:
        if compiled not in ("eager", "interpret", "outside"):
            raise InputError(f"compiled is eager, interpret or outside, not '{compiled}'")
        if compiled == "interpret" and level != "op":
            raise InputError("what torch.compile has captured consists of operators: to interpret it, the level must be op")
        if compiled == "interpret" and not hasattr(torch.compiler, "set_stance"):
            raise InputError(f"to interpret what torch.compile has captured, PyTorch must be 2.6 or later, and is {torch.__version__}")
        script = Path(getattr(sys.modules.get("__main__"), "__file__", None) or "(interactive)")
        self.tap = _opscope.TorchTap(
            (script, _hash(script)),
            torch.__version__,
            level=level,
            backward=backward,
            steps=steps,
            reduces_all=reduces_all,
        )
        self.result: Any = DumpResult()
        self._profiles = False
        self._has_clock = False
        self._level = level
        self._compiled = compiled
        self._handles: list[Any] = []
        # The threads that have the mode on their stacks.
        self._threads: set[int] = set()
        self._stance: Stance | None = None
        # Takes the mode off the stacks of other threads, after a detach.
        self._popper: Any = None
        self._told: set[int] = set()
        self._unknown: set[str] = set()
        self._captured = _Captured()

    def dump(self, directory: Path, statistics: bool, select: list[str], acl_json: tuple[str, str] | None = None) -> list[str]:
        """Writes what is computed into a directory, or what an acl.json says, of which the text is given with the directory that its
        paths are relative to. Returns notes for the user."""
        return self.tap.dump(directory, statistics, select, self._compiled, acl_json)

    def profile(self, directory: Path, tools: Sequence[Path] = ()) -> None:
        """Records when modules or operators are executed. Consumers that are found get it as well, and may run these tools."""
        self.tap.consume(list(tools))
        self.tap.profile(directory, torch.get_num_threads())
        self.result = ProfileResult()
        self._profiles = True

    def attach(self) -> None:
        """Begins to look, from the next call of a module on, and on this thread at once."""
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        tap, is_compiling = self.tap, torch.compiler.is_compiling
        # Threads that have the mode still keep it.
        if self._popper is not None:
            self._popper.remove()
        tap.wake()

        # Dynamo traces these two functions into the code that it compiles. The first line of each keeps the rest out.
        def before(module: Any, args: Any) -> None:
            if is_compiling():
                return
            self.enter(module, args)

        def after(module: Any, args: Any, *rest: Any) -> None:
            if is_compiling():
                return
            self.leave(module, rest[-1] if rest else None)

        self._handles = [
            register_module_forward_pre_hook(before),
            register_module_forward_hook(after, always_call=True),
            register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: tap.optimizer(optimizer)),
            register_optimizer_step_post_hook(lambda optimizer, args, kwargs: tap.optimizer(None)),
        ]
        if self._compiled != "outside":
            self._stance = Stance(self._compiled)
            self._stance.enter()
        # PyTorch would warn the program that hooks see a compiled module twice. These do not.
        warnings.filterwarnings("ignore", message=_TWICE)
        _attached.add(self)
        if self._profiles:
            self._find_clock()
        if self._level == "op":
            self._push()

    def enter(self, module: Any, args: tuple[Any, ...]) -> None:
        """Enters the call of a module with these arguments."""
        # A call whose hooks were being called when this was detached still calls the rest of them.
        if not self._handles:
            return
        if self._compiled == "outside" and _is_compiled(module):
            self._tell(module, "was compiled by torch.compile, and its inside was not looked at")
        if type(module).__name__ == _WRAPPER and self._compiled != "outside":
            if self._compiled == "eager":
                # It only calls that module, whose own hooks are called then.
                return
            module = module._orig_mod
            self._captured.modules = [*self._captured.modules, module]
        if self._profiles and not self._has_clock:
            self._find_clock()
        if self.tap.enter(module, args):
            self._push()

    def leave(self, module: Any, output: Any) -> None:
        """Leaves the call of a module, which has returned this."""
        if type(module).__name__ == _WRAPPER and self._compiled != "outside":
            if self._compiled == "eager":
                return
            module = module._orig_mod
            self._captured.modules = self._captured.modules[:-1]
        self.tap.leave(module, output)

    def enter_captured(self, module: Any) -> None:
        """Enters the call of a module in a graph, unless it is the one that was captured, whose call was entered outside."""
        if module not in self._captured.modules[-1:]:
            self.enter(module, ())

    def leave_captured(self, module: Any, has_failed: bool) -> None:
        """Leaves the call of a module in a graph. What it returns is not known there."""
        if module not in self._captured.modules[-1:]:
            self.leave(module, None if has_failed else ())

    def tell_of_unseen_call(self, module: Any) -> None:
        """Says that a module was called without its hooks."""
        self._tell(module, "was compiled in place by Module.compile, so what it computes itself is named script; compile it with torch.compile(module) to keep its name")

    def tell_of_unknown_module(self, path: str) -> None:
        """Says that a module of a graph was not found in the program."""
        if path not in self._unknown:
            self._unknown.add(path)
            self.tap.not_seen("modules of captured graphs", f"{path} was not found: its operators are named after what is around it")

    def _tell(self, module: Any, what: str) -> None:
        if id(module) not in self._told:
            self._told.add(id(module))
            self.tap.not_seen("compiled modules", f"{type(getattr(module, '_orig_mod', module)).__name__} {what}")

    def detach(self) -> None:
        """Stops looking. Calls in progress continue unchanged."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        _attached.discard(self)
        self._pop()
        if self._threads:
            self._pop_elsewhere()
        if self._stance is not None:
            self._stance.exit()
            self._stance = None

    @property
    def is_attached(self) -> bool:
        """Whether it looks."""
        return bool(self._handles)

    def sleep(self) -> None:
        """Ends the step, and looks at nothing until it is attached again."""
        self.tap.sleep()
        self.detach()

    def close(self, error: str | None) -> None:
        """Closes the dump, and fills in the result."""
        told = self.tap.close(error)
        if told is not None:
            for name, value in told.items():
                setattr(self.result, name, value)
            self.result.directory = Path(self.result.directory or "")

    def forget(self) -> None:
        """Detaches in the child of a fork, where nothing can be written."""
        self.tap.die()
        self._threads.clear()
        self._handles, handles = [], self._handles
        for handle in handles:
            handle.remove()
        self._pop()

    def _find_clock(self) -> None:
        clock = clock_of()
        if clock is not None:
            self._has_clock = True
            self.tap.set_clock(clock)

    def _push(self) -> None:
        torch._C._push_on_torch_dispatch_stack(self.tap)
        self.tap.set_mode(True)
        _modes.of_thread = _ModeOfThread(self.tap, self._threads)

    def _pop(self) -> None:
        """Takes the mode off this thread's stack if it is the last one there."""
        depth = torch._C._len_torch_dispatch_stack()
        if depth and torch._C._get_dispatch_stack_at(depth - 1) is self.tap:
            torch._C._pop_torch_dispatch_stack(None)
            # Later, this would take the mode off that is entered again.
            _modes.of_thread = None
            self.tap.set_mode(False)
            self._threads.discard(threading.get_ident())

    def _pop_elsewhere(self) -> None:
        """Takes the mode off the stacks of other threads, each when it calls a module the next time. Until then it passes everything on,
        once it is closed."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        def pop(module: Any, args: Any) -> None:
            if torch.compiler.is_compiling():
                return
            if torch._C._current_autograd_node() is None:
                self._pop()
            if not self._threads:
                handle.remove()

        self._popper = handle = register_module_forward_pre_hook(pop)


def end_step() -> None:
    """Ends a step of every session."""
    if not _attached:
        return
    for session in list(_attached):
        session.tap.step()


def interpreting() -> list[Session]:
    """The sessions that look into what `torch.compile` has captured."""
    return [session for session in _attached if session._compiled == "interpret"]


def _is_compiled(module: Any) -> bool:
    return getattr(module, "_compiled_call_impl", None) is not None or type(module).__name__ == _WRAPPER


def _hash(script: Path) -> int:
    try:
        return int.from_bytes(blake2b(script.read_bytes(), digest_size=8).digest(), "big")
    except OSError:
        return 0


def _forget_all() -> None:
    for session in list(_attached):
        session.forget()
    _attached.clear()


os.register_at_fork(after_in_child=_forget_all)
