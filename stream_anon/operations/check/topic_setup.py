"""Look at the topics of a service, and create those that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.topics import creation, requirements
from stream_anon.adapters.kafka.topics.descriptions import Described
from stream_anon.adapters.kafka.topics.plans import REPLICAS, TopicPlan, looked_into, plans
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.adapters.logs import silenced_libraries
from stream_anon.operations.starting.conditions import largest_release
from stream_anon.service.wiring.clients import connection_of, topics_of
from stream_anon.settings.loading import kafka_of, load_settings
from stream_anon.settings.policy_file import build_policy

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TopicSetup:
    """The topics of a service as they should be and as they are.

    Parameters
    ----------
    tools
        How to call Apache Kafka's own commands.
    few_brokers
        Whether there are too few brokers for three replicas, and `kafka.development: true` is not set.
    """

    tools: Tools
    few_brokers: bool
    plans: tuple[TopicPlan, ...]

    def to_create(self, *, inputs: bool) -> Sequence[TopicPlan]:
        """Return what `create` creates: never the ledger, whose absence a run has to notice."""
        return [
            plan
            for plan in self.plans
            if plan.missing and not plan.made_by_run and (inputs or plan.purpose != "input")
        ]


def look(config: Path, partitions: int | None = None) -> TopicSetup:
    """Return the topics of the service of a settings file.

    Raises
    ------
    SettingsError
        If the settings are wrong.
    BrokerError
        If no broker answers.
    """
    settings = load_settings(config)
    kafka = kafka_of(settings)
    connection, topics = connection_of(kafka), topics_of(kafka, settings.privacy.returning)
    largest = largest_release(build_policy(settings, config), kafka)

    async def ask() -> TopicSetup:
        brokers, found = await requirements.look(connection, topics)
        planned = plans(
            topics,
            brokers,
            found,
            max_record_bytes=kafka.max_record_bytes,
            largest_release=largest,
            ledger=kafka.delivery == "exactly-once",
            partitions=partitions,
        )
        few = brokers < REPLICAS and not kafka.development
        return TopicSetup(Tools.of(connection), few, tuple(await looked_into(connection, planned)))

    return _run(ask())


def create(config: Path, wanted: Sequence[TopicPlan]) -> Mapping[str, Described | str]:
    """Create topics; return them as the brokers describe them then, or why one cannot be described.

    Raises
    ------
    TopicError
        If one cannot be created.
    BrokerError
        If no broker answers.
    """
    kafka = kafka_of(load_settings(config))
    return _run(creation.create(connection_of(kafka), [plan.new() for plan in wanted]))


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    clock = SystemClock()
    with silenced_libraries(clock):
        return asyncio.run(work)
