"""What brokers know topics by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TopicIds:
    """The ids of topics at one moment.

    Parameters
    ----------
    ids
        By name, Kafka's id as a UUID in text. A topic that was deleted and created anew has another id. Topics
        whose id the brokers did not tell are left out.
    missing
        Topics that do not exist.
    cluster
        Kafka's id of the cluster, if the brokers told it. Equality ignores it.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    cluster: str | None = field(default=None, compare=False)

    def differ_from(self, known: Mapping[str, str]) -> frozenset[str]:
        """Return the topics of `known` that have another id now; a topic without an id never differs."""
        return frozenset(topic for topic, its in known.items() if self.ids.get(topic, its) != its)
