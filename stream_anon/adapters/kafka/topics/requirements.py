"""What the topics must be like. Findings are values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from aiokafka.admin import AIOKafkaAdminClient

from stream_anon.adapters.kafka.client.administering import administering
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.sent_once import EPOCHS, FEATURE, transaction_level
from stream_anon.adapters.kafka.topics.creation import expires, forgets
from stream_anon.adapters.kafka.topics.descriptions import (
    ABSENT,
    MAY_NOT,
    Described,
    Topics,
    describe,
    inputs_of,
    largest_batch,
    settings_of,
)
from stream_anon.adapters.kafka.topics.plans import TopicPlan, looked_into, plans
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.conditions import Condition

_PURPOSE = "admin"
_INTERNAL = ("__consumer_offsets", "__transaction_state")
_TXN_OFFSET_COMMIT = 28
_APPEND_TIME = "LogAppendTime"


class TopicSeverity(StrEnum):
    """What a finding means for a run."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TopicFinding:
    """A finding about a topic, or about the brokers if `topic` is empty.

    Parameters
    ----------
    condition
        Set if it forbids a run.
    commands
        Of Apache Kafka, which mend all that was found of this topic, or of the brokers.
    """

    topic: str
    severity: TopicSeverity
    text: str
    condition: Condition | None = None
    commands: tuple[str, ...] = ()


async def examine(
    connection: Connection,
    topics: Topics,
    *,
    transactions: bool = True,
    development: bool = False,
    max_record_bytes: int = 0,
    largest_release: int = 0,
) -> list[TopicFinding]:
    """Return what was found of the brokers and the topics.

    Parameters
    ----------
    transactions
        Whether delivery is exactly-once: then the ledger and the internal topics count too.
    development
        Turn missing replicas from errors into warnings.
    max_record_bytes, largest_release
        The largest record that is taken in, and bytes of a batch that holds the largest that may be released.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "describing the topics") as admin:
        findings = await _version(admin, Tools.of(connection)) if transactions else []
        inputs = await inputs_of(admin, topics)
        own = (*topics.own, *_INTERNAL) if transactions else topics.written
        names = [*inputs, *own]
        described = await describe(admin, names)
        brokers = len((await admin.describe_cluster())["brokers"])
    planned = plans(
        topics,
        brokers,
        {name: described[name] for name in names if name not in _INTERNAL},
        max_record_bytes=max_record_bytes,
        largest_release=largest_release,
        ledger=transactions,
    )
    plan_of = {plan.name: plan for plan in await looked_into(connection, planned)}
    if not inputs:
        findings.append(
            TopicFinding(str(topics.input), TopicSeverity.WARNING, "no topic fits it yet: a run waits for one")
        )
    for name in names:
        found = _judge(name, described[name], topics, development, largest_release)
        findings += _with_commands(found, plan_of[name], Tools.of(connection)) if name in plan_of else found
    return findings


def _with_commands(found: list[TopicFinding], plan: TopicPlan, tools: Tools) -> list[TopicFinding]:
    """Add what a plan alone knows: too few partitions of an empty topic, and the commands that mend it."""
    if plan.lacks_partitions:
        found = [*found, TopicFinding(plan.name, TopicSeverity.WARNING, plan.differences()[-1])]
    *others, gravest = sorted(found, key=lambda each: list(TopicSeverity).index(each.severity))
    if gravest.severity is TopicSeverity.OK:
        return found
    return [*others, replace(gravest, commands=plan.mending(tools))]


async def largest_batches(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """Return how many bytes a batch may have in each topic, as far as the brokers tell.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "reading the topics' settings") as admin:
        settings = await settings_of(admin, sorted(names))
    return {name: most for name, own in settings.items() if (most := largest_batch(own)) is not None}


async def look(connection: Connection, topics: Topics) -> tuple[int, dict[str, Described | str]]:
    """Return the number of brokers, and the inputs and own topics of a service or why one cannot be described.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "describing the topics") as admin:
        brokers = len((await admin.describe_cluster())["brokers"])
        return brokers, await describe(admin, [*await inputs_of(admin, topics), *topics.own])


async def inputs_there(connection: Connection, topics: Topics) -> list[str]:
    """Return the names of the input topics that exist and that this user may describe.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "describing the topics") as admin:
        described = await describe(admin, await inputs_of(admin, topics))
    return [name for name, topic in described.items() if isinstance(topic, Described)]


