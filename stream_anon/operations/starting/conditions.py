"""What forbids a run: `check` shows all of it, and every worker asks for it before it joins its group.

A worker looks at brokers, topics and permissions at each start. It looks at a sample of the input only if nothing
was published under its policy before, so that a restart does not wait while a sample is judged a second time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.reading.topic_sample import TopicSample
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.adapters.kafka.topics.permissions import Resource, least_privileges, permissions_of
from stream_anon.adapters.kafka.topics.requirements import TopicFinding, TopicSeverity, examine
from stream_anon.adapters.kafka.writing.packed_batch import least_batch_bytes
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError
from stream_anon.formats.codecs import topic_codec
from stream_anon.judging.findings import Finding, Severity
from stream_anon.judging.refusing import OF_RUN, refusal, weighed
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Study, study
from stream_anon.judging.validity import standing_findings
from stream_anon.microdata.policy import Policy
from stream_anon.operations.certificate_parts import part_or_none
from stream_anon.operations.starting.input_sample import newest_records, nothing_read, sample_of
from stream_anon.operations.starting.mirror_findings import mirror_findings
from stream_anon.operations.starting.rollout import NEWEST, NewestCertificates
from stream_anon.operations.starting.schema_findings import raise_if_registry_away, reader_of, schema_findings
from stream_anon.ports import Codec
from stream_anon.ports.publication import ANY_BATCH, header_of
from stream_anon.service.wiring.clients import formats_of
from stream_anon.settings.kafka import KafkaSettings


@dataclass(frozen=True, slots=True)
class Deployment:
    """The state of brokers, topics and permissions.

    Parameters
    ----------
    seen
        What is as it must be, in words.
    inputs
        Input topics that exist.
    """

    seen: tuple[str, ...]
    findings: tuple[Finding, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    """The result of looking at a sample of the input.

    Parameters
    ----------
    study
        None if the input could not be read.
    complete
        Whether the whole sample was read within its time.
    """

    study: Study | None
    findings: tuple[Finding, ...]
    complete: bool = True


async def look_at_deployment(
    connection: Connection, topics: Topics, kafka: KafkaSettings, policy: Policy
) -> Deployment:
    """Return the findings on brokers, topics and permissions. Raises BrokerError if no broker answers."""
    exactly_once = kafka.delivery == "exactly-once"
    looked_at = await examine(
        connection,
        topics,
        transactions=exactly_once,
        development=kafka.development,
        max_record_bytes=kafka.max_record_bytes,
        largest_release=largest_release(policy, kafka),
    )
    seen, findings = _split(looked_at)
    inputs = [
        each.topic for each in looked_at if each.severity is TopicSeverity.OK and topics.input.holds(each.topic)
    ]
    allowed, refused = await _permissions(connection, topics, inputs or topics.input.names, exactly_once)
    mirrored = await mirror_findings(connection, topics, inputs) if exactly_once else []
    found = (*findings, *_settings_findings(kafka), *refused, *mirrored)
    return Deployment((*seen, *allowed), found, tuple(inputs))


def largest_release(policy: Policy, kafka: KafkaSettings) -> int:
    """Return the bytes of a batch that holds one record, the largest that may be released."""
    most = topic_codec(policy, formats=formats_of(kafka)).most_released(kafka.max_record_bytes)
    return least_batch_bytes(most, header_of(ANY_BATCH))


async def look_at_sample(
    connection: Connection, inputs: Sequence[str], policy: Policy, kafka: KafkaSettings
) -> Sampled:
    """Return what the newest records of the input show. Raises BrokerError.

    It takes half a minute at the most, and a minute more where a slow registry is asked for schemas.
    """
    if not inputs:
        return Sampled(None, ())
    await raise_if_registry_away(formats_of(kafka))
    try:
        readings = await newest_records(connection, inputs, policy, kafka)
    except TopicError as error:
        finding = Finding(Severity.FORBIDS, str(kafka.inputs), str(error), Condition.INPUT_UNREADABLE)
        return Sampled(None, (finding,))
    complete = all(reading.complete for reading in readings)
    if nothing_read(readings):
        text = f"{nothing_read(readings)}. So nobody knows whether a field is missing or has rare values"
        finding = Finding(Severity.FORBIDS, str(kafka.inputs), text, Condition.INPUT_UNREADABLE)
        return Sampled(None, (finding,), complete)
    sample = sample_of(*readings)
    codec, changes = await reader_of(policy, kafka, sample)
    found = await asyncio.to_thread(study, policy, sample, codec)
    unreadable = sum(reading.unreadable for reading in readings)
    findings = (
        *_unreadable_findings(kafka, unreadable),
        *sample_findings(policy, found),
        *schema_findings(found, changes),
        *await asyncio.to_thread(_scattered_findings, policy, readings, codec),
    )
    return Sampled(found, findings, complete)


def _unreadable_findings(kafka: KafkaSettings, unreadable: int) -> list[Finding]:
    if not unreadable:
        return []
    does = "passes over them" if kafka.lost_input == "skip" else "stops there; see kafka.lost_input"
    text = f"batches among the newest records that nobody can read: {unreadable}. A worker {does}"
    return [Finding(Severity.WARNS, str(kafka.inputs), text)]


def _scattered_findings(policy: Policy, readings: Sequence[TopicSample], codec: Codec) -> list[Finding]:
    """Return what forbids to count releases: a sampled person with records in two partitions or more."""
    if policy.returning is None:
        return []
    people = [
        np.unique(codec.decode(list(part.values), 0, np.arange(len(part), dtype=np.int64)).individuals)
        for reading in readings
        for part in reading.records.values()
        if len(part)
    ]
    found, partitions = np.unique(np.concatenate([np.empty(0, np.int64), *people]), return_counts=True)
    scattered = int(np.count_nonzero(partitions > 1))
    if not scattered:
        return []
    return [
        Finding(
            Severity.FORBIDS,
            "privacy.returning",
            f"{scattered:,} of {len(found):,} sampled individuals have records in several partitions of the input. "
            "They could be released as often as allowed from each of them. Let producers key records by individual",
            Condition.SCATTERED_PEOPLE,
        )
    ]


async def raise_if_forbidden(
    connection: Connection, topics: Topics, kafka: KafkaSettings, policy: Policy, certificates: NewestCertificates
) -> Sampled | None:
    """Return what a sample of the input shows, if a worker may start; None if a sample was judged before.

    Parameters
    ----------
    certificates
        Of the service's topic.

    Raises
    ------
    Refused
        If conditions forbid it that nobody has accepted; the message names each of them.
    TopicError
        If a topic is missing; the caller waits for it.
    BrokerError
        If no broker answers.
    """
    deployment = await look_at_deployment(connection, topics, kafka, policy)
    findings = [*deployment.findings, *standing_findings(policy, SystemClock().wall())]
    _raise_for(findings, kafka.accept_risks)
    if await _judged_before(certificates, policy, kafka):
        return None
    sampled = await look_at_sample(connection, deployment.inputs, policy, kafka)
    _raise_for([*findings, *sampled.findings], kafka.accept_risks)
    return sampled


def _raise_for(findings: Iterable[Finding], accepted: Collection[Condition]) -> None:
    forbidding = [each for each in weighed(findings, accepted) if each.severity is Severity.FORBIDS]
    absent = [each for each in forbidding if each.condition is Condition.MISSING_TOPIC]
    if absent:
        raise TopicError("; ".join(f"{each.place}: {each.text}" for each in absent))
    if forbidding:
        raise refusal(forbidding, "a run must not start", OF_RUN)


async def _judged_before(certificates: NewestCertificates, policy: Policy, kafka: KafkaSettings) -> bool:
    """Return whether records were released under this policy, while no more risks were accepted than now.

    Only the newest certificates tell it: since one that lies far back the input may have changed. A window without
    a released record proves nothing: its records may have been the first. Nor does what nobody can read.
    """
    for newest in NEWEST[:-1]:
        try:
            reading = await certificates.read(newest)
        except TopicError:  # this user may not read it
            return False
        # Most of thousands may be of another policy: only what names ours is decoded.
        ours = [value for value in reading.values() if value is not None and policy.digest.encode() in value]
        parts = [part for value in ours if (part := part_or_none(value)) is not None]
        released = [part for part in parts if part.policy == policy.digest and part.released]
        if any(set(part.accepted) <= set(kafka.accept_risks) for part in released):
            return True
        if reading.is_whole:
            break
    return False


def _split(looked_at: Sequence[TopicFinding]) -> tuple[list[str], list[Finding]]:
    seen, findings = [], []
    for each in looked_at:
        place = each.topic or "brokers"
        if each.severity is TopicSeverity.OK:
            seen.append(f"{place}: {each.text}")
        elif each.severity is TopicSeverity.ERROR:
            findings.append(Finding(Severity.FORBIDS, place, each.text, each.condition, each.commands))
        else:
            findings.append(Finding(Severity.WARNS, place, each.text, commands=each.commands))
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
        Finding(
            Severity.FORBIDS, acl.place, f"this user may not {acl.operation.name.lower()}", Condition.PERMISSIONS
        )
        for acl in found.missing
    ]
    short = {acl.place for acl in found.missing}
    allowed = sorted({acl.place for acl in found.told} - short)
    seen = [f"permissions suffice for {', '.join(allowed)}"] if allowed else []
    if not any(acl.resource is Resource.TOPIC for acl in found.told):
        seen.append("permissions on topics: these brokers do not tell them")
    return seen, refused
