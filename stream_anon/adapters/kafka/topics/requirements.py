"""What the topics must be like, and the creation of a missing ledger. Findings are values."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from stream_anon.adapters.kafka.client.administering import administering
from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.protocol.sent_once import EPOCHS, transaction_level
from stream_anon.adapters.kafka.reading.input_topics import InputTopics
from stream_anon.conditions import Condition
from stream_anon.errors import TopicError

_PURPOSE = "admin"
_INTERNAL = ("__consumer_offsets", "__transaction_state")
_TXN_OFFSET_COMMIT = 28
_NOT_THERE = 3
_REFUSED = 29
_COMPACT = "compact"  # and nothing else: with `compact,delete` entries expire
_APPEND_TIME = "LogAppendTime"
_ABSENT = "does not exist"
_MAY_NOT = "may not be described by this user"


class TopicSeverity(StrEnum):
    """What a finding means for a run."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TopicFinding:
    """A finding about a topic, or about the brokers if `topic` is empty; `condition` is set if it forbids a run."""

    topic: str
    severity: TopicSeverity
    text: str
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of a service."""

    input: InputTopics
    output: str
    certificates: str
    dead_letters: str
    ledger: str


@dataclass(frozen=True, slots=True)
class Described:
    """A topic as the brokers describe it."""

    name: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]


async def examine(
    connection: Connection,
    topics: Topics,
    *,
    transactions: bool = True,
    development: bool = False,
    largest_release: int = 0,
) -> list[TopicFinding]:
    """Return what was found of the brokers and the topics.

    Parameters
    ----------
    transactions
        Whether delivery is exactly-once: then the ledger and the internal topics count too.
    development
        Turn missing replicas from errors into warnings.
    largest_release
        Bytes of a batch that holds one record, the largest that may be released.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "describing the topics") as admin:
        findings = await _version(admin) if transactions else []
        inputs = await _inputs(admin, topics)
        names = [*inputs, topics.output, topics.certificates, topics.dead_letters]
        names += [topics.ledger, *_INTERNAL] if transactions else []
        described = await _describe(admin, names)
    if not inputs:
        findings.append(
            TopicFinding(str(topics.input), TopicSeverity.WARNING, "no topic fits it yet: a run waits for one")
        )
    for name in names:
        findings += _judge(name, described[name], topics, development, largest_release)
    return findings


async def largest_batches(connection: Connection, names: Collection[str]) -> dict[str, int]:
    """Return how many bytes a batch may have in each topic, as far as the brokers tell.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "reading the topics' settings") as admin:
        settings = await _settings(admin, sorted(names))
    return {name: most for name, own in settings.items() if (most := largest_batch(own)) is not None}


def largest_batch(settings: Mapping[str, str]) -> int | None:
    """Return how many bytes a batch may have in a topic with these settings; None if they do not say."""
    limits = [int(settings[key]) for key in ("max.message.bytes", "segment.bytes") if settings.get(key)]
    return min(limits, default=None)


async def create_ledger(connection: Connection, topics: Topics) -> bool:
    """Create the ledger if it is missing, with the replicas of the output; return whether it was missing.

    Raises
    ------
    TopicError
        If the output is missing too, or the ledger cannot be created, or is not compacted.
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "creating the ledger") as admin:
        return await _create_ledger(admin, topics)


async def _create_ledger(admin: AIOKafkaAdminClient, topics: Topics) -> bool:
    found = await _describe(admin, [topics.ledger, topics.output])
    ledger, output = found[topics.ledger], found[topics.output]
    if isinstance(ledger, Described):
        policy = ledger.settings.get("cleanup.policy", _COMPACT)
        if policy != _COMPACT:
            raise TopicError(f"{topics.ledger}: {_must_be_compact(policy)}")
        return False
    if not isinstance(output, Described):
        raise TopicError(f"{topics.output}: {output}")
    settings = {"cleanup.policy": "compact", "unclean.leader.election.enable": "false"}
    if output.replicas >= 3:
        settings["min.insync.replicas"] = "2"
    new = NewTopic(topics.ledger, 1, output.replicas, topic_configs=settings)
    answer = await admin.create_topics([new])
    code = answer.topic_errors[0][1]
    if code not in (0, TopicAlreadyExistsError.errno):
        raise TopicError(f"{topics.ledger}: cannot be created ({for_code(code).__name__})")
    return True


def _must_be_compact(policy: str) -> str:
    return (
        f"cleanup.policy is {policy} and must be compact, without delete: entries that expire protect nothing, and "
        "records are released twice. Set it with kafka-configs"
    )


