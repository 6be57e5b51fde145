"""What is asked of brokers and made of their answers; no broker is needed to see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.adapters.kafka.topics import requirements
from stream_anon.adapters.kafka.topics.tools import Tools


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
