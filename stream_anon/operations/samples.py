"""The records that an operation looks at: of a file, or the newest ones of an input topic, as `check` reads them.

Nothing is written, no group is joined, no topic comes into being.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.topics.requirements import inputs_there
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.errors import InputError
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.format_names import STANDARD, Format, format_of
from stream_anon.formats.tables.opening import not_utf8
from stream_anon.formats.tables.record_files import open_reader
from stream_anon.judging.sample_study import Sample
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.policy import Policy
from stream_anon.operations.starting.input_sample import newest_records, nothing_read, sample_of
from stream_anon.operations.starting.schema_findings import reader_of
from stream_anon.ports import Codec
from stream_anon.service.wiring.clients import connection_of, topics_of
from stream_anon.settings.loading import kafka_of, load_settings


@dataclass(frozen=True, slots=True, eq=False)
class RecordSample:
    """Records of one source in order of arrival.

    Parameters
    ----------
    source
        Its name: a file or topics.
    batch
        The records that fit the policy, and the rejects.
    whole
        Whether these are all records of the source.
    times
        float64, ascending seconds of the broker, of every record by its offset; None for a file.
    record_bytes
        Mean length of a record in its topic; None for a file, which may have another format.
    """

    source: str
    batch: CodedBatch
    whole: bool
    times: NDArray[np.float64] | None = None
    record_bytes: float | None = None

    def __len__(self) -> int:
        """Return the number of records, those that do not fit included."""
        return len(self.batch) + len(self.batch.rejects)

    def require_records(self) -> None:
        """Raise InputError if no record fits the policy."""
        if not len(self.batch):
            raise InputError(
                f"{self.source}: holds no record that fits the policy; {len(self):,} do not"
                if len(self)
                else f"{self.source}: holds no record"
            )


def sample_of_file(
    policy: Policy,
    name: str,
    standard: Format = Format.JSONL,
    most: int | None = None,
    *,
    look_further: bool = True,
) -> RecordSample:
    """Return the records of a CSV, JSON Lines or Parquet file, `-` for standard input.

    Parameters
    ----------
    most
        Records after which no further batch is kept; None for all of them.
    look_further
        Whether one more is read then, to tell whether the sample is whole; a pipe may never give it.

    Raises
    ------
    InputError
        If it cannot be read, or is not UTF-8.
    """
    batches = [CodedBatch.none(len(policy.quasi_identifiers), len(policy.diverse))]
    count, whole = 0, True
    with closing(open_reader(name, policy, codec_of(policy).decode, standard)) as reader:
        for batch in reader:
            if most is not None and count >= most:
                whole = False
                break
            batches.append(batch)
            count += len(batch)
            if most is not None and count >= most and not look_further:
                whole = False
                break
    source = "standard input" if name == STANDARD else name
    found = CodedBatch.concatenate(batches)
    if not len(found) and np.any(found.rejects.reasons == Reason.NOT_UTF8):
        raise InputError(not_utf8(name, format_of(name, standard)))
    return RecordSample(source, found, whole)


def sample_of_topic(policy: Policy, config: Path) -> RecordSample:
    """Return the newest records of the input that a settings file names, as many as `stream-anon check` judges.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the input cannot be read.
    InputError
        If no input topic is there, or none of its newest records can be read.
    """
    kafka = kafka_of(load_settings(config))

    async def newest() -> tuple[Sample, Codec]:
        connection = connection_of(kafka)
        inputs = await inputs_there(connection, topics_of(kafka))
        if not inputs:
            raise InputError(f"{kafka.inputs}: there is no such topic to take a sample from")
        readings = await newest_records(connection, inputs, policy, kafka)
        if why := nothing_read(readings):
            raise InputError(f"{kafka.inputs}: {why}")
        sample = sample_of(*readings)
        return sample, (await reader_of(policy, kafka, sample))[0]

    clock = SystemClock()
    with silenced_libraries(clock):
        sample, codec = asyncio.run(newest())
    batch = codec.decode(sample.values, 0, np.arange(len(sample), dtype=np.int64))
    batch, times = without_ignored(batch, sample.times)
    length = sum(len(value or b"") for value in sample.values) / max(len(sample), 1)
    return RecordSample(str(kafka.inputs), batch, whole=False, times=times, record_bytes=length)


def without_ignored(batch: CodedBatch, times: NDArray[np.float64]) -> tuple[CodedBatch, NDArray[np.float64]]:
    """Return a batch and the times of its records without those that are ignored, numbered anew.

    Parameters
    ----------
    batch
        n records, the offsets 0 to n - 1.
    times
        float64[n].
    """
    dead = batch.rejects.dead
    kept = np.sort(np.concatenate([batch.offsets, dead.offsets]))
    rejects = replace(dead, offsets=np.searchsorted(kept, dead.offsets))
    return replace(batch, offsets=np.searchsorted(kept, batch.offsets), rejects=rejects), times[kept]


@dataclass(frozen=True, slots=True)
class SampleSource:
    """Where a sample comes from.

    Parameters
    ----------
    file
        CSV, JSON Lines or Parquet, `-` for standard input; None for the input topics of `config`.
    config
        A settings file.
    standard
        What standard input holds.
    """

    file: str | None
    config: Path
    standard: Format = Format.JSONL

    def read(self, policy: Policy, most: int | None = None) -> RecordSample:
        """Return the sample; see `sample_of_file` and `sample_of_topic`, of which each raises its errors."""
        if self.file is None:
            return sample_of_topic(policy, self.config)
        return sample_of_file(policy, self.file, self.standard, most)
