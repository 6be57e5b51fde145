"""What each topic of a service should be like, and the commands that create or change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aiokafka.admin import NewTopic

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.adapters.kafka.topics.cluster_view import ClusterView
from stream_anon.adapters.kafka.topics.creation import keeping
from stream_anon.adapters.kafka.topics.descriptions import ABSENT, Described, Topics
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.errors import BrokerError

REPLICAS = 3
INPUT_PARTITIONS = 4  # of an input that does not exist yet
DEFAULT_MAX_MESSAGE = 1_048_588  # what brokers take unless told otherwise
_BATCH_HEAD = 1024  # more than what a batch of one record adds to it

ADVICE = {
    "input": "retention: longer than any outage that the service must survive",
    "output": "retention: as long as its readers need",
    "certificates": "retention: at least that of the output, for the audit",
    "dead letters": "retention: until somebody has looked at them",
    "ledger": "never delete it; the first run creates it",
    "returns": "never delete it, and let nobody else read it; the first run creates it",
}
"""What the operator of each kind of topic should decide."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as it should be, and as it is.

    Parameters
    ----------
    purpose
        What the service does with it: a key of `ADVICE`.
    settings
        What its creation must set; the brokers choose everything else.
    found
        The topic as it is, or why it cannot be described.
    empty
        Whether it is known to have never held a record, so that it can be made anew. Somebody's client may have
        created it by asking for it.
    """

    name: str
    purpose: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]
    found: Described | str
    empty: bool = False

    @property
    def advice(self) -> str:
        """Return what else its operator should decide."""
        return ADVICE[self.purpose]

    @property
    def missing(self) -> bool:
        """Return whether it must be created."""
        return self.found == ABSENT

    @property
    def made_by_run(self) -> bool:
        """Return whether the first run creates it."""
        return self.purpose in ("ledger", "returns")

    @property
    def lacks_partitions(self) -> bool:
        """Return whether it should get more of them, as only a topic that never held a record should."""
        return self.empty and isinstance(self.found, Described) and self.found.partitions < self.partitions

    def differences(self) -> list[str]:
        """Return how an existing topic differs; its settings only if they may be seen."""
        if not isinstance(self.found, Described):
            return []
        have = self.found.settings
        found = [f"{key} is {have[key]}, {wanted} is needed" for key, wanted in self._unset(self.found).items()]
        if self.found.replicas < self.replicas:
            found.append(f"has {self.found.replicas} replicas, {self.replicas} are needed")
        if self.lacks_partitions:
            found.append(f"has {counted(self.found.partitions)} and no record, {self.partitions} are needed")
        return found

    def mending(self, tools: Tools) -> tuple[str, ...]:
        """Return the commands of Apache Kafka that end the differences.

        None deletes a topic that ever held a record, so there is none that gives it more replicas. What an input
        that holds records should be like, its producers must know.
        """
        topic = self.found
        if not isinstance(topic, Described) or (self.purpose == "input" and not self.empty):
            return ()
        if self.empty and topic.replicas < self.replicas:
            return tools.delete(self.name), self.command(tools)
        commands = []
        if self.lacks_partitions:
            commands.append(tools.add_partitions(self.name, self.partitions))
        if unset := self._unset(topic):
            commands.append(tools.change(self.name, unset))
        return tuple(commands)

    def deviations(self, made: Described | str) -> list[str]:
        """Return how a topic that was just created is other than it was asked for; empty if it is as asked."""
        if not isinstance(made, Described):
            return [made]
        asked = {"partitions": self.partitions, "replicas": self.replicas, **self.settings}
        have = {"partitions": made.partitions, "replicas": made.replicas, **made.settings}
        return [
            f"{wanted} was asked for {key}, and it is {have[key]}"
            for key, wanted in asked.items()
            if key in have and have[key] != wanted
        ]

    def _unset(self, topic: Described) -> dict[str, str]:
        """Return what must be set, of the settings that may be seen."""
        have = topic.settings
        return {
            key: need for key, need in self.settings.items() if key in have and not _suffices(key, have[key], need)
        }

    def new(self) -> NewTopic:
        """Return what the brokers are asked to create."""
        return NewTopic(self.name, self.partitions, self.replicas, topic_configs=dict(self.settings))

    def command(self, tools: Tools) -> str:
        """Return the command of Apache Kafka that creates it."""
        return tools.create(self.name, self.partitions, self.replicas, self.settings)


def counted(partitions: int) -> str:
    """Return a number of partitions in words."""
    return f"{partitions} partition{'s' * (partitions != 1)}"


def _suffices(key: str, have: str, wanted: str) -> bool:
    if key == "retention.ms" and int(have) < 0:  # for ever
        return True
    if key in ("min.insync.replicas", "max.message.bytes", "retention.ms"):
        return int(have) >= int(wanted)
    return have == wanted


def plans(
    topics: Topics,
    brokers: int,
    found: Mapping[str, Described | str],
    *,
    max_record_bytes: int = 0,
    largest_release: int = 0,
    ledger: bool = True,
    partitions: int | None = None,
) -> Sequence[TopicPlan]:
    """Return the plan of each topic: inputs first, then those of the service's own.

    Parameters
    ----------
    brokers
        How many there are: no topic can have more replicas.
    found
        The topics as they are, by name; the inputs are among them.
    max_record_bytes
        The largest record that is taken in.
    largest_release
        Bytes of a batch that holds one record, the largest that may be released.
    ledger
        Whether delivery is exactly-once.
    partitions
        Of input and output. If not given, an input that exists keeps its own, and the output gets as many as the
        input with the most of them.
    """
    inputs = {name: each for name, each in found.items() if name not in topics.own}
    there = {name: each.partitions for name, each in inputs.items() if isinstance(each, Described)}
    count = partitions or max(there.values(), default=INPUT_PARTITIONS)
    replicas = min(REPLICAS, brokers)
    safe = {"unclean.leader.election.enable": "false"}
    if replicas >= REPLICAS:
        safe["min.insync.replicas"] = "2"
    kept = {"cleanup.policy": "delete", **safe}
    stamped = {"message.timestamp.type": "CreateTime"}  # a window's second, not the brokers' millisecond
    taken = _room(max_record_bytes + _BATCH_HEAD) if max_record_bytes > DEFAULT_MAX_MESSAGE else {}
    released = _room(largest_release)

    def plan(name: str, purpose: str, number: int, settings: Mapping[str, str]) -> TopicPlan:
        return TopicPlan(name, purpose, number, replicas, settings, found[name])

    planned = [plan(name, "input", partitions or there.get(name, count), {**kept, **taken}) for name in inputs]
    planned.append(plan(topics.output, "output", count, {**kept, **released, **stamped}))
    planned.append(plan(topics.certificates, "certificates", 1, {**kept, **stamped}))
    planned.append(plan(topics.dead_letters, "dead letters", 1, kept))
    if ledger:
        planned.append(plan(topics.ledger, "ledger", 1, {"cleanup.policy": "compact", **safe}))
    if ledger and topics.returns is not None:
        number = max(there.values(), default=count)
        planned.append(plan(topics.returns, "returns", number, {**kept, **keeping(topics)}))
    return planned


def _room(batch: int) -> dict[str, str]:
    """Return the setting with which a topic takes batches of so many bytes, if it takes any."""
    return {"max.message.bytes": str(batch)} if batch > DEFAULT_MAX_MESSAGE else {}


async def looked_into(connection: Connection, made: Sequence[TopicPlan]) -> Sequence[TopicPlan]:
    """Return the plans with what is known of the emptiness of those topics that are not as planned."""
    odd = [
        (plan.name, topic.partitions)
        for plan in made
        if isinstance(topic := plan.found, Described) and (topic.partitions < plan.partitions or plan.differences())
    ]
    if not odd:
        return made
    try:
        ends = await ClusterView(connection).end_offsets([(name, n) for name, count in odd for n in range(count)])
    except BrokerError:  # a partition without a leader, say: what may hold records is not made anew
        return made
    written = {topic for (topic, _), end in ends.items() if end}
    empty = {name for name, _ in odd} - written
    return [replace(plan, empty=plan.name in empty) for plan in made]
