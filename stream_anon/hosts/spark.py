"""Releases of Spark: of each micro-batch of a stream, and of the groups of a DataFrame.

::

    policy = Policy.load("policy.yaml")
    spark.readStream.table("visits").writeStream.foreachBatch(released_batches(policy, "/data/released")).start()

Needs the extra `spark`. docs/guides/integrations.md says what holds and what does not.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

try:
    from pyspark import TaskContext
    from pyspark.sql import functions
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyspark":
        raise
    text = "stream_anon.hosts.spark needs pyspark: pip install '.[spark]' in a clone"
    raise ImportError(text) from None

from stream_anon.conditions import Condition
from stream_anon.engine.keyed_draws import DrawsKey, key_of
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files.incoming import IncomingReader
from stream_anon.formats.tables.arrow.installed import require_narwhals
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease, keep
from stream_anon.judging.refusing import OF_CALL, conditions_of, raise_if_forbidden
from stream_anon.judging.sample_study import sampled_by
from stream_anon.judging.tally import Tally
from stream_anon.microdata.policy import EVERY_RECORD, Policy, require_policy

_QUERY = "sql.streaming.queryId"  # what Spark tells of a query; it stays the same as long as the checkpoint does


def released_batches(
    policy: Policy,
    folder: str | os.PathLike[str],
    *,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
) -> Callable[[Any, int], StoredRelease]:
    """Return what `foreachBatch` calls: it releases a micro-batch as `FOLDER/batch=ID`, once.

    The micro-batch is collected in the driver and released as one table. If Spark repeats a micro-batch, nothing is
    anonymized again, and the release that is there is returned.

    Parameters
    ----------
    policy
        What must hold.
    folder
        Of this query alone, on a file system of the driver; see `ReleaseFolder`.
    accept_risks
        Names of conditions that would forbid the first release; see `ReleaseFolder`.
    draws_key
        A secret of 16 bytes or more; see `Anonymizer`.

    Returns
    -------
    A function of a DataFrame and the id of its micro-batch. It raises `Refused` if a condition forbids the
    first release, if the folder holds releases of another query, or if a micro-batch is repeated with another
    number of records: then the source does not give again what it gave, and records may be lost or come in another
    micro-batch too.
    """
    require_policy(policy)
    key = key_of(draws_key)

    def release(frame: Any, batch: int) -> StoredRelease:
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY)
        if query is None:
            raise SettingsError("spark", "released_batches is for foreachBatch of a streaming query")
        origin = f"Spark query {query}"
        releases = ReleaseFolder(folder, policy, origin, accept_risks=accept_risks, draws_key=key)
        name = f"batch={batch:08d}"
        found = releases.stored(name)
        if found is None:
            return releases.release(name, _declared(frame, policy).toArrow())
        if frame.count() != found.records_in:
            raise Refused(f"{name}: the micro-batch has come again with another number of records")
        return found

    return release


def release_dataframe(
    frame: Any,
    policy: Policy,
    folder: str | os.PathLike[str],
    *,
    groups: int = 1,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
) -> list[StoredRelease]:
    """Release the rows of a batch DataFrame as `FOLDER/part=NUMBER`, each group in a task of its own.

    All rows of an individual go to one group, which is anonymized as one table: k holds in each group. The folder
    appears when all groups are whole. A task that Spark repeats or runs twice makes no second release. It computes
    at once, and gives no lazy DataFrame, which each action would anonymize anew.

    Before the first task a sample of the rows, drawn from all of them, is judged by the conditions of
    `stream-anon check`.

    Parameters
    ----------
    frame
        Its rows must be the same whenever they are computed: if they are drawn or numbered, persist it before.
    folder
        Must not exist. On a file system that the driver and all executors share; see `ReleaseFolder`.
    groups
        How many tasks. More are faster and lose more, as smaller windows do.
    accept_risks
        Names of conditions that would forbid a release, such as `rare-values`; certificates name them.
    draws_key
        A secret of 16 bytes or more; see `Anonymizer`. Who is in which group follows from it too. Spark hands it to
        its tasks.

    Raises
    ------
    Refused
        If the folder exists, or a condition forbids the release.
    InputError
        If the DataFrame has no column for a declared field, or the folder cannot be written.
    TypeError
        If the policy is none, such as the path of its file.
    """
    require_policy(policy)
    final = Path(folder).absolute()
    if final.exists():
        raise Refused(f"{final}: is there already, and records would be released a second time")
    making = final.with_name(f".{final.name}.{secrets.token_hex(8)}")
    parts, origin = making / "parts", secrets.token_hex(8)
    read, accepted, key = _declared(frame, policy), conditions_of(accept_risks), key_of(draws_key)
    judged = _judge(read, policy, accepted)
    dealt = read.repartition(groups, _dealt_by(_together(read, policy), key))
    numbered = dealt.toDF(*(f"c{place}" for place in range(len(read.columns))))
    try:
        # 1. A hidden folder, into which nobody else may look before all is whole.
        making.mkdir(mode=0o700, parents=True)
        releases = ReleaseFolder(parts, policy, origin)
        # 2. Each part is made by a task that came to its end, because what tasks say is collected.
        numbered.mapInArrow(
            _task(parts, policy, origin, read.columns, accepted, judged=judged, key=key), "part bigint"
        ).collect()
        if any(releases.stored(_part(number)) is None for number in range(groups)):
            raise InputError(f"{final}: not all parts are there, do all executors share the file system?")
        # 3. The name appears, with all parts.
        parts.rename(final)
        keep(final.parent)
    except OSError as error:
        raise InputError(f"{final}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(making, ignore_errors=True)
    whole = ReleaseFolder(final, policy, origin)
    return [one for one in map(whole.stored, map(_part, range(groups))) if one is not None]


def _judge(frame: Any, policy: Policy, accepted: Collection[Condition]) -> bool:
    """Raise Refused if a sample of a DataFrame must not be released; return whether it has judged rare values.

    In a sample of fewer individuals than k every value is rare, so none counts. Each part is judged by itself then.
    """
    drawn = frame.orderBy(functions.rand()).limit(sampled_by(policy)).toArrow()
    tally = Tally(policy)
    for batch in IncomingReader(policy, drawn):
        tally.add(batch)
    # Rejects never stop a host: where nothing fits, nothing is released.
    raise_if_forbidden(policy, tally, {*accepted, Condition.NO_RECORD_FITS}, OF_CALL)
    return tally.counts().individuals >= policy.crowd


def _dealt_by(columns: list[Any], key: DrawsKey | None = None) -> Any:
    """Return what rows are dealt by: a hash of some columns under a key that is drawn, or follows from one given.

    Without a key, everybody who knows a person's id could compute the number of the group, which is published. Only
    Spark's plan holds the key, so that a task that is computed again deals alike.
    """
    own = secrets.token_hex(16) if key is None else key.salt(b"spark groups")
    return functions.xxhash64(functions.lit(own), *columns)


def _part(number: int) -> str:
    return f"part={number:05d}"


def _task(
    parts: Path,
    policy: Policy,
    origin: str,
    names: list[str],
    accepted: Collection[Condition] = (),
    *,
    judged: bool = False,
    key: DrawsKey | None = None,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what releases the rows of one task and yields its number.

    Parameters
    ----------
    names
        Of the columns: Spark hands none with a dot to a function.
    judged
        Whether a sample of all rows has been judged.
    """

    def released(pieces: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        if not parts.is_dir():  # the job is over, or this is another file system
            raise InputError(f"{parts}: is not there, do all executors share the file system?")
        context = TaskContext.get()
        assert context is not None  # noqa: S101 - Spark runs this in a task
        number = context.partitionId()
        named = (pa.RecordBatch.from_arrays(piece.columns, names) for piece in pieces)
        first = next(named, None)
        rows = () if first is None else pa.RecordBatchReader.from_batches(first.schema, chain([first], named))
        releases = ReleaseFolder(parts, policy, origin, accept_risks=accepted, judged=judged, draws_key=key)
        releases.release(_part(number), rows)
        yield pa.RecordBatch.from_pydict({"part": [number]})

    return released


def _declared(frame: Any, policy: Policy) -> Any:
    """Return a DataFrame without the columns that the policy does not read."""
    require_narwhals("a DataFrame")
    from stream_anon.formats.tables.arrow.frames import columns_read

    return frame.select(*(functions.col(f"`{name}`") for name in columns_read(policy, frame.columns)))


def _together(frame: Any, policy: Policy) -> list[Any]:
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
