"""What brokers are asked for when topics are made; no broker is needed to see it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.topics import creation
from stream_anon.adapters.kafka.topics.descriptions import ABSENT, Described, Topics
from stream_anon.adapters.kafka.topics.tools import Tools
from stream_anon.errors import TopicError
from stream_anon.ports.input_topics import InputTopics

TOPICS = Topics(InputTopics(("people",)), "out", "out.certificates", "out.dead-letters", "out.ledger")
OUTPUT = Described("out", 2, 1, {})
_EXISTS = 36


@pytest.mark.parametrize("policy", ["compact", "delete"])
async def test_a_ledger_that_somebody_else_makes_meanwhile_must_be_compacted_too(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks for it makes one that brokers delete by time."""
    ledgers = [ABSENT, ABSENT, Described("out.ledger", 1, 1, {"cleanup.policy": policy})]

    async def describe(_admin: Any, _names: Any) -> dict[str, Described | str]:
        return {"out": OUTPUT, "out.ledger": ledgers.pop(0)}

    async def create_topics(_topics: Any) -> Any:
        return SimpleNamespace(topic_errors=[("out.ledger", _EXISTS, "")])

    monkeypatch.setattr(creation, "describe", describe)
    admin: Any = SimpleNamespace(create_topics=create_topics)
    own = creation.OwnTopic("out.ledger", {"cleanup.policy": "compact"}, creation.expires)
    made = creation.create_own(admin, own, "out", (), Tools("a:9092"))
    if policy == "compact":
        assert not await made, "it was made by another"
        return
    with pytest.raises(TopicError, match=r"must be compact.*kafka-configs\.sh"):
        await made


DAY = 86_400_000
COUNTED = replace(TOPICS, returns="out.returns", period=30 * 86_400.0)


@pytest.mark.parametrize(
    ("settings", "forgets"),
    [
        ({"cleanup.policy": "delete", "retention.ms": str(31 * DAY)}, ""),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}, ""),
        ({"cleanup.policy": "delete", "retention.ms": str(31 * DAY - 1)}, "retention.ms"),
        ({"cleanup.policy": "compact", "retention.ms": "-1"}, "cleanup.policy"),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "1"}, "retention.bytes"),
        ({"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": "100000"}, "max.message.bytes"),
        ({}, "this user may not see its settings"),
    ],
)
def test_counts_of_releases_must_outlive_their_period(settings: dict[str, str], forgets: str) -> None:
    assert creation.forgets(Described("out.returns", 2, 3, settings), COUNTED).startswith(forgets)
    assert bool(creation.forgets(Described("out.returns", 2, 3, settings), COUNTED)) is bool(forgets)
