"""Groups of a DataFrame that are dealt by chance, each a table of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark.sql import functions

from stream_anon.conditions import Condition
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import InputError
from stream_anon.hosts.release_folder import ReleaseFolder
from stream_anon.hosts.spark.columns import numbered, task_number, together
from stream_anon.microdata.policy import Policy


def part_name(number: int) -> str:
    """Return the name of the release of a group."""
    return f"part={number:05d}"


def release_groups(read: Any, policy: Policy, count: int, task: GroupTask) -> None:
    """Release the rows of a DataFrame in so many groups, and wait for all of them.

    Parameters
    ----------
    read
        With no other columns than the policy reads.
    """
    dealt = read.repartition(count, dealt_by(together(read, policy), task.key))
    numbered(dealt).mapInArrow(task, "part bigint").collect()


def dealt_by(columns: list[Any], key: DrawsKey | None = None) -> Any:
    """Return what rows are dealt by: a hash of some columns under a key that is drawn, or follows from one given.

    Without a key, everybody who knows a person's id could compute the number of the group, which is published. Only
    Spark's plan holds the key, so that a task that is computed again deals alike.
    """
    own = secrets.token_hex(16) if key is None else key.salt(b"spark groups")
    return functions.xxhash64(functions.lit(own), *columns)


@dataclass(frozen=True)
class GroupTask:
    """Releases the rows of one task and yields its number.

    Parameters
    ----------
    parts
        The folder of all groups.
    names
        Of the columns: Spark hands none with a dot to a function.
    accepted
        Conditions that somebody has accepted.
    judged
        Whether a sample of all rows has been judged.
    key
        What draws follow from.
    """

    parts: Path
    policy: Policy
    origin: str
    names: list[str]
    accepted: tuple[Condition, ...] = ()
    judged: bool = False
    key: DrawsKey | None = None

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Release the rows, given as record batches."""
        import pyarrow as pa

        if not self.parts.is_dir():  # the job is over, or this is another file system
            raise InputError(f"{self.parts}: is not there, do all executors share the file system?")
        number = task_number()
        named = (pa.RecordBatch.from_arrays(piece.columns, self.names) for piece in pieces)
        first = next(named, None)
        rows = () if first is None else pa.RecordBatchReader.from_batches(first.schema, chain([first], named))
        releases = ReleaseFolder(
            self.parts,
            self.policy,
            self.origin,
            accept_risks=self.accepted,
            judged=self.judged,
            draws_key=self.key,
        )
        releases.release(part_name(number), rows)
        yield pa.RecordBatch.from_pydict({"part": [number]})
