"""Makes models, tensors, arrays of them, dumps, tables, iterators and debuggers, and drops them in random orders. What is left has to be
usable, and to be what it was. Nothing may be left behind.

    python dropping.py MODEL IMAGE DUMP ORDERS SEED
"""

from __future__ import annotations

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


def main() -> None:
    path, image_path, dump_path = map(Path, sys.argv[1:4])
    orders, seed = map(int, sys.argv[4:6])
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
    # A tensor has 320 bytes, an array 2 kB, a model some 100 kB.
    assert after["bytes"] <= before["bytes"] + (8 << 20) + 200 * (orders // 2), (before, after)
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
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(threads()),
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
    }


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
