"""Look before a run: settings, policy, broker, topics, permissions, and a sample of the input.

Nothing is written, no group is joined, nothing is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from aiokafka import ConsumerRecord

from stream_anon.adapters.kafka.connection import Connection
from stream_anon.adapters.kafka.permissions import Resource, least_privileges, permissions_of
from stream_anon.adapters.kafka.topic_reader import TopicReading, read_topic
from stream_anon.adapters.kafka.topics import Finding as TopicFinding
from stream_anon.adapters.kafka.topics import Severity as TopicSeverity
from stream_anon.adapters.kafka.topics import Topics, examine
from stream_anon.errors import TopicError
from stream_anon.microdata.policy import Policy
from stream_anon.runtime.findings import (
    AttributeFacts,
    Finding,
    Severity,
    attribute_facts,
    policy_findings,
    sample_findings,
)
from stream_anon.runtime.policy_file import build_policy
from stream_anon.runtime.publication import largest_release
from stream_anon.runtime.sample_study import Sample, Study, study
from stream_anon.runtime.settings import KafkaSettings, load_settings
from stream_anon.runtime.wiring import connection_of, kafka_of, topics_of

LEAST_SAMPLED, MOST_SAMPLED = 10_000, 50_000  # records in all; two windows if that lies between
MOST_SAMPLED_BYTES = 128 * 1024 * 1024
MOST_SAMPLED_TOPICS = 8
SAMPLED_WITHIN = 20.0


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found.

    Parameters
    ----------
    seen
        What is as it must be.
    findings
        What forbids a run, and what somebody should know.
    study
        None where the input could not be read.
    complete
        Whether the sample was read as far as was asked for in the time it may take.
    """

    policy: Policy
    kafka: KafkaSettings
    attributes: tuple[AttributeFacts, ...]
    seen: tuple[str, ...]
    findings: tuple[Finding, ...]
    study: Study | None
    complete: bool

    @property
    def forbids(self) -> bool:
        """Return whether a run must not start."""
        return any(finding.severity is Severity.FORBIDS for finding in self.findings)


async def examine_deployment(config: Path) -> Report:
    """Return what speaks for and against a run with these settings; takes at most two minutes.

    Raises
    ------
    SettingsError
        If the settings or the policy are wrong.
    BrokerError
        If no broker answers.
    """
    settings = load_settings(config)
    kafka = kafka_of(settings)
    policy = build_policy(settings, config)
    connection, topics = connection_of(kafka), topics_of(kafka)
    exactly_once = kafka.delivery == "exactly-once"
    looked_at = await examine(
        connection,
        topics,
        transactions=exactly_once,
        development=kafka.development,
        largest_release=largest_release(policy, kafka.max_record_bytes),
    )
    seen, findings = _split(looked_at)
    # Asking for records of a topic that is not there could create it.
    inputs = [
        each.topic for each in looked_at if each.severity is TopicSeverity.OK and topics.input.holds(each.topic)
    ]
    allowed, refused = await _permissions(connection, topics, inputs or topics.input.names, exactly_once)
    seen, findings = [*seen, *allowed], [*findings, *_settings_findings(kafka), *refused]
    found, complete = None, True
    try:
        if inputs:
            readings = await _newest(connection, inputs, policy)
            complete = all(reading.complete for reading in readings)
            found = await asyncio.to_thread(_study, policy, readings, kafka.max_record_bytes)
    except TopicError as error:
        findings.append(Finding(Severity.FORBIDS, str(kafka.inputs), str(error)))
    findings += policy_findings(policy)
    if found is not None:
        findings += sample_findings(policy, found)
    findings.sort(key=lambda finding: finding.severity is not Severity.FORBIDS)
    return Report(policy, kafka, attribute_facts(policy), tuple(seen), tuple(findings), found, complete)


def _split(looked_at: Sequence[TopicFinding]) -> tuple[list[str], list[Finding]]:
    seen, findings = [], []
    for each in looked_at:
        place = each.topic or "brokers"
        if each.severity is TopicSeverity.OK:
            seen.append(f"{place}: {each.text}")
        else:
            grave = each.severity is TopicSeverity.ERROR
            findings.append(Finding(Severity.FORBIDS if grave else Severity.WARNS, place, each.text))
    return seen, findings


def _settings_findings(kafka: KafkaSettings) -> list[Finding]:
    found = []
    if kafka.delivery == "at-least-once":
        text = "at-least-once: after a failure records are published twice, in different classes"
        found.append(Finding(Severity.WARNS, "kafka.delivery", text))
    if kafka.development:
        text = "true: too few replicas are not held against a run"
        found.append(Finding(Severity.WARNS, "kafka.development", text))
    return found


async def _permissions(
    connection: Connection, topics: Topics, inputs: Sequence[str], exactly_once: bool
) -> tuple[list[str], list[Finding]]:
    wanted = least_privileges(connection.group, topics, inputs, exactly_once=exactly_once)
    found = await permissions_of(connection, wanted)
    refused = [
        Finding(Severity.FORBIDS, acl.place, f"this user may not {acl.operation.name.lower()}")
        for acl in found.missing
    ]
    short = {acl.place for acl in found.missing}
    allowed = sorted({acl.place for acl in found.told} - short)
    seen = [f"permissions suffice for {', '.join(allowed)}"] if allowed else []
    if not any(acl.resource is Resource.TOPIC for acl in found.told):
        seen.append("permissions on topics: these brokers do not tell them")
    return seen, refused


async def _newest(connection: Connection, inputs: Sequence[str], policy: Policy) -> list[TopicReading]:
    """Return the newest records of each partition, as many in all as two windows hold, within limits."""
    total = min(max(2 * policy.window.max_records, LEAST_SAMPLED), MOST_SAMPLED)
    sampled = inputs[:MOST_SAMPLED_TOPICS]
    return [
        await read_topic(
            connection,
            topic,
            newest=-(-total // len(sampled)),
            most_bytes=MOST_SAMPLED_BYTES // len(sampled),
            within=SAMPLED_WITHIN / len(sampled),
        )
        for topic in sampled
    ]


def _study(policy: Policy, readings: Sequence[TopicReading], max_record_bytes: int) -> Study:
    return study(policy, sample_of(*readings), max_record_bytes=max_record_bytes)


def sample_of(*readings: TopicReading) -> Sample:
    """Return the records of readings in order of time, from where all partitions overlap.

    A partition of which older records were left out says nothing of the time before its first one: to take the
    others from there alone would make windows look poorer than they are.
    """
    begins = [
        part[0].timestamp
        for reading in readings
        for number, part in reading.records.items()
        if part and number not in reading.whole
    ]
    begin = max(begins, default=-(2**63))
    parts = [part for reading in readings for part in reading.records.values()]
    records: list[ConsumerRecord] = [record for part in parts for record in part if record.timestamp >= begin]
    records.sort(key=lambda record: (record.timestamp, record.offset))
    times = np.array([record.timestamp for record in records], np.float64) / 1000
    return Sample([record.value for record in records], times)
