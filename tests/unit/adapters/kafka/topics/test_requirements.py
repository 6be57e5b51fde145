"""What is asked of brokers and made of their answers; no broker is needed to see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.topics import requirements
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

    monkeypatch.setattr(requirements, "describe", describe)
    admin: Any = SimpleNamespace(create_topics=create_topics)
    if policy == "compact":
        assert not await requirements._create_ledger(admin, TOPICS, Tools("a:9092")), "it was made by another"
        return
    with pytest.raises(TopicError, match=r"must be compact.*kafka-configs\.sh"):
        await requirements._create_ledger(admin, TOPICS, Tools("a:9092"))


@pytest.mark.parametrize(("level", "commands"), [(0, 1), (1, 1), (2, 0)])
async def test_brokers_below_level_two_are_named_with_the_command_that_raises_it(
    level: int, commands: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def transaction_level(*_: Any) -> int:
        return level

    monkeypatch.setattr(requirements, "transaction_level", transaction_level)
    connection = SimpleNamespace(_versions={28: (0, 5)})
    client = SimpleNamespace(_conns={1: connection}, get_random_node=lambda: 1)
    admin: Any = SimpleNamespace(_client=client)
    (finding,) = await requirements._version(admin, Tools("a:9092", secured=True))
    raising = (
        "kafka-features.sh --bootstrap-server a:9092 --command-config client.properties upgrade "
        "--feature transaction.version=2"
    )
    assert finding.commands == (raising,) * commands
    assert f"transaction.version is {level}" in finding.text
