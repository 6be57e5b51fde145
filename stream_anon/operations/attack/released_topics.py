"""What came in from a service's topics, and what was published of it, as an attack takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_reader import committed_records
from stream_anon.adapters.kafka.reading.topic_sample import SampleLimits, sample_topic
from stream_anon.adapters.kafka.topics.requirements import inputs_there
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.audit.released_records import Decoded, ReleasedRecordReader
from stream_anon.errors import CertificateError, InputError, UnreadableRecords
from stream_anon.judging.sample_study import Sample
from stream_anon.microdata.policy import Policy
from stream_anon.operations.attack.attacked_records import AttackedRecords, attacked_records
from stream_anon.operations.audit.output_records import OutputDecoder, batch_of
from stream_anon.operations.certificate_parts import part_or_none
from stream_anon.operations.released_windows import ReleasedWindows, mean_loss, people_of
from stream_anon.operations.samples import RecordSample
from stream_anon.operations.starting.schema_findings import reader_of
from stream_anon.operations.studied_records import MOST_STUDIED, Released, released_of
from stream_anon.privacy.certificate import Certificate, join_parts
from stream_anon.service.wiring.clients import connection_of, formats_of, topics_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.sections.kafka_settings import KafkaSettings

_MOST_BYTES = 1024 * 1024 * 1024
_WITHIN = 120.0  # seconds for the input topics

Place = tuple[str, int]
"""A topic and one of its partitions."""


def read_topics(policy: Policy, config: Path) -> tuple[AttackedRecords, Released]:
    """Return the records of the newest windows of which all are in the input topics still, and what was published.

    A million records at the most, of a gigabyte of the input that is read. Nothing is written and no group is
    joined. Certificates are not audited.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the topics cannot be read.
    InputError
        If nothing was published of what can be read.
    """
    kafka, clock = kafka_of(load_settings(config)), SystemClock()
    with silenced_libraries(clock):
        connection = connection_of(kafka)
        everything = asyncio.run(_published(connection, kafka))
        published, values = everything.of_input(asyncio.run(_input(connection, kafka)))
        sample = Sample(values, np.zeros(len(values)))

        def read(under: Policy) -> RecordSample:
            codec, _ = asyncio.run(reader_of(under, kafka, sample))
            batch = codec.decode(sample.values, 0, np.arange(len(sample), dtype=np.int64))
            return RecordSample(str(kafka.inputs), batch, whole=True)

        if not values:
            raise InputError(f"{kafka.output}: of no certified window are all records in {kafka.inputs} still")
        inside = attacked_records(policy, read)
    reader = ReleasedRecordReader(policy)
    told = ((None if record is None else reader.opened(record)[0], number) for record, number in published.records)
    released, windows = released_of(policy, kafka.output, told, reader)
    return inside, replace(
        released,
        windows=ReleasedWindows(np.array(windows, np.int64), published.ends),
        people=people_of(published.windows, policy)[windows],
        loss=mean_loss(published.windows),
    )


@dataclass(frozen=True, slots=True)
class _Published:
    """Certified windows, and the released records that are of one of them, each with its number."""

    windows: Sequence[Certificate]
    records: Sequence[tuple[Decoded, int]]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Return how many records came to each window and those before, int64[w]."""
        return np.cumsum([window.records_in for window in self.windows], dtype=np.int64)

    def of_input(self, parts: Sequence[tuple[Place, Records]]) -> tuple[_Published, list[bytes | None]]:
        """Return the newest windows of which all records are there, with these, window by window."""
        values = [value for _, part in parts for value in part.values]
        numbers = [self._window_of(place, part.offsets) for place, part in parts]
        window = np.concatenate([np.empty(0, np.int64), *numbers])
        came = np.bincount(window[window >= 0], minlength=len(self.windows))
        whole = [place for place, own in enumerate(self.windows) if came[place] == own.records_in]
        behind = np.cumsum(came[whole][::-1])[::-1]  # records of each of these and of those after it
        kept = {place: number for number, place in enumerate(np.array(whole)[behind <= MOST_STUDIED].tolist())}
        order = np.argsort(window, kind="stable").tolist()
        records = [(record, kept[place]) for record, place in self.records if place in kept]
        return _Published([self.windows[place] for place in kept], records), [
            values[row] for row in order if int(window[row]) in kept
        ]

    def _window_of(self, place: Place, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the window that each record came to, int64[n]; -1 for none."""
        stretches = sorted(
            (one.start, one.end, number)
            for number, window in enumerate(self.windows)
            for one in window.inputs
            if (one.topic, one.partition) == place and one.start < one.end
        )
        starts, ends, numbers = np.array([(0, 0, -1), *stretches], np.int64).T
        found = np.searchsorted(starts, offsets, side="right") - 1
        return np.where(offsets < ends[found], numbers[found], -1)


async def _input(connection: Connection, kafka: KafkaSettings) -> list[tuple[Place, Records]]:
    """Return what each partition of the input topics holds, within limits."""
    found: list[tuple[Place, Records]] = []
    inputs = await inputs_there(connection, topics_of(kafka))
    for topic in inputs:
        limits = SampleLimits(None, _MOST_BYTES // len(inputs), _WITHIN / len(inputs), kafka.max_record_bytes)
        sample = await sample_topic(connection, topic, limits, headers=formats_of(kafka).headers)
        found += [((topic, number), part) for number, part in sample.records.items()]
    return found


async def _published(connection: Connection, kafka: KafkaSettings) -> _Published:
    """Return the certified windows of the output topic, in the order in which they closed, and their records."""
    parts: dict[str, list[Certificate]] = {}
    values: list[tuple[str | None, bytes | None]] = []

    def unreadable(error: UnreadableRecords) -> None:
        raise InputError(f"{error.topic}/{error.partition}: holds what nobody can read, as an audit tells")

    decoder = OutputDecoder(formats_of(kafka))
    async for some in committed_records(
        connection, (kafka.output, kafka.certificates), lambda: True, 0.0, unreadable
    ):
        for record in some:
            if record.topic == kafka.output:
                values.append((batch_of(record), record.value))
            elif (part := part_or_none(record.value or b"")) is not None:
                parts.setdefault(part.batch, []).append(part)
        await decoder.learn(record.value for record in some if record.topic == kafka.output)
    windows = sorted(filter(None, map(_whole, parts.values())), key=lambda one: one.closed)
    number = {window.batch: place for place, window in enumerate(windows)}
    return _Published(
        windows, [(decoder.decode(value), number[batch]) for batch, value in values if batch in number]
    )


def _whole(parts: Sequence[Certificate]) -> Certificate | None:
    try:
        return join_parts(parts)
    except CertificateError:
        return None