async def look(connection: Connection, topics: Topics) -> tuple[int, dict[str, Described | str]]:
    """Return the number of brokers, and the inputs and own topics of a service or why one cannot be described.

    Raises
    ------
    BrokerError
        If no broker answers.
    """
    async with administering(connection, _PURPOSE, "describing the topics") as admin:
        brokers = len((await admin.describe_cluster())["brokers"])
        own = (topics.output, topics.certificates, topics.dead_letters, topics.ledger)
        return brokers, await _describe(admin, [*await _inputs(admin, topics), *own])


async def create(connection: Connection, wanted: Sequence[NewTopic]) -> None:
    """Create topics and wait until they can be seen; one that somebody else creates meanwhile is left as it is.

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
        while made and _ABSENT in (await _describe(admin, made)).values():  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    for name, code, *_ in answers:
        if name not in made:
            raise TopicError(f"{name}: cannot be created ({for_code(code).__name__})")


async def _inputs(admin: AIOKafkaAdminClient, topics: Topics) -> Sequence[str]:
    """Return the names of the input topics; for a pattern, of those that exist."""
    return topics.input.among(await admin.list_topics() if topics.input.pattern is not None else ())


async def _version(admin: AIOKafkaAdminClient) -> list[TopicFinding]:
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
        "From 2 on the brokers do too: kafka-features.sh upgrade --feature transaction.version=2"
    )
    return [TopicFinding("", TopicSeverity.WARNING, text)]


def _brokers(text: str) -> TopicFinding:
    return TopicFinding("", TopicSeverity.ERROR, text, Condition.BROKERS)


async def _describe(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Described | str]:
    """Return topics by name, or why one cannot be described."""
    found: dict[str, Described | str] = dict.fromkeys(names, "does not exist")
    topics = await admin.describe_topics(list(names))
    reasons = {_NOT_THERE: "does not exist", _REFUSED: _MAY_NOT}
    there = []
    for topic in topics:
        if topic["error_code"] == 0:
            there.append(topic)
        else:
            code = topic["error_code"]
            found[topic["topic"]] = reasons.get(code, f"cannot be described ({for_code(code).__name__})")
    settings = await _settings(admin, [topic["topic"] for topic in there])
    for topic in there:
        replicas = min((len(p["replicas"]) for p in topic["partitions"]), default=0)
        name = topic["topic"]
        found[name] = Described(name, len(topic["partitions"]), replicas, settings.get(name, {}))
    return found


async def _settings(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    answers: list[Any] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, n) for n in names])
    found: dict[str, dict[str, str]] = {}
    for answer in answers:
        for code, _, _, name, entries in answer.resources:
            if code == 0:  # without the right to see them, settings are not judged
                found[name] = {entry[0]: entry[1] for entry in entries}
    return found


def _judge(
    name: str, topic: Described | str, topics: Topics, development: bool, largest_release: int
) -> list[TopicFinding]:
    if not isinstance(topic, Described):
        if name in _INTERNAL and topic == "does not exist":
            return []  # made on first use
        if name == topics.ledger and topic == "does not exist":
            return [TopicFinding(name, TopicSeverity.OK, "does not exist yet: a run creates it")]
        if name in _INTERNAL and topic == _MAY_NOT:
            return [
                TopicFinding(name, TopicSeverity.WARNING, f"{topic}: whether it outlives a broker is not known")
            ]
        return [TopicFinding(name, TopicSeverity.ERROR, topic, Condition.MISSING_TOPIC)]
    findings = [TopicFinding(name, TopicSeverity.OK, f"{topic.partitions} partitions, {topic.replicas} replicas")]
    findings += _judge_safety(topic, TopicSeverity.WARNING if development else TopicSeverity.ERROR)
    if not topic.settings:
        text = "its settings may not be seen by this user (DESCRIBE_CONFIGS): they are not judged"
        findings.append(TopicFinding(name, TopicSeverity.WARNING, text))
    policy = topic.settings.get("cleanup.policy", "")
    if name == topics.ledger and policy not in ("", _COMPACT):
        findings.append(TopicFinding(name, TopicSeverity.ERROR, _must_be_compact(policy), Condition.LEDGER_CLEANUP))
    if name not in (topics.ledger, *_INTERNAL) and "compact" in policy:
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
            f"{kind} and must be CreateTime: records would tell to the millisecond when a window came out, instead "
            "of the second. Set it with kafka-configs; a broker's default is log.message.timestamp.type"
        )
        return [TopicFinding(name, TopicSeverity.ERROR, text, Condition.APPEND_TIME)]
    if name == topics.certificates:
        text = f"{kind}: an audit cannot tell by it what retention has removed. Better CreateTime"
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
