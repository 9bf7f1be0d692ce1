"""Watches a program that `opscope torch` has started: from the first call of a module to its end."""

from __future__ import annotations

import atexit
import json
import os
import sys
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

__all__ = ["arm"]


class Program:
    """What this process does of what the command asked for."""

    # Whether what a watch finds is an exception in the program.
    raises = True

    def __init__(self, request: str) -> None:
        self.request: dict[str, Any] = json.loads(request)
        self.session: Any = None
        self.server: Any = None
        self.pid = os.getpid()
        self.handle: Any = None

    def arm(self) -> None:
        """Waits for the first call of a module. A launcher imports torch and calls none."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        self.pid = os.getpid()
        self.note("began", {})
        self.handle = register_module_forward_pre_hook(self.first_call)

    def first_call(self, module: Any, args: Any) -> None:
        import torch

        if torch.compiler.is_compiling():
            return
        self.handle.remove()
        try:
            self.begin()
        except BaseException as error:  # The program continues without opscope.
            self.session = None
            self.note("ended", {"errors": [f"it could not be watched: {error}"], "complete": False})
            print(f"opscope: this program is not watched: {error}", file=sys.stderr)
            return
        self.session.enter(module, args)

    def begin(self) -> None:
        from opscope import _opscope
        from opscope.torch._ranks import longest_stop
        from opscope.torch._session import Session

        wanted = self.request
        watches, profiles, debugs = (wanted["what"] == what for what in ("watch", "profile", "debug"))
        self.session = Session(
            level="op" if watches or debugs else wanted["level"],
            backward=watches or profiles or debugs or wanted["backward"],
            steps=wanted["steps"],
            compiled=wanted["compiled"],
        )
        if watches:
            self.session.tap.watch(wanted["nonfinite"], raises=self.raises)
        elif debugs:
            self.server = _opscope.TorchServer(evaluates=wanted["evaluates"])
            self.session.tap.debug(self.server)
            self.server.set_longest_stop(longest_stop())
            self.server.listen(wanted["socket"], stops=wanted["stops"])
        else:
            directory = self.directory()
            directory.parent.mkdir(parents=True, exist_ok=True)
            if profiles:
                self.session.profile(directory, [Path(tool) for tool in wanted["tools"]])
            else:
                acl_json = wanted["acl_json"] and tuple(wanted["acl_json"])
                for note in self.session.dump(directory, wanted["statistics"], wanted["select"], acl_json):
                    print(f"opscope: {note}", file=sys.stderr)
            self.note("directory", {"directory": str(directory)})
        self.session.attach()
        atexit.register(self.end)
        # The processes of multiprocessing end without atexit's functions.
        Finalize(self, self.end, exitpriority=0)

    def directory(self) -> Path:
        """The directory of this process: one for each rank, and for each process that no rank tells apart."""
        root = Path(self.request["directory"])
        rank = os.environ.get("RANK")
        if rank is not None and os.environ.get("WORLD_SIZE", "1") != "1":
            root = root / f"rank-{rank}"
        return root if not root.exists() else root.with_name(f"{root.name}-process-{self.pid}")

    def end(self) -> None:
        if self.session is None or os.getpid() != self.pid:
            return
        # In a process of multiprocessing, the exception that ends it is still on its way.
        failure = getattr(sys, "last_value", None) or sys.exc_info()[1]
        if isinstance(failure, SystemExit) and not failure.code:
            failure = None
        self.session.detach()
        self.close(None if failure is None else f"{type(failure).__name__}: {failure}")

    def close(self, failure: str | None) -> None:
        """Closes what was written, and leaves a note about it."""
        self.session.close(failure)
        if self.server is not None:
            self.server.close()
        result = self.session.result
        self.note("ended", {**vars(result), "finding": self.session.tap.finding()})
        self.session = None

    def forked(self) -> None:
        """The child of a fork is a program of its own, if it calls modules."""
        if self.handle is not None:
            self.handle.remove()
        self.session = None
        self.arm()

    def note(self, what: str, facts: dict[str, Any]) -> None:
        """Leaves a note for the command."""
        notes = Path(self.request["notes"])
        whole = notes / f"{self.pid}.{what}.json"
        part = whole.with_suffix(".part")
        part.write_text(json.dumps({"pid": self.pid, "rank": os.environ.get("RANK"), **facts}, default=str))
        part.rename(whole)


def arm(request: str) -> None:
    """Prepares this process, and the children that it forks."""
    program = Program(request)
    program.arm()
    os.register_at_fork(after_in_child=program.forked)
