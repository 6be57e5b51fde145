"""Whether a worker may start: conditions that forbid a run, and policies that promise less than the one before."""

from __future__ import annotations

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError
from stream_anon.microdata.policy import Policy
from stream_anon.operations.starting.conditions import Sampled, raise_if_forbidden
from stream_anon.operations.starting.rollout import (
    Before,
    NewestCertificates,
    published_before,
    refuse_weaker,
    stands_by,
)
from stream_anon.service.wiring.clients import topics_of
from stream_anon.service.wiring.permit import Permit
from stream_anon.settings.kafka import KafkaSettings
from stream_anon.settings.loading import kafka_of
from stream_anon.settings.model import Settings


async def permit_of(connection: Connection, settings: Settings, policy: Policy) -> Permit:
    """Return what is known of the output and the input, if a worker may start.

    Nothing is checked for a worker that will stand by, since the output has been published under a higher revision:
    a pod of the old policy that is restarted during a roll-out must not crash over and over.

    Raises
    ------
    Refused
        If a condition that nobody has accepted forbids a run.
    SettingsError
        If the policy promises less than the one before, and nobody has accepted that.
    BrokerError
        If this cannot be told yet.
    """
    kafka = kafka_of(settings)
    topics = topics_of(kafka, settings.privacy.returning)
    ledger = kafka.delivery == "exactly-once"
    certificates = NewestCertificates(connection, topics.certificates)
    try:
        before = await published_before(certificates, policy.digest)
    except TopicError:  # the conditions say whether it is missing or may not be read
        sampled = await raise_if_forbidden(connection, topics, kafka, policy, certificates)
        if Condition.PERMISSIONS not in kafka.accept_risks:
            raise
        return Permit(unsampled=_expected(policy, kafka, sampled))
    if stands_by(policy, before):
        return Permit(_revision(before))
    sampled = await raise_if_forbidden(connection, topics, kafka, policy, certificates)
    refuse_weaker(policy, settings.privacy.accept_weaker, before, ledger=ledger)
    last = None if before is None or before.policy != policy.digest else before.window
    return Permit(_revision(before), _expected(policy, kafka, sampled), last)


def _revision(before: Before | None) -> int:
    return before.revision if before else 0


def _expected(policy: Policy, kafka: KafkaSettings, sampled: Sampled | None) -> frozenset[str]:
    """Return the published attributes that must have a value, if a sample does not tell whether they have one."""
    if sampled is None or Condition.MISSING_FIELD in kafka.accept_risks or (sampled.study and sampled.study.fit):
        return frozenset()
    return frozenset(attribute.name for attribute in policy.published if not attribute.accept_missing)
