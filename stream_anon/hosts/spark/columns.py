"""What the policy reads of a DataFrame, and what a task gets of it."""

from __future__ import annotations

import os
import re
from typing import Any

from pyspark import TaskContext
from pyspark.sql import functions

from stream_anon.errors import InputError
from stream_anon.extras import require
from stream_anon.microdata.policy import EVERY_RECORD, Policy


def declared(frame: Any, policy: Policy) -> Any:
    """Return a DataFrame without the columns that the policy does not read."""
    require("a DataFrame", "pyarrow", "narwhals")
    from stream_anon.formats.tables.arrow.frames import columns_read

    return frame.select(*(functions.col(f"`{name}`") for name in columns_read(policy, frame.columns)))


def numbered(frame: Any) -> Any:
    """Return a DataFrame whose columns have numbers: Spark hands none with a dot in its name to a function."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def task_number() -> int:
    """Return the number of the partition that a task computes."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark runs this in a task
    return context.partitionId()


def cores_of(session: Any) -> int | None:
    """Return how many cores each executor of a session has; None if Spark does not say before it runs."""
    local = re.fullmatch(r"local(?:\[([^,]+).*\])?", session.conf.get("spark.master", ""))
    cores = (local[1] or "1") if local else session.conf.get("spark.executor.cores", None) or "*"
    return None if cores == "*" else int(cores)


def tasks_at_once(cores: int | None) -> int:
    """Return how many tasks run in the executor of a task at once, at most, if it has so many cores; None: all."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark runs this in a task
    return max(1, (cores or os.cpu_count() or 1) // context.cpus())


def together(frame: Any, policy: Policy) -> list[Any]:
    """Return the columns of which equal rows go to one group: the individual, or all if each record is a person.

    Rows are never dealt in turn: repeated, that could deal them otherwise.
    """
    every = policy.individual == EVERY_RECORD
    chosen = policy.published if every else (policy.attribute(policy.individual),)
    names = set(frame.columns)
    paths = [(one.column,) if one.column in names else one.path for one in chosen]
    missing = [one.column for one, path in zip(chosen, paths, strict=True) if path[0] not in names]
    if missing:
        raise InputError(f"frame: has no column {missing[0]!r}, which the policy declares")
    return [functions.col(".".join(f"`{key}`" for key in path)) for path in paths]
