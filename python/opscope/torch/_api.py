"""Context managers that watch the PyTorch code within them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Union

from opscope import _opscope
from opscope._errors import InputError
from opscope.torch._session import DumpResult, ProfileResult, Session, end_step

__all__ = ["DumpResult", "ProfileResult", "dump", "profile", "step", "watch"]

Level = Literal["module", "op"]
Compiled = Literal["eager", "interpret", "outside"]


@contextmanager
def dump(
    directory: Union[str, "os.PathLike[str]", None] = None,
    *,
    level: Level | None = None,
    backward: bool = False,
    select: Union[str, Sequence[str]] = (),
    statistics: bool = False,
    steps: str | None = None,
    compiled: Compiled = "eager",
    acl_json_path: Union[str, "os.PathLike[str]", None] = None,
) -> Iterator[DumpResult]:
    """Writes what the PyTorch code of the block computes into a new directory.

    `level` is `module`, the outputs of modules, or `op`, those of every operator. With `backward`, gradients as well: of the outputs of
    modules, or what every operator of autograd and of optimizers computes. `select` are names or patterns of operators and modules, such
    as `layers.[0-3]*`. `steps` such as `0..2` are the steps that are looked at. With `statistics`, only the statistics of the tensors are
    written. What `torch.compile` compiled runs as it is written within the block. With `compiled="interpret"` the graph that it captured is
    executed operator by operator instead, and with `outside` it is left as it is, and only what it takes and returns is looked at.

    `acl_json_path` is a configuration file of AscendCL's. Its dump section says which operators are dumped, in which steps and whether with
    what they take, in AscendCL's files. Without a directory, the dump gets the date and time as its name in the directory of the file.

    The result says after the block whether the dump is complete, and what is missing.
    """
    selected = [select] if isinstance(select, str) else list(select)
    acl_json: tuple[str, str] | None = None
    if acl_json_path is not None:
        if selected or statistics or level == "module":
            raise InputError("an acl.json says what of which operators is dumped: level, select and statistics do not go with it")
        text, named, _ = _opscope.read_acl_json(acl_json_path, os.getcwd(), time.strftime("%Y%m%d-%H%M%S"))
        directory, acl_json, level = directory or named, (text, os.getcwd()), "op"
    if directory is None:
        raise InputError("no directory is given")
    session = Session(level=level or "module", backward=backward, steps=steps, compiled=compiled)
    Path(directory).parent.mkdir(parents=True, exist_ok=True)
    session.dump(Path(directory), statistics, selected, acl_json)
    yield from _run(session)


@contextmanager
def watch(*, nonfinite: Literal["nan", "any"] = "nan", steps: str | None = None, compiled: Compiled = "eager") -> Iterator[DumpResult]:
    """Raises `opscope.NonFinite` at the first operator of the block that computes NaN, in the forward or the backward pass or in an
    optimizer. With `nonfinite="any"`, also at the first infinity; masks often have infinities that no result has.
    """
    session = Session(level="op", backward=True, steps=steps, compiled=compiled)
    session.tap.watch(nonfinite)
    yield from _run(session)


@contextmanager
def profile(
    directory: Union[str, "os.PathLike[str]"],
    *,
    level: Level = "module",
    steps: str | None = None,
    compiled: Compiled = "eager",
) -> Iterator[ProfileResult]:
    """Records when the modules of the block are executed, or with `level="op"` every operator, in a new directory: a recording as those
    of models, which `opscope inspect`, `opscope compare` and `opscope.open` read. Its runs are steps.

    What `torch.compile` compiled runs as it is written within the block, or as `compiled` says for `dump`; `outside` times it as a whole.
    """
    session = Session(level=level, backward=True, steps=steps, compiled=compiled)
    Path(directory).parent.mkdir(parents=True, exist_ok=True)
    session.profile(Path(directory))
    yield from _run(session)


def step() -> None:
    """Ends a step. Once a program has called this, nothing else does: otherwise a step is an iteration of the outermost module."""
    end_step()


def _run(session: Session) -> Iterator[Any]:
    error: str | None = None
    session.attach()
    try:
        yield session.result
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
        raise
    finally:
        session.detach()
        session.close(error)
