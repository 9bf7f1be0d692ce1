"""Traces of other tools as recordings."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import opscope


def span(name: str, category: str, start: float, duration: float) -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 2, "ts": start, "dur": duration}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace with two steps of one operator, and the name of a process, which has no place in a recording."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]
    for step in range(2):
        events += [span(f"ProfilerStep#{step}", "user_annotation", 100 * step, 90), span("aten::mm", "cpu_op", 100 * step + 10, 50.125)]
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()))
    return path


def test_a_trace_becomes_a_recording(trace: Path, tmp_path: Path) -> None:
    imported = opscope.import_trace(trace, tmp_path / "a")
    assert (imported.directory, imported.format, imported.events, imported.imported) == (tmp_path / "a", "Kineto", 5, 4)
    assert (imported.runs, imported.complete, imported.incomplete_because) == (2, True, [])
    told = json.loads(imported.json())
    assert (told["source"], told["not_imported"]) == (str(trace), [{"kind": "metadata", "name": "process_name", "count": 1}])
    profile = opscope.open(imported.directory)
    assert isinstance(profile, opscope.Profile)
    assert profile.operators["operator"] == ["aten::mm"]
    assert repr(imported) == f"<opscope.ImportedTrace {tmp_path / 'a'}: 4 of 5 events>"


def test_ranges_that_are_named_are_runs(trace: Path, tmp_path: Path) -> None:
    assert opscope.import_trace(trace, tmp_path / "a", run="re:Step#1$").runs == 1
    with pytest.raises(opscope.InputError, match="run is no name and no pattern"):
        opscope.import_trace(trace, tmp_path / "b", run="re:(")


def test_damage_is_told_and_what_is_no_trace_is_refused(trace: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes(gzip.decompress(trace.read_bytes())[:-40])
    imported = opscope.import_trace(cut, tmp_path / "a")
    assert not imported.complete and "the file ends within an event" in imported.incomplete_because[0]
    with pytest.raises(opscope.FileError):
        opscope.import_trace(cut, tmp_path / "a")
    (tmp_path / "words").write_text("hello")
    with pytest.raises(opscope.InputError, match="a text of another kind"):
        opscope.import_trace(tmp_path / "words", tmp_path / "b")
