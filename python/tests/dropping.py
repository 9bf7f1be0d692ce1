"""Makes models, tensors, arrays of them, dumps, tables, iterators and debuggers, and drops them in random orders. What is left has to be
usable, and to be what it was. Nothing may be left behind.

    python dropping.py MODEL IMAGE DUMP ORDERS SEED [FAULT]

FAULT is made on purpose, to see that it is found: `leak` keeps a model of each order, `lend` makes an array that does not keep its memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import opscope

# A thing, and what checks that it is what it was.
Thing = tuple[Any, Callable[[Any], None]]

# What may be left besides, and of each order: what allocators keep for threads that have ended. Twenty models take as much.
BESIDES, PER_ORDER = 256 << 10, 64
# The same where only the pages of the process are known, of which more are taken than are used.
PAGES, PAGES_PER_ORDER = 8 << 20, 200


def main() -> None:
    path, image_path, dump_path = map(Path, sys.argv[1:4])
    orders, seed = map(int, sys.argv[4:6])
    fault = sys.argv[6] if len(sys.argv) > 6 else None
    kept: list[Any] = []
    image = np.load(image_path)
    order = random.Random(seed)
    expected = {engine: opscope.load(path, engine=engine).run(image)["probabilities"].tobytes() for engine in ("tract", "onnxruntime")}  # type: ignore[arg-type]
    before: dict[str, int] | None = None
    for number in range(orders):
        # What the allocators keep for the next order is there after some of them.
        if number == orders // 2:
            before = left()
        engine = order.choice(["tract", "tract", "tract", "onnxruntime"])
        things = made(path, image, dump_path, engine, expected[engine])
        if fault == "leak":
            kept.append(things[0][0])
        elif fault == "lend":
            things.append(lent(things[2]))
        while things:
            thing, check = things.pop(order.randrange(len(things)))
            if order.random() < 0.5:
                check(thing)
            del thing, check
            if things and order.random() < 0.3:
                thing, check = order.choice(things)
                check(thing)
                del thing, check
    after = left()
    assert before is not None
    assert after["files"] <= before["files"] and after["threads"] <= before["threads"], (before, after)
    assert after["maps"] <= before["maps"] + 32, (before, after)
    besides, per_order = (BESIDES, PER_ORDER) if allocated() else (PAGES, PAGES_PER_ORDER)
    assert after["bytes"] <= before["bytes"] + besides + per_order * (orders - orders // 2), (before, after)
    print(f"{orders} orders, {before} then {after}")


def made(path: Path, image: np.ndarray, dump_path: Path, engine: Any, expected: bytes) -> list[Thing]:
    def same(bytes_of: Callable[[Any], bytes], known: bytes) -> Callable[[Any], None]:
        def check(thing: Any) -> None:
            assert bytes_of(thing) == known

        return check

    def check_model(model: opscope.Model) -> None:
        assert model.run(image)["probabilities"].tobytes() == expected

    model = opscope.load(path, engine=engine)
    given = image.copy()
    y = model.run([given])["probabilities"]
    # The engine reads an input where it is, and has no part in what becomes of it.
    given.fill(np.nan)
    contents = same(lambda tensor: tensor.tobytes(), expected)
    things: list[Thing] = [(model, check_model), (given, lambda array: None), (y, contents)]
    things += [(array, contents) for array in (np.asarray(y), np.from_dlpack(y), y.numpy())]
    things += [(y.__dlpack__(), lambda capsule: None), (y.__dlpack__(max_version=(1, 0)), lambda capsule: None)]

    dump = opscope.open(dump_path)
    assert isinstance(dump, opscope.Dump)
    last = dump[-1]
    stored = same(lambda tensor: np.asarray(tensor).tobytes(), last.tobytes())
    operator = dump["/conv1/Conv"]
    things += [(dump, lambda dump: stored(dump[-1])), (last, stored), (np.asarray(last), stored)]
    things += [(operator, lambda operator: operator.output[0].tobytes()), (operator.output[0], lambda tensor: tensor.statistics)]
    table = dump.table
    names = table["value"]
    read = pa.table(table)
    things += [(table, lambda table: check_names(table["value"], names)), (table.__arrow_c_stream__(), lambda capsule: None)]
    things += [(table.__arrow_c_schema__(), lambda capsule: None), (read, lambda read: check_names(read["value"].to_pylist(), names))]

    stream = model.dump([image])
    first = next(stream)
    streamed = same(lambda tensor: tensor.tobytes(), first.tobytes())
    things += [(stream, lambda stream: check_next(stream)), (first, streamed), (np.from_dlpack(first), streamed)]

    debugger = model.debug([image])
    debugger.__enter__()
    debugger.break_at("/conv2/Conv")
    stop = debugger.run()
    assert stop is not None
    taken = stop.inputs[0]
    stopped = same(lambda tensor: tensor.tobytes(), taken.tobytes())
    things += [(debugger, lambda debugger: None), (stop, lambda stop: str(stop)), (taken, stopped), (taken.numpy(), stopped)]
    return things


def lent(thing: Thing) -> Thing:
    """An array of a tensor's memory that does not keep the tensor."""
    tensor, check = thing
    memory = (ctypes.c_uint8 * tensor.nbytes).from_address(tensor.__array_interface__["data"][0])
    return np.frombuffer(memory, np.uint8), check


def check_names(found: list[Any], expected: list[Any]) -> None:
    assert found == expected


def check_next(stream: opscope.DumpStream) -> None:
    tensor = next(stream, None)
    assert tensor is None or tensor.statistics.is_finite


def left() -> dict[str, int]:
    """What the process has: memory, files, threads, mappings. Threads of runs that were left end by themselves."""
    gc.collect()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(name.startswith("opscope-") for name in threads()):
        time.sleep(0.01)
    return {
        "bytes": allocated() or int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(threads()),
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
    }


class Allocations(ctypes.Structure):
    """What the allocator of the C library tells of itself: `struct mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def allocated() -> int:
    """The bytes that are allocated, by Python too if its allocator is that of the C library, as `PYTHONMALLOC=malloc_debug` has it. Other
    allocators in its place tell nothing: 0."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Allocations
    told = mallinfo2()
    return int(told.uordblks + told.hblkhd)


def threads() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            # It has ended meanwhile.
            continue
    return names


if __name__ == "__main__":
    main()