async def _version(admin: AIOKafkaAdminClient, tools: Tools) -> list[TopicFinding]:
    """Judge the brokers by the requests they know: since 4.0 TxnOffsetCommit has version 5 (KIP-890)."""
    client = admin._client  # noqa: SLF001 - pinned by a test
    for connection in client._conns.values():  # noqa: SLF001 - as above
        newest = connection._versions.get(_TXN_OFFSET_COMMIT, (0, -1))[1]  # noqa: SLF001
        if newest < 0:
            return [_brokers("the brokers know no transactions: set delivery: at-least-once")]
        if newest < 5:
            return [
                _brokers(
                    "the brokers are older than Apache Kafka 4.0: a committed transaction may not be settled yet"
                )
            ]
    level = await transaction_level(client, client.get_random_node())
    if level >= EPOCHS:
        return [TopicFinding("", TopicSeverity.OK, f"reachable; transaction.version is {level}")]
    text = (
        f"transaction.version is {level}: only the worker keeps late requests of one transaction out of the next. "
        "From version 2 on the brokers do so too"
    )
    return [TopicFinding("", TopicSeverity.WARNING, text, commands=(tools.raise_feature(FEATURE, EPOCHS),))]


def _brokers(text: str) -> TopicFinding:
    return TopicFinding("", TopicSeverity.ERROR, text, Condition.BROKERS)


def _judge(
    name: str, topic: Described | str, topics: Topics, development: bool, largest_release: int
) -> list[TopicFinding]:
    if not isinstance(topic, Described):
        if name in _INTERNAL and topic == ABSENT:
            return []  # made on first use
        if name in (topics.ledger, topics.returns) and topic == ABSENT:
            return [TopicFinding(name, TopicSeverity.OK, "does not exist yet: a run creates it")]
        if name in _INTERNAL and topic == MAY_NOT:
            return [
                TopicFinding(name, TopicSeverity.WARNING, f"{topic}: whether it outlives a broker is not known")
            ]
        return [TopicFinding(name, TopicSeverity.ERROR, topic, Condition.MISSING_TOPIC)]
    findings = [TopicFinding(name, TopicSeverity.OK, f"{topic.partitions} partitions, {topic.replicas} replicas")]
    findings += _judge_safety(topic, TopicSeverity.WARNING if development else TopicSeverity.ERROR)
    if not topic.settings:
        text = "this user may not see its settings (DESCRIBE_CONFIGS): they were not checked"
        findings.append(TopicFinding(name, TopicSeverity.WARNING, text))
    policy = topic.settings.get("cleanup.policy", "")
    if name == topics.ledger and (text := expires(topic)):
        findings.append(TopicFinding(name, TopicSeverity.ERROR, text, Condition.LEDGER_CLEANUP))
    if name == topics.returns and (text := forgets(topic, topics)):
        findings.append(TopicFinding(name, TopicSeverity.ERROR, text, Condition.LEDGER_CLEANUP))
    if name not in (topics.ledger, topics.returns, *_INTERNAL) and "compact" in policy:
        text = "cleanup.policy must not be compact: records have no key"
        severity = TopicSeverity.WARNING if topics.input.holds(name) else TopicSeverity.ERROR
        findings.append(TopicFinding(name, severity, text, Condition.OUTPUT_CLEANUP))
    if topic.settings.get("message.timestamp.type") == _APPEND_TIME:
        findings += _judge_times(name, topics)
    if name == topics.output:
        largest = largest_batch(topic.settings)
        if largest is not None and largest < largest_release:
            text = (
                f"max.message.bytes (or segment.bytes) is {largest}. A record of kafka.max_record_bytes may take "
                f"{largest_release} bytes once it is generalized, and would be a dead letter (too-large). Raise it "
                f"to {largest_release}, or lower kafka.max_record_bytes by {largest_release - largest}"
            )
            findings.append(TopicFinding(name, TopicSeverity.WARNING, text))
    return findings


def _judge_times(name: str, topics: Topics) -> list[TopicFinding]:
    """Judge a topic whose records get the time of their append from the brokers."""
    kind = "message.timestamp.type is LogAppendTime"
    if name == topics.output:
        text = (
            f"{kind} and must be CreateTime: records would show to the millisecond when a window was published, "
            "instead of to the second. The brokers' default is log.message.timestamp.type"
        )
        return [TopicFinding(name, TopicSeverity.ERROR, text, Condition.APPEND_TIME)]
    if name == topics.certificates:
        text = f"{kind}: an audit cannot tell from it what retention has removed; set CreateTime"
        return [TopicFinding(name, TopicSeverity.WARNING, text)]
    return []


def _judge_safety(topic: Described, severity: TopicSeverity) -> list[TopicFinding]:
    """Three replicas, two in sync, no unclean election: an acknowledged window must survive a broker."""
    texts = []
    if topic.replicas < 3:
        texts.append(f"has {topic.replicas} replicas, 3 are needed")
    in_sync = topic.settings.get("min.insync.replicas")
    if in_sync is not None and int(in_sync) < 2:
        texts.append(f"min.insync.replicas is {in_sync}, 2 are needed")
    if topic.settings.get("unclean.leader.election.enable") == "true":
        texts.append("unclean.leader.election.enable must be false")
    return [TopicFinding(topic.name, severity, text, Condition.DURABILITY) for text in texts]
