"""Sessions of ONNX Runtime that commands attach to while the program runs: debuggers, dumps, recordings."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

import opscope
from opscope._onnxruntime_library import library as installed_library
from opscope._opscope import ServedSession, SessionCapture, SessionServer

__all__ = ["Served", "listen"]

PathLike = Union[str, "os.PathLike[str]"]

_RUNS = 100
# The longest time of a recording, in seconds.
_LONGEST = 10


class _Process:
    """The server of this process. The first session starts it; that of the process that this one was forked from has no thread here."""

    lock = threading.Lock()
    server: SessionServer | None = None
    number = 0

    @classmethod
    def forked(cls) -> None:
        cls.lock = threading.Lock()

    @classmethod
    def listen(cls, socket: Path | None) -> SessionServer:
        with cls.lock:
            if cls.server is None or cls.number != os.getpid():
                cls.server, cls.number = SessionServer(), os.getpid()
                cls.server.listen(socket)
                atexit.register(cls.server.close)
            return cls.server


os.register_at_fork(after_in_child=_Process.forked)


def listen(where: str) -> SessionServer:
    """Lets commands attach to this process from now on, and returns its server. `where` is 1, or the path of a socket with a slash."""
    if where != "1" and len(Path(where).parts) < 2 and not where.startswith("./"):
        raise opscope.InputError(f"OPSCOPE_DEBUG_SERVER is 1 or a path such as ./socket, and not '{where}'")
    return _Process.listen(None if where == "1" else Path(where))


class Served:
    """A session, for those who attach."""

    def __init__(self, source: PathLike | bytes | bytearray | memoryview, threads: int, server: SessionServer) -> None:
        self.source = source
        self.threads = threads
        if isinstance(source, (str, os.PathLike)):
            self.path, data = Path(source), None
        else:
            self.path, data = Path("(memory)"), bytes(source)
        self.server, self.session = server, server.show(self.path, data, threads, installed_library())

    @property
    def is_wanted(self) -> bool:
        """Whether anybody is attached. Each run looks here."""
        return self.server.is_wanted

    def observe(self, feed: dict[str, Any], names: Sequence[str]) -> list[Any] | None:
        """Begins what commands want, and runs with the debugger where one is attached. Returns the outputs of these names then; None if
        the session's own run has to take place."""
        import numpy

        while (capture := self.server.take()) is not None:
            self.begin(capture, feed)
        if not self.server.is_attached:
            return None
        outputs = self.session.run(feed)
        if outputs is None:
            return None
        by_name = {output.name: output for output in outputs}
        # Arrays of the program's own, which it may write to.
        return [numpy.array(by_name[name]) for name in names] if all(name in by_name for name in names) else None

    def begin(self, capture: SessionCapture, feed: dict[str, Any]) -> None:
        import numpy

        # The program may change its arrays meanwhile.
        copies = {name: numpy.array(value) for name, value in feed.items()}
        # Not a daemon: a program that ends meanwhile waits until it is whole.
        work = threading.Thread(target=self.capture, args=(capture, copies), name="opscope-capture")
        try:
            work.start()
        except RuntimeError as error:
            capture.tell(str(self.path), f"no thread can be started for it: {error}")

    def capture(self, capture: SessionCapture, feed: dict[str, Any]) -> None:
        """Makes a dump or a recording beside the program, which comes first wherever both want a processor."""
        capture.yield_processors()
        try:
            error = self.captured(capture, feed)
        except Exception as reason:
            error = str(reason)
        capture.tell(str(self.path), error)

    def captured(self, capture: SessionCapture, feed: dict[str, Any]) -> str | None:
        # Loaded here, so that its threads have this one's priority.
        model = opscope.load(self.source, engine="onnxruntime", threads=self.threads)
        capture.directory.parent.mkdir(parents=True, exist_ok=True)
        if capture.kind == "dump":
            made: opscope.Dump | opscope.Profile = model.write_dump(capture.directory, feed)
        else:
            median = model.benchmark(feed, runs=1).median
            made = model.profile(feed, runs=max(1, min(_RUNS, int(_LONGEST / max(median, 1e-9)))))
            made.save(capture.directory)
        return None if made.complete else "; ".join(made.problems)
