"""What a library says of a value that it cannot read is not passed on."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream_anon import Anonymizer, Policy, anonymize_frame
from stream_anon.errors import InputError
from tests.support.policies import write_policy

VALUE = "Anna 1974-03-02"
ROWS: list[dict[str, Any]] = [
    {"person": f"p{n}", "age": "30", "illness": "flu", "home.city": "Oslo", "visits": 1} for n in range(5)
]
ROWS.append({**ROWS[0], "person": "p9", "age": VALUE})


def _polars() -> Any:
    pl = pytest.importorskip("polars")
    return pl.DataFrame(ROWS).lazy().with_columns(pl.col("age").cast(pl.Int64))


def _duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", pa.Table.from_pylist(ROWS))
    return connection.sql("select * replace (cast(age as integer) as age) from people")


def _reader() -> Any:
    def batches() -> Iterator[Any]:
        yield pa.RecordBatch.from_pylist(ROWS[:5])
        raise ValueError(f"no number: {VALUE}")

    return pa.RecordBatchReader.from_batches(pa.RecordBatch.from_pylist(ROWS).schema, batches())


@pytest.mark.parametrize("frame", [_polars, _duckdb, _reader])
def test_a_frame_that_cannot_be_read_is_told_without_its_values(tmp_path: Path, frame: Any) -> None:
    policy = Policy.load(write_policy(tmp_path))
    # Tables that are lazy are read at once, and readers piece by piece.
    read = (lambda given: list(Anonymizer(policy).add(given))) if frame is _reader else None
    given = frame()
    with pytest.raises(InputError, match=r"^frame: cannot be read \(\w+\)$") as caught:
        read(given) if read else anonymize_frame(given, policy)
    assert VALUE not in "".join(traceback.format_exception(caught.value))
