"""What the coordinator's description of a group says about its members."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import GroupAuthorizationFailedError

from stream_anon.adapters.kafka.protocol.group_members import LONGEST_PAUSE, GroupMembers, has_strangers

OURS, OTHERS = "g-source", "console-consumer"


class Client:
    """A coordinator that describes the group `g`."""

    def __init__(self, state: str, *client_ids: str, code: int = 0) -> None:
        members = [(f"{name}-1", name, "/127.0.0.1", b"", b"") for name in client_ids]
        self.asked = 0
        self._group = (code, "g", state, "consumer", "sticky", members)

    async def coordinator_lookup(self, _: int, group: str) -> int:
        assert group == "g"
        return 3

    async def send(self, node: int, _: object) -> Any:
        assert node == 3
        self.asked += 1
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


async def _look_for(seconds: int, members: GroupMembers, client: Any, begin: int = 0) -> None:
    """Look every 2 s, as the worker does."""
    for now in range(begin, begin + seconds, 2):
        await members.look(client, 1, now)


async def test_a_refusal_is_kept_and_asked_again_after_growing_pauses_of_five_minutes_at_the_most() -> None:
    members, refusing = GroupMembers("g", OURS), Client("", code=GroupAuthorizationFailedError.errno)
    await _look_for(600, members, refusing)
    assert members.refused
    assert refusing.asked == 9  # at 0, 2, 6, 14, 30, 62, 126, 254, 510
    await _look_for(3600, members, refusing, begin=600)
    assert refusing.asked == 9 + 3600 / LONGEST_PAUSE

    allowing = Client("Stable", OURS, OTHERS)
    await _look_for(int(LONGEST_PAUSE) + 2, members, allowing, begin=4200)
    assert (members.refused, members.strangers, allowing.asked) == (False, True, 1)


async def test_members_are_asked_for_once_for_each_assignment() -> None:
    members, client = GroupMembers("g", OURS), Client("Stable", OURS)
    for now, marks in enumerate((1, 1, 2, 2, 3)):
        await members.look(client, marks, now)
    assert client.asked == 3
