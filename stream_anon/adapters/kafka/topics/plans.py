"""What each topic of a service should be like, and the commands that create or change it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiokafka.admin import NewTopic

from stream_anon.adapters.kafka.topics.requirements import Described, Topics

REPLICAS = 3
INPUT_PARTITIONS = 4  # of an input that does not exist yet
DEFAULT_MAX_MESSAGE = 1_048_588  # what brokers take unless told otherwise
_BATCH_HEAD = 1024  # more than what a batch of one record adds to it
_MISSING = "does not exist"


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic as it should be, and as it is.

    Parameters
    ----------
    purpose
        What the service does with it, in a word or two.
    settings
        What its creation must set; the brokers choose everything else.
    advice
        What else its operator should decide.
    found
        The topic as it is, or why it cannot be described.
    """

    name: str
    purpose: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]
    advice: str
    found: Described | str

    @property
    def missing(self) -> bool:
        """Return whether it must be created."""
        return self.found == _MISSING

    @property
    def made_by_run(self) -> bool:
        """Return whether the first run creates it."""
        return self.purpose == "ledger"

    def differences(self) -> list[str]:
        """Return how an existing topic differs; empty if its settings may not be seen."""
        if not isinstance(self.found, Described):
            return []
        found = [
            f"{key} is {have}, {wanted} is needed"
            for key, wanted in self.settings.items()
            if (have := self.found.settings.get(key)) is not None and not _suffices(key, have, wanted)
        ]
        if self.found.replicas < self.replicas:
            found.append(f"has {self.found.replicas} replicas, {self.replicas} are needed")
        return found

    def new(self) -> NewTopic:
        """Return what the brokers are asked to create."""
        return NewTopic(self.name, self.partitions, self.replicas, topic_configs=dict(self.settings))

    def command(self, servers: str, *, secured: bool) -> str:
        """Return the command of Apache Kafka that creates it."""
        words = ["kafka-topics.sh", "--bootstrap-server", servers]
        words += ["--command-config", "client.properties"] if secured else []
        words += ["--create", "--topic", self.name, "--partitions", str(self.partitions)]
        words += ["--replication-factor", str(self.replicas)]
        for key, value in self.settings.items():
            words += ["--config", f"{key}={value}"]
        return shlex.join(words)


def _suffices(key: str, have: str, wanted: str) -> bool:
    if key in ("min.insync.replicas", "max.message.bytes"):
        return int(have) >= int(wanted)
    return have == wanted


def plans(
    topics: Topics,
    brokers: int,
    found: Mapping[str, Described | str],
    *,
    max_record_bytes: int,
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
    ledger
        Whether delivery is exactly-once.
    partitions
        Of a topic that is created; as many as the input has if not given.
    """
    own = (topics.output, topics.certificates, topics.dead_letters, topics.ledger)
    inputs = [name for name in found if name not in own]
    most = max((each.partitions for name in inputs if isinstance(each := found[name], Described)), default=None)
    count = partitions or most or INPUT_PARTITIONS
    replicas = min(REPLICAS, brokers)
    safe = {"unclean.leader.election.enable": "false"}
    if replicas >= REPLICAS:
        safe["min.insync.replicas"] = "2"
    kept = {"cleanup.policy": "delete", **safe}
    stamped = {"message.timestamp.type": "CreateTime"}  # a window's second, not the brokers' millisecond
    large = (
        {"max.message.bytes": str(max_record_bytes + _BATCH_HEAD)} if max_record_bytes > DEFAULT_MAX_MESSAGE else {}
    )
    rows: list[tuple[str, str, int, Mapping[str, str], str]] = [
        (name, "input", count, {**kept, **large}, "retention: longer than any outage that the service must survive")
        for name in inputs
    ]
    rows += [
        (topics.output, "output", count, {**kept, **large, **stamped}, "retention: as long as its readers need"),
        (topics.certificates, "certificates", 1, kept, "retention: at least that of the output, for the audit"),
        (topics.dead_letters, "dead letters", 1, kept, "retention: until somebody has looked at them"),
    ]
    if ledger:
        compacted = {"cleanup.policy": "compact", **safe}
        rows.append((topics.ledger, "ledger", 1, compacted, "never delete it; the first run creates it"))
    return [
        TopicPlan(name, purpose, number, replicas, settings, advice, found[name])
        for name, purpose, number, settings, advice in rows
    ]
