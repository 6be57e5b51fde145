"""The topics of a service by their names, and as the brokers describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from stream_anon.ports.input_topics import InputTopics

ABSENT = "does not exist"
MAY_NOT = "may not be described by this user"
_REASONS = {3: ABSENT, 29: MAY_NOT}


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of a service.

    Parameters
    ----------
    returns, period
        Where releases of people are counted, and for how many seconds each; None where nobody counts.
    """

    input: InputTopics
    output: str
    certificates: str
    dead_letters: str
    ledger: str
    returns: str | None = None
    period: float = 0.0

    @property
    def written(self) -> tuple[str, ...]:
        """Return the topics that others read."""
        return self.output, self.certificates, self.dead_letters

    @property
    def own(self) -> tuple[str, ...]:
        """Return the topics that the service writes to, of an exactly-once one."""
        kept = (self.ledger,) if self.returns is None else (self.ledger, self.returns)
        return *self.written, *kept

    @property
    def returns_kept(self) -> int:
        """Return for how many milliseconds entries on returns must be kept: a period, and a day of late clocks."""
        return int(1000 * (self.period + 86_400))


@dataclass(frozen=True, slots=True)
class Described:
    """A topic as the brokers describe it."""

    name: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]


async def inputs_of(admin: AIOKafkaAdminClient, topics: Topics) -> Sequence[str]:
    """Return the names of the input topics; for a pattern, of those that exist."""
    return topics.input.among(await admin.list_topics() if topics.input.pattern is not None else ())


async def describe(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Described | str]:
    """Return topics by name, or why one cannot be described."""
    found: dict[str, Described | str] = dict.fromkeys(names, ABSENT)
    if not names:  # to the brokers, none means all
        return found
    topics = await admin.describe_topics(list(names))
    there = []
    for topic in topics:
        if topic["error_code"] == 0:
            there.append(topic)
        else:
            code = topic["error_code"]
            found[topic["topic"]] = _REASONS.get(code, f"cannot be described ({for_code(code).__name__})")
    settings = await settings_of(admin, [topic["topic"] for topic in there])
    for topic in there:
        replicas = min((len(p["replicas"]) for p in topic["partitions"]), default=0)
        name = topic["topic"]
        found[name] = Described(name, len(topic["partitions"]), replicas, settings.get(name, {}))
    return found


async def settings_of(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the settings of topics by name, as far as this user may see them."""
    if not names:
        return {}
    answers: list[Any] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, n) for n in names])
    found: dict[str, dict[str, str]] = {}
    for answer in answers:
        for code, _, _, name, entries in answer.resources:
            if code == 0:  # without the right to see them, settings are not judged
                found[name] = {entry[0]: entry[1] for entry in entries}
    return found


def largest_batch(settings: Mapping[str, str]) -> int | None:
    """Return how many bytes a batch may have in a topic with these settings; None if they do not say."""
    limits = [int(settings[key]) for key in ("max.message.bytes", "segment.bytes") if settings.get(key)]
    return min(limits, default=None)
