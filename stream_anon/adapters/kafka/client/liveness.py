"""Whether the background tasks of a client still run."""

from __future__ import annotations

from aiokafka import AIOKafkaConsumer


def has_died(consumer: AIOKafkaConsumer) -> bool:
    """Return whether a background task of a started consumer has ended; the consumer then silently fetches nothing.

    Only a member of a group has a coordination task.
    """
    coordinator = consumer._coordinator  # noqa: SLF001 - pinned by a test
    tasks = (consumer._fetcher._fetch_task, getattr(coordinator, "_coordination_task", None))  # noqa: SLF001 - as above
    return any(task is not None and task.done() for task in tasks)
