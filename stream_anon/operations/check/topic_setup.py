"""Look at the topics of a service, and create those that are missing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from stream_anon.adapters.clock import SystemClock
from stream_anon.adapters.kafka.topics import requirements as kafka_topics
from stream_anon.adapters.kafka.topics.plans import REPLICAS, TopicPlan, plans
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.settings.kafka_section import connection_of, kafka_of, topics_of
from stream_anon.settings.loading import load_settings

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TopicSetup:
    """The topics of a service as they should be and as they are.

    Parameters
    ----------
    secured
        Whether a command-line client needs a file with its login.
    few_brokers
        Whether there are too few brokers for three replicas, and `kafka.development: true` is not set.
    """

    servers: str
    secured: bool
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
    kafka = kafka_of(load_settings(config))
    topics = topics_of(kafka)
    brokers, found = _run(kafka_topics.look(connection_of(kafka), topics))
    return TopicSetup(
        kafka.bootstrap_servers,
        kafka.security.protocol != "PLAINTEXT",
        brokers < REPLICAS and not kafka.development,
        tuple(
            plans(
                topics,
                brokers,
                found,
                max_record_bytes=kafka.max_record_bytes,
                ledger=kafka.delivery == "exactly-once",
                partitions=partitions,
            )
        ),
    )


def create(config: Path, wanted: Sequence[TopicPlan]) -> None:
    """Create topics.

    Raises
    ------
    TopicError
        If one cannot be created.
    BrokerError
        If no broker answers.
    """
    kafka = kafka_of(load_settings(config))
    _run(kafka_topics.create(connection_of(kafka), [plan.new() for plan in wanted]))


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    clock = SystemClock()
    with quiet_libraries(open_log(clock.wall, stream=io.StringIO()), clock.monotonic):
        return asyncio.run(work)
