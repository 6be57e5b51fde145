"""The records of a sample with their times of arrival: at a steady rate, or by the broker's timestamps."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.codecs import codec_of
from stream_anon.adapters.tables.format_names import Format
from stream_anon.adapters.tables.formats import open_reader
from stream_anon.errors import InputError, SettingsError
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.payload import joined
from stream_anon.microdata.policy import Policy
from stream_anon.service.starting.conditions import look_at_deployment, newest_records, sample_of
from stream_anon.settings.kafka_section import connection_of, kafka_of, topics_of
from stream_anon.settings.loading import load_settings

_NOTHING = np.empty(0, np.int64)
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """A sample.

    Parameters
    ----------
    policy
        Under which it was read: its sensitive columns are those of this policy's criteria.
    batch
        The records that fit, in order of arrival. Their offsets count all records.
    times
        float64, ascending seconds, of every record by its offset.
    rate
        Records a second.
    timed
        Whether the times are those of the broker.
    """

    policy: Policy
    batch: CodedBatch
    times: NDArray[np.float64]
    rate: float
    timed: bool

    @property
    def records(self) -> int:
        """Return the number of records, those that do not fit included."""
        return len(self.times)

    @property
    def rejected(self) -> int:
        """Return how many do not fit the policy."""
        return len(self.times) - len(self.batch)

    def judged_by(self, policy: Policy) -> CodedBatch:
        """Return the records that fit, with the sensitive columns of another policy: it has all of them."""
        places = {attribute.name: place for place, attribute in enumerate(self.policy.diverse)}
        chosen = np.array([places[attribute.name] for attribute in policy.diverse], np.intp)
        return replace(self.batch, sensitive=np.ascontiguousarray(self.batch.sensitive[chosen]))


def rate_of(text: str) -> float:
    """Return the records a second that `500/s`, `30/min`, `2000/h` or `500` stands for.

    Raises
    ------
    SettingsError
        For any other text.
    """
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(?:/ ?(s|min|h))?", text.strip())
    if found is None or not float(found[1]):
        raise SettingsError("--rate", "must be records by time, such as 500/s, 30/min or 2000/h")
    return float(found[1]) / _SECONDS[found[2] or "s"]


def arrivals_of_file(policy: Policy, name: str, rate: float | None, standard: Format = Format.JSONL) -> Arrivals:
    """Return the records of a CSV or JSON Lines file, `-` for standard input, one after the other at a steady rate.

    Raises
    ------
    SettingsError
        Without a rate: a file has no times of arrival.
    InputError
        If it cannot be read, or no record fits the policy.
    """
    if rate is None:
        raise SettingsError("--rate", "a file has no times of arrival: say how many records come, such as 500/s")
    with closing(open_reader(name, policy, codec_of(policy).decode, standard)) as reader:
        batches = list(reader)
    # Offsets of a file leave out blank lines, which are no records.
    places = np.sort(np.concatenate([part.offsets for one in batches for part in (one, one.rejects)] or [_NOTHING]))
    whole = _whole(policy, batches)
    batch = replace(whole, offsets=np.searchsorted(places, whole.offsets))
    return _arrivals(policy, batch, np.arange(len(places)) / rate, rate, timed=False)


def arrivals_of_topic(policy: Policy, config: Path, rate: float | None) -> Arrivals:
    """Return the newest records of a deployment's input, as many as `check` judges.

    Without a rate they arrive as they did, by the broker's timestamps.

    Raises
    ------
    InputError
        If no input topic is there, no record fits the policy, or all records have one timestamp.
    BrokerError
        If no broker answers, or the input cannot be read.
    """
    kafka = kafka_of(load_settings(config))

    async def read() -> tuple[CodedBatch, NDArray[np.float64]]:
        connection = connection_of(kafka)
        deployment = await look_at_deployment(connection, topics_of(kafka), kafka, policy)
        if not deployment.inputs:
            raise InputError(f"{kafka.inputs}: there is no such topic to take a sample from")
        sample = sample_of(*await newest_records(connection, deployment.inputs, policy))
        codec = codec_of(policy, kafka.max_record_bytes)
        offsets = np.arange(len(sample), dtype=np.int64)
        return await asyncio.to_thread(codec.decode, sample.values, 0, offsets), sample.times

    batch, times = asyncio.run(read())
    if rate is not None:
        return _arrivals(policy, batch, np.arange(len(times)) / rate, rate, timed=False)
    seconds = float(times[-1] - times[0]) if len(times) else 0.0
    if not seconds:
        raise InputError(f"{kafka.inputs}: all records of the sample have one timestamp; give --rate")
    return _arrivals(policy, batch, times - times[0], len(times) / seconds, timed=True)


def _arrivals(
    policy: Policy, batch: CodedBatch, times: NDArray[np.float64], rate: float, *, timed: bool
) -> Arrivals:
    if not len(batch):
        raise InputError(f"no record of the sample fits the policy; {len(times):,} do not")
    return Arrivals(policy, batch, times, rate, timed)


def _whole(policy: Policy, batches: Sequence[CodedBatch]) -> CodedBatch:
    """Return batches of one source as one, without what does not fit."""
    shapes = (len(policy.quasi_identifiers), 0), (len(policy.diverse), 0)
    return CodedBatch(
        np.concatenate([np.empty(shapes[0], np.int32), *(one.codes for one in batches)], axis=1),
        np.concatenate([np.empty(shapes[1], np.int64), *(one.sensitive for one in batches)], axis=1),
        np.concatenate([np.empty(0, np.int64), *(one.individuals for one in batches)]),
        np.concatenate([np.empty(0, np.int32), *(one.sources for one in batches)]),
        np.concatenate([np.empty(0, np.int64), *(one.offsets for one in batches)]),
        joined([one.payload for one in batches]),
        Rejects.of([]),
    )
