"""Ranges, marks, and what a recorder has of them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import opscope


def test_a_recorder_has_ranges_marks_and_operators(digits: opscope.Model, image: np.ndarray) -> None:
    digits.run([image])
    with opscope.record() as recorder:
        with opscope.range("outer"):
            opscope.mark("begin")
            with opscope.range("inner"):
                digits.run([image])
    rows = recorder.table.rows()
    assert len(recorder) == len(rows) and recorder.dropped == 0
    by_name = {row["name"]: row for row in rows}
    outer, inner, begin = by_name["outer"], by_name["inner"], by_name["begin"]
    assert (outer["kind"], begin["kind"]) == ("range", "mark")
    assert outer["start_ns"] <= begin["start_ns"] <= inner["start_ns"] <= inner["end_ns"] <= outer["end_ns"]
    operators = [row for row in rows if row["kind"] == "operator"]
    assert operators and {row["op_type"] for row in operators} >= {"Conv", "Gemm", "Softmax"}
    assert all(inner["start_ns"] <= row["start_ns"] <= row["end_ns"] <= inner["end_ns"] for row in operators)
    assert len({row["thread"] for row in rows}) == 1


def test_nothing_is_recorded_outside_of_the_block() -> None:
    recorder = opscope.record()
    with opscope.range("before"):
        with recorder:
            opscope.mark("during")
    opscope.mark("after")
    assert recorder.table["name"] == ["during"]
    # The same recorder again adds to what it has.
    with recorder, opscope.range("again"):
        pass
    assert recorder.table["name"] == ["during", "again"]
    with recorder, pytest.raises(RuntimeError, match="already running"):
        recorder.__enter__()


def test_a_range_may_be_entered_within_itself_and_ends_where_it_began() -> None:
    again = opscope.range("again")
    with opscope.record() as recorder:
        with again, again:
            opscope.mark("inside")
        abandoned = opscope.range("abandoned").__enter__()
        del abandoned
        entered = opscope.range("entered").__enter__()
        # A thread ends only what it has begun.
        thread = threading.Thread(target=lambda: entered.__exit__(None, None, None))
        thread.start()
        thread.join()
        assert sorted(recorder.take()["name"]) == ["abandoned", "again", "again", "inside"]
        entered.__exit__(None, None, None)
        # It was left before.
        entered.__exit__(None, None, None)
    names = recorder.table["name"]
    assert names == ["entered"]
    assert repr(again) == '<opscope.range "again">'
    with pytest.raises(TypeError):
        opscope.range(1)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        opscope.range("\ud800")


def test_a_range_that_was_entered_before_the_recorder_or_is_left_after_it_ends_nothing_else() -> None:
    shared = opscope.range("shared")
    shared.__enter__()
    with opscope.record() as recorder:
        within = threading.Event()
        go_on = threading.Event()

        def other() -> None:
            with shared:
                within.set()
                go_on.wait()

        thread = threading.Thread(target=other)
        thread.start()
        within.wait()
        shared.__exit__(None, None, None)
        assert len(recorder.take()) == 0
        go_on.set()
        thread.join()
        assert recorder.take()["name"] == ["shared"]
        shared.__enter__()
    # Nothing is recorded here, and what is left is the inner one.
    shared.__enter__()
    with opscope.record() as recorder:
        shared.__exit__(None, None, None)
        assert len(recorder.take()) == 0
        shared.__exit__(None, None, None)
    assert recorder.table["name"] == ["shared"]


def test_records_are_taken_out_while_more_come_and_make_room(digits: opscope.Model, image: np.ndarray) -> None:
    with opscope.record(capacity=40) as recorder:
        taken = []
        for number in range(5):
            with opscope.range(f"request {number}"):
                digits.run([image])
            opscope.mark("done")
            taken.append(recorder.take())
        assert len(recorder) == 0
        opscope.mark("last")
    assert [[name for name, kind in zip(table["name"], table["kind"]) if kind == "range"] for table in taken] == [
        [f"request {number}"] for number in range(5)
    ]
    assert all("mark" in table["kind"] and "operator" in table["kind"] for table in taken)
    assert recorder.dropped == 0
    assert recorder.take()["name"] == ["last"]
    assert len(recorder.take()) == 0


def test_records_come_from_all_threads_and_the_most_are_kept() -> None:
    with opscope.record(capacity=50) as recorder:

        def work() -> None:
            for _ in range(20):
                opscope.mark("tick")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(recorder) == 50 and recorder.dropped == 30
    assert set(recorder.table["name"]) == {"tick"}
