"""Releases of a DataFrame: as one table, in ranges of a line, or in groups that are dealt by chance."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pyspark.sql import functions

from stream_anon.adapters.clock import SystemClock
from stream_anon.conditions import Condition
from stream_anon.engine.keyed_draws import key_of
from stream_anon.errors import InputError, Refused
from stream_anon.files.incoming import IncomingReader
from stream_anon.files.neighbours.line_ranges import LineRanges
from stream_anon.files.whole_table import takes_neighbours
from stream_anon.formats.tables.new_files import keep
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease
from stream_anon.hosts.spark.columns import declared
from stream_anon.hosts.spark.groups import GroupTask, part_name, release_groups
from stream_anon.hosts.spark.range_tasks import joined_ranges
from stream_anon.judging.refusing import OF_CALL, conditions_of, raise_if_forbidden
from stream_anon.judging.sample_study import sampled_by
from stream_anon.judging.tally import Tally
from stream_anon.judging.validity import raise_if_expired
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy, require_policy
from stream_anon.settings.certificates.signing import signing_key_in


def release_dataframe(  # noqa: PLR0913 - all but three are options by name
    frame: Any,
    policy: Policy,
    folder: str | os.PathLike[str],
    *,
    groups: int = 1,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    by_chance: bool = False,
    signing_key_file: str | os.PathLike[str] | None = None,
) -> list[StoredRelease]:
    """Release the rows of a batch DataFrame below a folder, in several tasks.

    Several groups are ranges of a line on which neighbours are alike, a task each, and the DataFrame is one table:
    `FOLDER/part=00000`, with one certificate, and rows in random order. Where that cannot be, or if `by_chance`
    says so, rows are dealt by chance, all of an individual to one group. Each group is a table of its own then,
    with a certificate of its own: `FOLDER/part=NUMBER`.

    The folder appears when all is whole. A task that Spark repeats or runs twice makes no second release. It
    computes at once, and gives no lazy DataFrame, which each action would anonymize anew.

    Before the first task a sample of the rows, drawn from all of them, is judged by the conditions of
    `stream-anon check`.

    Parameters
    ----------
    frame
        Its rows must be the same whenever they are computed: if they are drawn or numbered, persist it before.
    folder
        Must not exist. On a file system that the driver and all executors share; see `ReleaseFolder`.
    groups
        How many tasks. More are faster; dealt by chance, they lose more, as smaller windows do.
    accept_risks
        Names of conditions that would forbid a release, such as `rare-values`; certificates name them.
    draws_key
        A secret of 16 bytes or more; see `Anonymizer`. Rows are dealt by chance then, and who is in which group
        follows from it too. Spark hands it to its tasks.
    by_chance
        Whether rows are dealt by chance in any case.
    signing_key_file
        A file with a private key of Ed25519, PEM, which signs the certificates; see `SigningSettings`. The driver
        reads it before the first task, and no executor gets it.

    Raises
    ------
    Refused
        If the folder exists, or a condition forbids the release.
    InputError
        If the DataFrame has no column for a declared field, or the folder cannot be written.
    TypeError
        If the policy is none, such as the path of its file.
    SettingsError
        If the file of the key holds none, or the extra `sign` is not installed.
    """
    require_policy(policy)
    signing_key = signing_key_in(signing_key_file)
    accepted, key = conditions_of(accept_risks), key_of(draws_key)
    raise_if_expired(policy.release, SystemClock().wall(), accepted)
    final = Path(folder).absolute()
    if final.exists():
        raise Refused(f"{final}: is there already, and records would be released a second time")
    making = final.with_name(f".{final.name}.{secrets.token_hex(8)}")
    parts, origin = making / "parts", secrets.token_hex(8)
    read = declared(frame, policy)
    sample, judged = _judge(read, policy, accepted)
    try:
        # 1. A hidden folder, into which nobody else may look before all is whole.
        making.mkdir(mode=0o700, parents=True)
        releases = ReleaseFolder(
            parts, policy, origin, accept_risks=accepted, judged=judged, signing_key=signing_key
        )
        # 2. Each range or group is made by a task that came to its end, because what tasks say is collected.
        in_ranges = groups > 1 and judged and not by_chance and takes_neighbours(policy, keyed=key is not None)
        if in_ranges:
            count = 1
            ranges = LineRanges.of(policy, sample, groups)
            releases.release(part_name(0), joined_ranges(read, policy, ranges, making / "ranges", accepted))
        else:
            count = groups
            release_groups(
                read, policy, count, GroupTask(parts, policy, origin, read.columns, accepted, judged, key)
            )
        if any(releases.stored(part_name(number)) is None for number in range(count)):
            raise InputError(f"{final}: not all parts are there, do all executors share the file system?")
        # 3. What tasks have made is signed here: none of them has the key.
        for number in range(0 if in_ranges else count):
            releases.sign(part_name(number))
        # 4. The name appears, with all parts.
        parts.rename(final)
        keep(final.parent)
    except OSError as error:
        raise InputError(f"{final}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(making, ignore_errors=True)
    whole = ReleaseFolder(final, policy, origin)
    return [one for one in map(whole.stored, map(part_name, range(count))) if one is not None]


def _judge(frame: Any, policy: Policy, accepted: Collection[Condition]) -> tuple[CodedBatch, bool]:
    """Return a sample of a DataFrame, and whether rare values were judged; raise Refused if a condition forbids it.

    In a sample of fewer individuals than k every value is rare, so none counts. Each part is judged by itself then.
    """
    drawn = frame.orderBy(functions.rand()).limit(sampled_by(policy)).toArrow()
    tally, batches = Tally(policy), [CodedBatch.none(len(policy.quasi_identifiers), len(policy.diverse))]
    for batch in IncomingReader(policy, drawn):
        tally.add(batch)
        batches.append(batch)
    # Rejects never stop a host: where nothing fits, nothing is released.
    raise_if_forbidden(policy, tally, {*accepted, Condition.NO_RECORD_FITS}, OF_CALL)
    return CodedBatch.concatenate(batches), tally.counts().individuals >= policy.crowd
