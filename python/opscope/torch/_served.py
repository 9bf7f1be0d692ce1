"""A program with `OPSCOPE_TORCH=serve`: debuggers attach to it while it runs, and so does what `opscope torch dump --attach` and the like ask
for. Until then it has a thread that waits, and no hook.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from opscope import _opscope
from opscope.torch._program import Program
from opscope.torch._ranks import longest_stop
from opscope.torch._session import Session

__all__ = ["arm"]

_CALL = torch.nn.Module._call_impl.__code__


def _is_outermost() -> bool:
    """Whether the module whose hooks are being called is called by no other module, nor by autograd."""
    if torch.compiler.is_compiling() or torch._C._current_autograd_node() is not None:
        return False
    frame: FrameType | None = sys._getframe(1)
    calls = 0
    while frame is not None and calls < 2:
        calls += frame.f_code is _CALL
        frame = frame.f_back
    return calls < 2


class _AtNextCall:
    """Does something at the next call of an outermost module, on the thread that calls it."""

    def __init__(self, do: Callable[[Any, Any], None]) -> None:
        self.do = do
        self.lock = threading.Lock()
        # Another thread may call a module before the hook's handle is known.
        with self.lock:
            self.handle: Any = register_module_forward_pre_hook(self.called)

    def called(self, module: Any, args: Any) -> None:
        if not _is_outermost() or not self.remove():
            return
        try:
            self.do(module, args)
        except Exception:  # The program continues without opscope.
            traceback.print_exc()

    def remove(self) -> bool:
        """Forgets it. Returns whether it was still to be done: of several threads, one does it."""
        with self.lock:
            self.handle, handle = None, self.handle
        if handle is None:
            return False
        handle.remove()
        return True


class _Instrument(Program):
    """An instrument that was attached while the program ran: for some steps, then it is gone."""

    raises = False

    def __init__(self, request: str, served: Served) -> None:
        super().__init__(request)
        self.served = served
        # Ends the instrument early.
        self.is_unwanted = False
        # Of several threads, one detaches it.
        self.leaving = threading.Lock()

    def arm(self) -> None:
        self.note("began", {})
        self.handle = _AtNextCall(self.first_call)

    def first_call(self, module: Any, args: Any) -> None:
        try:
            self.begin()
        except BaseException as error:
            self.session = None
            self.note("ended", {"errors": [f"it could not be attached: {error}"], "complete": False})
            self.served.instruments.remove(self)
            return
        self.session.enter(module, args)
        # Behind the hooks of the session, so that it has seen a call that begins the step after the last.
        self.handle = register_module_forward_pre_hook(self.check)

    def check(self, module: Any, args: Any) -> None:
        # Another thread may detach it meanwhile.
        session = self.session
        if torch.compiler.is_compiling() or session is None or torch._C._current_autograd_node() is not None:
            return
        if self.is_unwanted or session.tap.is_over or (self.request["what"] == "watch" and session.tap.finding()):
            self.leave()

    def note(self, what: str, facts: dict[str, Any]) -> None:
        # The command may be gone, with the place for its notes.
        with contextlib.suppress(OSError):
            super().note(what, facts)

    def leave(self) -> None:
        """Detaches, on a thread that is about to call a module."""
        if not self.leaving.acquire(blocking=False):
            return
        self.handle.remove()
        try:
            self.session.detach()
            self.close(None)
        except Exception as error:  # The program continues.
            self.session = None
            self.note("ended", {"errors": [f"it could not be ended: {error}"], "complete": False})
        self.served.instruments.remove(self)


class Served:
    """A program that can be attached to."""

    def __init__(self, evaluates: bool) -> None:
        # Whether debuggers may evaluate expressions.
        self.evaluates = evaluates
        # The session of the debugger that is attached, and what happens to it at the next call. It looks at the program only while the
        # debugger wants something of it; `idle` is the hook that ends that.
        self.session: Session | None = None
        self.idle: Any = None
        self.next: _AtNextCall | None = None
        self.instruments: list[_Instrument] = []
        # The servers of the processes that this one was forked from have no threads here, so they are never closed.
        self.servers: list[Any] = []
        self.serve()
        os.register_at_fork(after_in_child=self.forked)
        atexit.register(self.finish)

    def serve(self, *_: Any) -> None:
        self.pid = os.getpid()
        server = _opscope.TorchServer(evaluates=self.evaluates)
        server.set_callbacks(self.changed, self.instrument)
        server.listen(quiet=True)
        self.servers.append(server)

    def forked(self) -> None:
        """A process that was forked can be attached to once it calls modules."""
        if self.next is not None:
            self.next.remove()
        for instrument in self.instruments:
            instrument.handle.remove()
            instrument.session = None
        self.session = None
        self.stop_checking()
        self.instruments = []
        self.next = _AtNextCall(self.serve)

    def finish(self) -> None:
        if os.getpid() == self.pid:
            self.leave()
            self.servers[-1].close()

    def changed(self) -> None:
        """A debugger has attached, is gone, or wants something of the program."""
        if self.next is not None:
            self.next.remove()
        self.next = _AtNextCall(self.follow)

    def follow(self, module: Any, args: Any) -> None:
        """Does what the debugger wants now, on a thread that is about to call a module."""
        server = self.servers[-1]
        if not server.is_attached:
            self.leave()
            return
        if self.session is None:
            self.session = Session(level="op", backward=True, steps=None, compiled="eager")
            self.session.tap.debug(server)
            server.set_longest_stop(longest_stop())
        if self.session.is_attached or not server.is_interested:
            return
        # Before the hooks of the session, which then does not see the call with which it falls asleep.
        self.idle = register_module_forward_pre_hook(self.check)
        try:
            self.session.attach()
        except BaseException:
            self.leave()
            raise
        self.session.enter(module, args)

    def check(self, module: Any, args: Any) -> None:
        """Lets the session sleep while the debugger wants nothing."""
        session = self.session
        if torch.compiler.is_compiling() or self.servers[-1].is_interested or session is None or not _is_outermost():
            return
        self.stop_checking()
        session.sleep()

    def stop_checking(self) -> None:
        self.idle, idle = None, self.idle
        if idle is not None:
            idle.remove()

    def leave(self) -> None:
        self.session, session = None, self.session
        self.stop_checking()
        if session is not None:
            session.detach()
            session.close(None)

    def instrument(self, request: str) -> None:
        """Attaches what a command asks for, or ends it."""
        instrument = _Instrument(request, self)
        if instrument.request["what"] != "end":
            self.instruments.append(instrument)
            instrument.arm()
            return
        for known in self.instruments:
            if known.request["notes"] == instrument.request["notes"]:
                known.is_unwanted = True


# Of several threads that are asked, one starts the server.
_starting = threading.Lock()
_started = False


def serve_now() -> None:
    """Lets debuggers attach to this process from now on, unless they can already."""
    global _started
    with _starting:
        if not _started:
            Served(evaluates=False)
        _started = True


def arm(words: str) -> None:
    """Prepares this process, and the children that it forks."""
    wanted = words.split(",")
    if "serve" not in wanted or set(wanted) - {"serve", "eval"}:
        raise ValueError(f"OPSCOPE_TORCH is serve or serve,eval, not '{words}'")
    Served(evaluates="eval" in wanted)
