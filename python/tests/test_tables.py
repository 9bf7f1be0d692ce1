"""Tables: what Arrow's readers make of them."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import opscope


def test_a_table_is_its_columns(digits: opscope.Model) -> None:
    table = digits.operators
    assert len(table) == 16 == len(table.rows())
    assert list(table) == table.rows()
    assert table.rows()[0] == {name: table[name][0] for name in table.column_names}
    assert table["operator"][0] == "/conv1/Conv"
    with pytest.raises(KeyError, match="no column 'kind'; it has operator"):
        table["kind"]


def test_pyarrow_reads_a_table_without_a_copy(digits: opscope.Model) -> None:
    table = digits.profile(runs=20).operators
    read = pa.table(table)
    assert read.num_rows == len(table) and read.column_names == table.column_names
    for name in table.column_names:
        assert read[name].to_pylist() == table[name], name
    kinds = {field.name: str(field.type) for field in read.schema}
    assert kinds["operator"] == "string" and kinds["percent"] == "double" and kinds["exact"] == "bool"
    assert kinds["dispatches"] == "int64"
    read.validate(full=True)

    def places(table: pa.Table) -> list[int]:
        return [buffer.address for column in table.columns for buffer in column.chunks[0].buffers() if buffer is not None]

    assert places(read) == places(pa.table(table))
    # What was read keeps the memory.
    rows = read.to_pylist()
    del table
    gc.collect()
    assert read.to_pylist() == rows


def test_rows_without_a_value(digits: opscope.Model) -> None:
    """A column with gaps: of a dump of two operators, inputs of the model have no run."""
    table = digits.profile(runs=3).operators
    read = pa.table(table)
    # Three runs are too few for an interval.
    assert read["median_low_ns"].null_count == len(table) == table["median_low_ns"].count(None)
    assert read["fused"].to_pylist() == table["fused"]


def test_a_schema_and_a_stream_that_nobody_reads(digits: opscope.Model) -> None:
    table = digits.operators
    schema = pa.schema(table)
    assert schema.names == table.column_names
    table.__arrow_c_schema__()
    stream = table.__arrow_c_stream__()
    del table
    reader = pa.RecordBatchReader._import_from_c_capsule(stream)
    batches = list(reader)
    assert len(batches) == 1 and batches[0].num_rows == 16


def test_a_notebook_shows_the_beginning_of_a_table(digits: opscope.Model) -> None:
    html = digits.operators._repr_html_()
    assert html.startswith("<table>") and "/conv1/Conv" in html and "<script" not in html
