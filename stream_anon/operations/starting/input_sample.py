"""A sample of the input: its newest records, whatever anybody has written there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stream_anon.adapters.kafka.bulk.record_columns import Records
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_sample import SampleLimits, TopicSample, sample_topic
from stream_anon.judging.sample_study import Sample, sampled_by
from stream_anon.microdata.policy import Policy
from stream_anon.service.wiring.clients import formats_of
from stream_anon.settings.sections.kafka_settings import KafkaSettings

MOST_SAMPLED_BYTES = 128 * 1024 * 1024
MOST_SAMPLED_TOPICS = 8
SAMPLED_WITHIN = 20.0


async def newest_records(
    connection: Connection, inputs: Sequence[str], policy: Policy, kafka: KafkaSettings
) -> list[TopicSample]:
    """Return the newest records of each partition, as many in all as two windows hold, within limits.

    Raises
    ------
    TopicError
        If there is no such topic, or this user may not read it.
    BrokerError
        If no broker answers.
    """
    sampled = inputs[:MOST_SAMPLED_TOPICS]
    limits = SampleLimits(
        newest=-(-sampled_by(policy) // len(sampled)),
        most_bytes=MOST_SAMPLED_BYTES // len(sampled),
        within=SAMPLED_WITHIN / len(sampled),
        most_value=kafka.max_record_bytes,
    )
    headers = formats_of(kafka).headers
    samples = []
    for topic in sampled:
        sample = await sample_topic(connection, topic, limits, headers=headers)
        if not len(sample) and not sample.unreadable and not sample.is_whole:
            # The newest offsets hold markers and aborted records only.
            sample = await sample_topic(connection, topic, replace(limits, newest=None), headers=headers)
        samples.append(sample)
    return samples


def nothing_read(readings: Sequence[TopicSample]) -> str:
    """Return in words why a sample is without a record though the input may hold some; empty if it is not so."""
    if any(map(len, readings)):
        return ""
    if unreadable := sum(reading.unreadable for reading in readings):
        return f"none of its newest records can be read: their batches, {unreadable} in all, are damaged"
    if not all(reading.complete for reading in readings):
        return f"none of its newest records could be read within {SAMPLED_WITHIN:.0f} s"
    return ""


def sample_of(*readings: TopicSample) -> Sample:
    """Return the records of readings in order of time, from where all partitions overlap.

    If older records of a partition were left out, nothing is known of it before its first record. With records of
    the other partitions alone, windows would look poorer than they are.
    """
    begins = [
        int(part.times[0])
        for reading in readings
        for number, part in reading.records.items()
        if len(part) and number not in reading.whole
    ]
    begin = max(begins, default=-(2**63))
    both = Records.joined([part for reading in readings for part in reading.records.values()])
    order = np.lexsort((both.offsets, both.times))
    order = order[both.times[order] >= begin]
    values = list(both.values)
    return Sample([values[place] for place in order.tolist()], both.times[order] / 1000)
