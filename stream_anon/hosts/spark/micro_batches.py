"""Releases of each micro-batch of a streaming query."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any

from stream_anon.adapters.clock import SystemClock
from stream_anon.engine.keyed_draws import key_of
from stream_anon.errors import Refused, SettingsError
from stream_anon.hosts.release_folder import ReleaseFolder, StoredRelease
from stream_anon.hosts.spark.columns import declared
from stream_anon.judging.refusing import conditions_of
from stream_anon.judging.validity import raise_if_expired
from stream_anon.microdata.policy import Policy, require_policy
from stream_anon.settings.sections.certificate_settings import signing_key_in

_QUERY = "sql.streaming.queryId"  # what Spark tells of a query; it stays the same as long as the checkpoint does


def released_batches(
    policy: Policy,
    folder: str | os.PathLike[str],
    *,
    accept_risks: Collection[str] = (),
    draws_key: bytes | None = None,
    signing_key_file: str | os.PathLike[str] | None = None,
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
    signing_key_file
        A file with a private key of Ed25519, PEM, which signs the certificates; see `SigningSettings`. It is read
        by this call, in the driver, and no executor gets it.

    Returns
    -------
    A function of a DataFrame and the id of its micro-batch. It raises `Refused` if a condition forbids the
    first release, if the folder holds releases of another query, or if a micro-batch is repeated with another
    number of records: then the source does not give again what it gave, and records may be lost or come in another
    micro-batch too.

    Raises
    ------
    Refused
        If the day has passed up to which the policy states its release: the query does not begin.
    SettingsError
        If the file holds no such key, or the extra `sign` is not installed.
    """
    require_policy(policy)
    key, signing_key = key_of(draws_key), signing_key_in(signing_key_file)
    raise_if_expired(policy.release, SystemClock().wall(), conditions_of(accept_risks))

    def release(frame: Any, batch: int) -> StoredRelease:
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY)
        if query is None:
            raise SettingsError("spark", "released_batches is for foreachBatch of a streaming query")
        origin = f"Spark query {query}"
        releases = ReleaseFolder(
            folder, policy, origin, accept_risks=accept_risks, draws_key=key, signing_key=signing_key
        )
        name = f"batch={batch:08d}"
        found = releases.stored(name)
        if found is None:
            return releases.release(name, declared(frame, policy).toArrow())
        if frame.count() != found.records_in:
            raise Refused(f"{name}: the micro-batch has come again with another number of records")
        return found

    return release
