"""Whether a worker may start: conditions that forbid a run, and policies that promise less than the one before."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.descriptions import Topics
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError
from stream_anon.microdata.policy import Policy
from stream_anon.service.starting.conditions import Sampled, raise_if_forbidden
from stream_anon.service.starting.first_window import unsampled
from stream_anon.service.starting.rollout import Before, published_before, refuse_weaker, stands_by
from stream_anon.settings.kafka import KafkaSettings


@dataclass(frozen=True, slots=True)
class Permit:
    """What is known once a worker may start.

    Parameters
    ----------
    before
        Under which policy the output was published last; None if nothing was published, or if it may not be read.
    unsampled
        Published attributes that must have a value before the first window goes out, since no record of the input
        could tell yet whether they come.
    """

    before: Before | None
    unsampled: frozenset[str] = frozenset()


async def raise_if_weaker_or_forbidden(
    connection: Connection, topics: Topics, kafka: KafkaSettings, policy: Policy, accepted_weaker: str
) -> Permit:
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
    ledger = kafka.delivery == "exactly-once"
    try:
        before = await published_before(connection, topics.certificates, policy.digest)
    except TopicError:  # the conditions say whether it is missing or may not be read
        sampled = await raise_if_forbidden(connection, topics, kafka, policy)
        if Condition.PERMISSIONS not in kafka.accept_risks:
            raise
        return Permit(None, _expected(policy, kafka, sampled))
    if stands_by(policy, before):
        return Permit(before)
    sampled = await raise_if_forbidden(connection, topics, kafka, policy)
    refuse_weaker(policy, accepted_weaker, before, ledger=ledger)
    return Permit(before, _expected(policy, kafka, sampled))


def _expected(policy: Policy, kafka: KafkaSettings, sampled: Sampled | None) -> frozenset[str]:
    if sampled is None or Condition.MISSING_FIELD in kafka.accept_risks:
        return frozenset()
    return unsampled(policy, sampled.study)
