"""What brokers know topics by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TopicIds:
    """What the brokers know topics by, at one moment.

    Parameters
    ----------
    ids
        By name, Kafka's id as a UUID in text: a topic that was deleted and created anew has another one. Topics
        are left out where the brokers did not tell.
    missing
        Topics that do not exist.
    cluster
        Kafka's id of the cluster, where the brokers told; answers are equal whatever it is.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    cluster: str | None = field(default=None, compare=False)

    def differ_from(self, known: Mapping[str, str]) -> frozenset[str]:
        """Return the topics of `known` that have another id now; what is not told differs from nothing."""
        return frozenset(topic for topic, its in known.items() if self.ids.get(topic, its) != its)
