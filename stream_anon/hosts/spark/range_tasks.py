"""Ranges of a DataFrame along a line, each released in a task of its own, and joined to one table.

::

    rows ──▶ range and person of each ──▶ limit of each person ──▶ ranges ──▶ folders ──▶ one release
             (no shuffle)                 (shuffle by person)      (shuffle by range)     (the driver)

What becomes of a row before it is in its range follows from the row alone, and from the person's other rows. So a
task that Spark repeats finds the same rows, whatever order they come in. A range that has been released is not
released again.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Window, functions
from pyspark.sql.types import LongType

from stream_anon.conditions import Condition
from stream_anon.errors import InputError
from stream_anon.files.incoming import Incoming
from stream_anon.files.neighbours.line_ranges import JoinedRanges, LineRanges, RangeFolder
from stream_anon.formats.tables.format_names import Format, as_written
from stream_anon.hosts.release_folder import move
from stream_anon.hosts.spark.columns import cores_of, numbered, task_number, tasks_at_once
from stream_anon.judging.one_table import whole
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.keys import keyed_by
from stream_anon.microdata.policy import EVERY_RECORD, Policy

_RANGE, _PERSON, _OVER = "range", "person", "over"


def joined_ranges(
    read: Any, policy: Policy, ranges: LineRanges, folder: Path, accepted: Collection[Condition]
) -> JoinedRanges:
    """Release each range of a DataFrame, and return what joins them.

    Parameters
    ----------
    read
        With no other columns than the policy reads.
    folder
        Where the ranges are kept until they are joined; it must not exist.

    Raises
    ------
    InputError
        If a range is not there.
    """
    folder.mkdir(mode=0o700)
    policy, count, key = whole(as_written(policy, Format.PARQUET)), len(ranges), (_half(), _half())
    placed = _placed(read, policy, ranges, key, secrets.token_hex(16))
    _by_range(placed, count).mapInArrow(
        _RangeTask(folder, policy, read.columns, ranges, key, cores_of(read.sparkSession)), "part bigint"
    ).collect()
    folders = [_folder(folder, number) for number in range(count)]
    if not all(each.is_dir() for each in folders):
        raise InputError(f"{folder}: not all ranges are there, do all executors share the file system?")
    return JoinedRanges(policy, [RangeFolder(each) for each in folders], count, accepted)


def _placed(read: Any, policy: Policy, ranges: LineRanges, key: tuple[int, int], salt: str) -> Any:
    """Return rows with their range, and with whether they are beyond their person's limit.

    Which rows are does not depend on which came first, but on a salted hash of them. So does the range of a reject.
    """
    rows = numbered(read)
    schema = numbered(read).schema.add(_RANGE, LongType()).add(_PERSON, LongType())
    found = rows.mapInArrow(_PlacingTask(policy, read.columns, ranges, key), schema)
    chance, texts = _chance(rows, salt)
    over = functions.lit(False)
    if policy.individual != EVERY_RECORD:
        person = functions.coalesce(functions.col(_PERSON), chance)
        turn = functions.row_number().over(Window.partitionBy(person).orderBy(chance, *texts))
        over = turn > policy.window.max_records_per_individual
    by_chance = functions.pmod(chance, functions.lit(len(ranges)))
    placed = found.withColumn(_OVER, over)
    return placed.withColumn(_RANGE, functions.coalesce(functions.col(_RANGE), by_chance)).drop(_PERSON)


def _chance(rows: Any, salt: str) -> tuple[Any, list[Any]]:
    """Return a salted hash of each row, and the text of each column; rows that differ do so in one of them.

    The hash alone leaves nulls out, and takes -0.0 for 0.0.
    """
    columns = [functions.col(name) for name in rows.columns]
    texts = [column.cast("string") for column in columns]
    absent = (column.isNull() for column in columns)
    return functions.xxhash64(functions.lit(salt), *absent, *columns, *texts), texts


def _half() -> int:
    """Return half of a key that all tasks share, so that they give a person the same number."""
    return int.from_bytes(secrets.token_bytes(8), "little", signed=True)


def _by_range(frame: Any, count: int) -> Any:
    """Return a DataFrame whose partitions are ranges; before Spark 4.1 one may hold several, and others none."""
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(count, functions.col(_RANGE).cast("int")).drop(_RANGE)
    return frame.repartitionByRange(count, _RANGE).drop(_RANGE)


def _folder(ranges: Path, number: int) -> Path:
    return ranges / f"range={number:05d}"


@dataclass(frozen=True)
class _PlacingTask:
    """Adds range and person to rows; null for rejects.

    Parameters
    ----------
    names
        Of the columns.
    key
        Of the numbers of people.
    """

    policy: Policy
    names: list[str]
    ranges: LineRanges
    key: tuple[int, int]

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches as they came, with two columns more."""
        import pyarrow as pa

        find, incoming = self.ranges.finder(self.policy), Incoming(self.policy)
        for piece in pieces:
            first, found = incoming.count, np.zeros((2, len(piece)), np.int64)
            rejected = np.ones(len(piece), np.bool_)
            with keyed_by(self.key):
                batches = list(incoming.batches(pa.RecordBatch.from_arrays(piece.columns, self.names)))
            for batch in batches:
                rows = batch.offsets - first
                found[:, rows], rejected[rows] = (find(batch), batch.individuals), False
            columns = [*piece.columns, *(pa.array(column, mask=rejected) for column in found)]
            yield pa.RecordBatch.from_arrays(columns, [*piece.schema.names, _RANGE, _PERSON])


@dataclass(frozen=True)
class _RangeTask:
    """Releases the rows of a range into its folder, if that is not there, and yields its number.

    Parameters
    ----------
    folder
        Of all ranges.
    names
        Of the columns; one more says which rows are beyond their person's limit.
    key
        Of the numbers of people.
    cores
        Of each executor, if Spark says.
    """

    folder: Path
    policy: Policy
    names: list[str]
    ranges: LineRanges
    key: tuple[int, int]
    cores: int | None

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Release the rows, given as record batches."""
        import pyarrow as pa

        if not self.folder.is_dir():  # the job is over, or this is another file system
            raise InputError(f"{self.folder}: is not there, do all executors share the file system?")
        number = task_number()
        final = _folder(self.folder, number)
        if not final.exists():
            self._release(pieces, final)
        yield pa.RecordBatch.from_pydict({"part": [number]})

    def _release(self, pieces: Iterator[Any], final: Path) -> None:
        making = final.with_name(f"{final.name}.{secrets.token_hex(8)}")
        making.mkdir(mode=0o700)
        incoming = Incoming(self.policy)
        try:
            with keyed_by(self.key):
                RangeFolder(making).write(
                    self.policy,
                    self.ranges.order,
                    self._batches(incoming, pieces),
                    len(self.ranges),
                    lambda: incoming.coerced,
                    tasks_at_once(self.cores),
                )
            move(making, final)
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _batches(self, incoming: Incoming, pieces: Iterator[Any]) -> Iterator[tuple[CodedBatch, NDArray[np.bool_]]]:
        import pyarrow as pa

        for piece in pieces:
            first, over = incoming.count, piece.columns[-1].to_numpy(zero_copy_only=False)
            for batch in incoming.batches(pa.RecordBatch.from_arrays(piece.columns[:-1], self.names)):
                yield batch, over[batch.offsets - first]
