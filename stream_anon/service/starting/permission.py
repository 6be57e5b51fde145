"""Whether a worker may start: what forbids a run, and whether its policy promises less than the output had."""

from __future__ import annotations

from dataclasses import dataclass

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.requirements import Topics
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError
from stream_anon.microdata.policy import Policy
from stream_anon.service.starting.conditions import Sampled, raise_if_forbidden
from stream_anon.service.starting.first_window import unsampled
from stream_anon.service.starting.rollout import Before, published_before, refuse_weaker, stands_by
from stream_anon.settings.model import KafkaSettings


@dataclass(frozen=True, slots=True)
class Permit:
    """What is known where a worker may start.

    Parameters
    ----------
    before
        Under which policy the output was published last; None where nothing was, or nobody may know.
    unsampled
        Published attributes that must have a value before the first window goes out: the input held no record yet
        that could tell whether they come.
    """

    before: Before | None
    unsampled: frozenset[str] = frozenset()


async def raise_if_weaker_or_forbidden(
    connection: Connection, topics: Topics, kafka: KafkaSettings, policy: Policy, accepted_weaker: str
) -> Permit:
    """Return what is known of the output and the input, if a worker may start.

    A worker that will stand by, since the output has been published under a higher revision, is asked nothing: a
    pod of the old policy that is started again during a roll-out must not crash over and over.

    Raises
    ------
    Refused
        If a condition forbids a run that nobody has accepted.
    SettingsError
        If the policy promises less than the one before, and nobody has accepted that.
    BrokerError
        If that cannot be told yet.
    """
    ledger = kafka.delivery == "exactly-once"
    try:
        before = await published_before(connection, topics.certificates, policy.digest)
    except TopicError:  # it is missing, or may not be read: the conditions say which
        sampled = await raise_if_forbidden(connection, topics, kafka, policy)
        if Condition.PERMISSIONS not in kafka.accept_risks:
            raise
        return Permit(None, _expected(policy, kafka, sampled))
    if stands_by(policy, before, ledger=ledger):
        return Permit(before)
    sampled = await raise_if_forbidden(connection, topics, kafka, policy)
    refuse_weaker(policy, accepted_weaker, before, ledger=ledger)
    return Permit(before, _expected(policy, kafka, sampled))


def _expected(policy: Policy, kafka: KafkaSettings, sampled: Sampled | None) -> frozenset[str]:
    if sampled is None or Condition.MISSING_FIELD in kafka.accept_risks:
        return frozenset()
    return unsampled(policy, sampled.study)
