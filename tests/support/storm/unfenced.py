"""`stream-anon` with both fences taken away, for the control run: `python -m tests.support.storm.unfenced run ...`.

Offsets are committed as aiokafka does it, without generation and member id, and nobody looks at the ledger before
the commit. The product has no such switch.
"""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka import AIOKafkaProducer

from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests
from stream_anon.cli.main import command
from stream_anon.ports import Membership, Place

_fenced = GroupRequests.commit_in_transaction


async def _as_nobody(
    self: GroupRequests, producer: AIOKafkaProducer, offsets: Mapping[Place, int], membership: Membership
) -> None:
    await _fenced(self, producer, offsets, Membership(-1, ""))


async def _look_away(self: KafkaLedger, starts: Mapping[Place, int], sent: Mapping[Place, int]) -> None:
    pass


if __name__ == "__main__":
    GroupRequests.commit_in_transaction = _as_nobody  # type: ignore[method-assign]
    KafkaLedger.uncontested = _look_away  # type: ignore[method-assign]
    command()
