"""Create topics: those that `stream-anon topics` makes, and those that a run makes for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError, for_code

from stream_anon.adapters.kafka.client.administering import administering
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.descriptions import ABSENT, Described, Topics, describe, inputs_of
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.errors import TopicError
from stream_anon.ports.release_history import MOST_TOGETHER

COMPACT = "compact"
"""The cleanup of a ledger, and nothing else: with `compact,delete` entries expire."""
MOST_ENTRY = 8 * MOST_TOGETHER + 1024
"""Bytes of the longest entry of a topic of returns, as a batch."""
_PURPOSE = "admin"


async def create(connection: Connection, wanted: Sequence[NewTopic]) -> Mapping[str, Described | str]:
    """Create topics, wait until they can be seen, and return what the brokers say of them then.

    One that somebody else creates meanwhile is left as it is.

    Raises
    ------
    TopicError
        If one cannot be created; those before it have been.
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "creating topics") as admin:
        answers = [(await admin.create_topics([new])).topic_errors[0] for new in wanted]
        made = [name for name, code, *_ in answers if code in (0, TopicAlreadyExistsError.errno)]
        # Another broker may not have heard of the topic yet, and nothing tells when it has.
        while ABSENT in (found := await describe(admin, made)).values():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    for name, code, *_ in answers:
        if name not in made:
            raise TopicError(f"{name}: cannot be created ({for_code(code).__name__})")
    return found


async def create_returns(connection: Connection, topics: Topics) -> bool:
    """Create the topic that counts returns if it is missing; return whether this created it.

    It gets the partitions of the input and the replicas of the output.

    Raises
    ------
    TopicError
        If input or output is missing, if the topic cannot be created, or if it forgets within a period.
    BrokerError
        If no broker answers.
    """
    assert topics.returns is not None  # noqa: S101 - nobody else calls this
    async with administering(connection, _PURPOSE, "creating the topic of returns") as admin:
        inputs = await inputs_of(admin, topics)
        found = await describe(admin, [topics.returns, topics.output, *inputs])
        returns, tools = found[topics.returns], Tools.of(connection)
        if isinstance(returns, Described):
            if text := forgets(returns, topics):
                raise TopicError(f"{topics.returns}: {text}: {tools.change(topics.returns, keeping(topics))}")
            return False
        there = []
        for name in (topics.output, *inputs):
            if not isinstance(topic := found[name], Described):
                raise TopicError(f"{name}: {topic}")
            there.append(topic)
        output, *read = there
        partitions = max(topic.partitions for topic in read)
        if await _create_own(admin, topics.returns, partitions, output, keeping(topics)):
            return True
    return await create_returns(connection, topics)  # what somebody else made may forget too early


def keeping(topics: Topics) -> dict[str, str]:
    """Return the settings with which counts of releases outlive their period."""
    return {"cleanup.policy": "delete", "retention.ms": str(topics.returns_kept), "retention.bytes": "-1"}


async def _create_own(
    admin: AIOKafkaAdminClient,
    name: str,
    partitions: int,
    output: Described,
    settings: Mapping[str, str],
) -> bool:
    """Create a topic of the service's own with the replicas of its output; return False if somebody else did."""
    safe = {"unclean.leader.election.enable": "false"}
    if output.replicas >= 3:
        safe["min.insync.replicas"] = "2"
    new = NewTopic(name, partitions, output.replicas, topic_configs={**settings, **safe})
    code = (await admin.create_topics([new])).topic_errors[0][1]
    if code == TopicAlreadyExistsError.errno:
        await asyncio.sleep(0.1)  # somebody made it meanwhile, perhaps by asking for it
        return False
    if code != 0:
        raise TopicError(f"{name}: cannot be created ({for_code(code).__name__})")
    return True


def forgets(returns: Described, topics: Topics) -> str:
    """Return why a topic of returns loses counts before their period is over; empty if it does not."""
    if not returns.settings:
        return "this user may not see its settings (DESCRIBE_CONFIGS), so it is not known how long it keeps counts"
    policy = returns.settings.get("cleanup.policy", "delete")
    kept = int(returns.settings.get("retention.ms", -1))
    if policy != "delete":
        return f"cleanup.policy is {policy} and must be delete: entries have no key"
    if 0 <= kept < topics.returns_kept:
        return f"retention.ms is {kept} and must be {topics.returns_kept}, a period of privacy.returning and a day"
    if int(returns.settings.get("retention.bytes", -1)) >= 0:
        return "retention.bytes must be -1: counts that are deleted within their period bound nothing"
    if int(returns.settings.get("max.message.bytes", MOST_ENTRY)) < MOST_ENTRY:
        return f"max.message.bytes must be {MOST_ENTRY} or more, which is the largest possible entry"
    return ""


async def create_ledger(connection: Connection, topics: Topics) -> bool:
    """Create the ledger if it is missing, with the replicas of the output; return whether this created it.

    Raises
    ------
    TopicError
        If the output is missing too, or the ledger cannot be created, or is not compacted.
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "creating the ledger") as admin:
        return await _create_ledger(admin, topics, Tools.of(connection))


async def _create_ledger(admin: AIOKafkaAdminClient, topics: Topics, tools: Tools) -> bool:
    found = await describe(admin, [topics.ledger, topics.output])
    ledger, output = found[topics.ledger], found[topics.output]
    if isinstance(ledger, Described):
        policy = ledger.settings.get("cleanup.policy", COMPACT)
        if policy != COMPACT:
            command = tools.change(topics.ledger, {"cleanup.policy": COMPACT})
            raise TopicError(f"{topics.ledger}: {expires(policy)}: {command}")
        return False
    if not isinstance(output, Described):
        raise TopicError(f"{topics.output}: {output}")
    if await _create_own(admin, topics.ledger, 1, output, {"cleanup.policy": "compact"}):
        return True
    return await _create_ledger(admin, topics, tools)  # what somebody else made may not be compacted


def expires(policy: str) -> str:
    """Return what is wrong with a ledger of this cleanup."""
    return (
        f"cleanup.policy is {policy} and must be compact, without delete: entries that expire protect nothing, and "
        "records are released twice"
    )
