"""What the coordinator's description of a group says about its members."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupAuthorizationFailedError

from stream_anon.adapters.kafka.protocol.group_members import has_strangers

OURS, OTHERS = "g-source", "console-consumer"


class Client:
    """A coordinator that describes the group `g`."""

    def __init__(self, state: str, *client_ids: str, code: int = 0) -> None:
        members = [(f"{name}-1", name, "/127.0.0.1", b"", b"") for name in client_ids]
        self._group = (code, "g", state, "consumer", "sticky", members)

    async def coordinator_lookup(self, _: int, group: str) -> int:
        assert group == "g"
        return 3

    async def send(self, node: int, _: object) -> Any:
        assert node == 3
        return SimpleNamespace(groups=[self._group])


@pytest.mark.parametrize(
    ("client", "strangers"),
    [
        (Client("Stable", OURS, OURS), False),
        (Client("Stable", OURS, OTHERS), True),
        (Client("PreparingRebalance", OTHERS), True),
        (Client("Dead"), True),  # as Apache Kafka 4.1 describes a group of the new protocol
    ],
)
async def test_who_has_another_client_id_or_another_protocol_is_a_stranger(client: Any, strangers: bool) -> None:
    assert await has_strangers(client, "g", OURS) is strangers


async def test_a_refusal_says_nothing_about_strangers() -> None:
    refusing: Any = Client("", code=GroupAuthorizationFailedError.errno)
    with pytest.raises(GroupAuthorizationFailedError):
        await has_strangers(refusing, "g", OURS)
