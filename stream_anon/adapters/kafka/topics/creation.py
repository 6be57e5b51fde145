"""Create topics: those that `stream-anon topics` makes, and those that a run makes for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
    """Create the topic that counts returns if it is missing, with the partitions of the input; see `create_own`."""
    assert topics.returns is not None  # noqa: S101 - nobody else calls this
    async with administering(connection, _PURPOSE, "creating the topic of returns") as admin:
        inputs = await inputs_of(admin, topics)
        own = OwnTopic(topics.returns, keeping(topics), lambda found: forgets(found, topics))
        return await create_own(admin, own, topics.output, inputs, Tools.of(connection))


async def create_ledger(connection: Connection, topics: Topics) -> bool:
    """Create the ledger if it is missing; see `create_own`."""
    async with administering(connection, _PURPOSE, "creating the ledger") as admin:
        own = OwnTopic(topics.ledger, {"cleanup.policy": COMPACT}, expires)
        return await create_own(admin, own, topics.output, (), Tools.of(connection))


@dataclass(frozen=True, slots=True)
class OwnTopic:
    """A topic that a run makes for itself.

    Parameters
    ----------
    settings
        What its creation must set.
    fault
        Says what is wrong with one that exists; empty if nothing is.
    """

    name: str
    settings: Mapping[str, str]
    fault: Callable[[Described], str]


async def create_own(
    admin: AIOKafkaAdminClient, own: OwnTopic, output: str, inputs: Sequence[str], tools: Tools
) -> bool:
    """Create a topic if it is missing, with the replicas of the output; return whether this created it.

    Parameters
    ----------
    inputs
        It gets as many partitions as the largest of them; one if there is none.

    Raises
    ------
    TopicError
        If output or input is missing, if the topic cannot be created, or if there is one with a fault.
    BrokerError
        If no broker answers.
    """
    while True:
        found = await describe(admin, [own.name, output, *inputs])
        if isinstance(there := found[own.name], Described):
            if text := own.fault(there):
                raise TopicError(f"{own.name}: {text}: {tools.change(own.name, own.settings)}")
            return False
        others = []
        for name in (output, *inputs):
            if not isinstance(topic := found[name], Described):
                raise TopicError(f"{name}: {topic}")
            others.append(topic)
        like, *read = others
        safe = {"unclean.leader.election.enable": "false"}
        if like.replicas >= 3:
            safe["min.insync.replicas"] = "2"
        partitions = max((topic.partitions for topic in read), default=1)
        new = NewTopic(own.name, partitions, like.replicas, topic_configs={**own.settings, **safe})
        code = (await admin.create_topics([new])).topic_errors[0][1]
        if code == 0:
            return True
        if code != TopicAlreadyExistsError.errno:
            raise TopicError(f"{own.name}: cannot be created ({for_code(code).__name__})")
        await asyncio.sleep(0.1)  # somebody made it meanwhile, perhaps by asking for it, and it may have a fault


def keeping(topics: Topics) -> dict[str, str]:
    """Return the settings with which counts of releases outlive their period."""
    return {"cleanup.policy": "delete", "retention.ms": str(topics.returns_kept), "retention.bytes": "-1"}


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


def expires(ledger: Described) -> str:
    """Return why a ledger forgets entries; empty if it does not, or if its settings may not be seen."""
    policy = ledger.settings.get("cleanup.policy", COMPACT)
    if policy == COMPACT:
        return ""
    return (
        f"cleanup.policy is {policy or 'empty'} and must be compact, without delete: entries that expire protect "
        "nothing, and records are released twice"
    )
