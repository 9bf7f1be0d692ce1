"""A backend for `torch.compile` that executes the captured graph node by node, so that a session sees every operator of it with its module
and line: the graph that a compiler would get, in which nothing is fused yet."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import torch

from opscope.torch import _session

__all__ = ["interpret"]

# How the graph names a module: as an attribute of a local or global variable of the function that was compiled. Parts that are numbered
# have another form in older releases of PyTorch.
_PATH = re.compile(r"([LG])\['(\w+)'\](?:\.(.+))?")
_NUMBERED = re.compile(r"\._modules\['([^']+)'\]")
_FRAME = re.compile(r'File "(.+)", line (\d+), in ')
# The name by which the code of a line calls the function that is executed there.
_CALL = "__opscope_call__"


def interpret(graph: torch.fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
    """The backend. Without a session that interprets, it executes the graph as PyTorch's backend `eager` does."""
    codes = {node: [_code(file, line) for file, line in _lines(node)] for node in graph.graph.nodes}

    def run(*args: Any) -> Any:
        sessions = _session.interpreting()
        if not sessions:
            return graph.forward(*args)
        execution = _Execution(graph, codes, sessions, sys._getframe(1))
        try:
            result = execution.run(*args)
        except BaseException:
            execution.within([], has_failed=True)
            raise
        execution.within([])
        return result

    return run


class _Execution(torch.fx.Interpreter):  # type: ignore[misc]
    """One execution of a graph, within the modules and on the lines that its nodes come from."""

    def __init__(
        self, graph: torch.fx.GraphModule, codes: dict[torch.fx.Node, list[CodeType]], sessions: list[_session.Session], frame: FrameType
    ) -> None:
        super().__init__(graph)
        # The program's exceptions stay unchanged: PyTorch would add the lines of the node to them, which their
        # tracebacks have anyway.
        self.extra_traceback = False
        self._codes = codes
        self._sessions = sessions
        # The function that was compiled, or one that it calls.
        self._frame = frame
        # The calls of modules that the current node is in: their keys in the graph, and the modules.
        self._open: list[tuple[str, Any]] = []
        self._tell_of_unseen_calls()

    def run_node(self, n: torch.fx.Node) -> Any:
        """Executes a node in its module and on its line."""
        run = super().run_node
        if n.op in ("placeholder", "output"):
            return run(n)
        self.within([(key, path) for key, (path, _) in n.meta.get("nn_module_stack", {}).items()])
        return _on_lines(self._codes[n], lambda: run(n))

    def within(self, wanted: list[tuple[str, str]], *, has_failed: bool = False) -> None:
        """Leaves the modules that are not among these, and enters those that are missing."""
        same = 0
        while same < min(len(wanted), len(self._open)) and wanted[same][0] == self._open[same][0]:
            same += 1
        while len(self._open) > same:
            _, module = self._open.pop()
            for session in self._sessions:
                session.leave_captured(module, has_failed)
        for key, path in wanted[same:]:
            module = self._module(path)
            if module is None:
                for session in self._sessions:
                    session.tell_of_unknown_module(path)
                break
            for session in self._sessions:
                session.enter_captured(module)
            self._open.append((key, module))

    def _module(self, path: str) -> Any:
        """The module to which the graph gives this name, or `None` if it is not found."""
        match = _PATH.fullmatch(_NUMBERED.sub(r".\1", path))
        if match is None:
            return None
        where, name, rest = match.groups()
        for frame in self._frames():
            root = (frame.f_locals if where == "L" else frame.f_globals).get(name)
            # PyTorch's own functions around the program's have a `self`, too.
            if isinstance(root, torch.nn.Module):
                return _attribute(root, rest)
        return None

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = self._frame
        while frame is not None:
            yield frame
            frame = frame.f_back

    def _tell_of_unseen_calls(self) -> None:
        """PyTorch calls no hook of a module that was compiled in place, so what it computes itself has no module."""
        for frame in self._frames():
            module = frame.f_locals.get("self") if frame.f_code.co_name == "_wrapped_call_impl" else None
            if getattr(module, "_compiled_call_impl", None) is not None:
                for session in self._sessions:
                    session.tell_of_unseen_call(module)


def _attribute(root: Any, path: str | None) -> Any:
    for name in path.split(".") if path else []:
        root = getattr(root, name, None)
    return root if isinstance(root, torch.nn.Module) else None


def _lines(node: torch.fx.Node) -> list[tuple[str, int]]:
    """The lines that a node comes from, the innermost last."""
    trace = node.meta.get("stack_trace") or ""
    return [(file, int(line)) for file, line in _FRAME.findall(trace)]


def _code(file: str, line: int) -> CodeType:
    """Code that stands on this line of this file, and calls what it is given. A tap and a traceback find the line of the program."""
    return compile("\n" * (line - 1) + f"{_CALL}()", file, "exec")


def _on_lines(codes: list[CodeType], call: Callable[[], Any]) -> Any:
    """Calls something on these lines, each of which calls the next."""
    results: list[Any] = []
    last: Callable[[], Any] = lambda: results.append(call())
    for code in reversed(codes):
        last = functools.partial(exec, code, {_CALL: last})
    last()
    return results[0]
