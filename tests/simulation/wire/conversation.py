"""One client's raw requests to whoever answers frames, and the names by which a script calls things."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.coordination import FindCoordinatorRequest_v1
from aiokafka.protocol.fetch import FetchRequest_v11
from aiokafka.protocol.produce import ProduceRequest_v7
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest_v0,
    AddPartitionsToTxnRequest_v0,
    EndTxnRequest_v0,
    InitProducerIdRequest_v0,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from stream_anon.adapters.kafka.protocol.offset_requests import OffsetFetchRequest_v7, TxnOffsetCommitRequest_v3
from stream_anon.adapters.kafka.protocol.transaction_requests import ApiVersionsRequest_v4, EndTxnRequest_v5
from stream_anon.ports import Membership
from tests.simulation.wire.model import frames
from tests.simulation.wire.model.codes import CONCURRENT_TRANSACTIONS
from tests.simulation.wire.model.describing import DescribeTransactionsRequest_v0

_SETTLED_WITHIN, _EVERY = 10.0, 0.01
_STARTING = {14, 15, 16}  # coordinator loading, not available, not the coordinator
Identity = tuple[int, int]


@dataclass
class Conversation:
    """Asks one broker.

    Parameters
    ----------
    exchange
        Sends a frame and returns the answer's.
    name
        Of the transactional id, the group and the topic `NAME.out`, which has two partitions.
    member
        This group's only member, which has joined.
    """

    exchange: Callable[[bytes], Awaitable[bytes]]
    name: str
    member: Membership = field(default_factory=lambda: Membership(-1, ""))

    @property
    def topic(self) -> str:
        """Return where records go."""
        return f"{self.name}.out"

    async def ask(self, struct: RequestStruct) -> Any:
        """Return what the answer says."""
        return frames.answer_of(struct, await self.exchange(frames.request(struct, 1)))

    async def features(self) -> Any:
        """Return what the broker tells of itself and of what its cluster has agreed on."""
        return await self.ask(ApiVersionsRequest_v4("script", "1", {}))

    async def begin(self) -> None:
        """Wait until the brokers are ready, which may have to make a topic first."""
        find = partial(self.ask, FindCoordinatorRequest_v1(self.name, 1))
        await _until(find, lambda answer: answer.error_code == 0)
        for partition in (0, 1):
            await _until(partial(self.fetched, partition), lambda answer: answer[1] == 0)

    async def init(self, timeout_ms: int) -> tuple[int, Identity]:
        """Return code, and producer id and epoch; waits while a coordinator starts."""
        init = partial(self.ask, InitProducerIdRequest_v0(self.name, timeout_ms))
        answer = await _until(init, lambda answer: answer.error_code not in _STARTING)
        return answer.error_code, (answer.producer_id, answer.producer_epoch)

    async def add(self, who: Identity, partition: int) -> int:
        """Add a partition of the topic to the transaction."""
        answer = await self.ask(AddPartitionsToTxnRequest_v0(self.name, *who, [(self.topic, [partition])]))
        return int(answer.errors[0][1][0][1])

    async def add_offsets(self, who: Identity) -> int:
        """Add the group to the transaction."""
        answer = await self.ask(AddOffsetsToTxnRequest_v0(self.name, *who, self.name))
        return int(answer.error_code)

    async def produce(self, who: Identity, partition: int, sequence: int, *values: bytes) -> int:
        """Write one batch."""
        builder = DefaultRecordBatchBuilder(2, 0, True, *who, sequence, 10_000)
        now = int(time.time() * 1000)  # a segment ends behind records of 1970, and a fetch with it
        for number, value in enumerate(values):
            builder.append(number, now, None, value, [])
        parts = [(partition, bytes(builder.build()))]
        answer = await self.ask(ProduceRequest_v7(self.name, -1, 5000, [(self.topic, parts)]))
        return int(answer.topics[0][1][0][1])

    async def offsets(self, who: Identity, offset: int, generation: int, member: str) -> int:
        """Commit an offset of partition 0 within the transaction."""
        topics = [(self.topic, [(0, offset, -1, "", {})], {})]
        struct = TxnOffsetCommitRequest_v3(self.name, self.name, *who, generation, member, None, topics, {})
        answer = await self.ask(struct)
        return int(answer.topics[0][1][0][1])

    async def end(self, who: Identity, *, commits: bool, version: int) -> tuple[int, Identity]:
        """End the transaction; return code, and with version 5 who comes next."""
        if version < 5:
            answer = await self.ask(EndTxnRequest_v0(self.name, *who, commits))
            return answer.error_code, (-1, -1)
        answer = await self.ask(EndTxnRequest_v5(self.name, *who, commits, {}))
        return answer.error_code, (answer.producer_id, answer.producer_epoch)

    async def stable_offset(self) -> tuple[int, int]:
        """Return code and the group's offset of partition 0, as one who waits for open transactions."""
        answer = await self.ask(OffsetFetchRequest_v7(self.name, [(self.topic, [0], {})], True, {}))
        _, offset, _, _, code, _ = answer.topics[0][1][0]
        return code, offset

    async def seen(self, partition: int) -> list[bytes]:
        """Return the values that a reader of committed records sees now."""
        _, code, _, _, _, aborted, _, data = await self.fetched(partition)
        assert code == 0
        return _committed(data, aborted or [])

    async def fetched(self, partition: int) -> tuple[Any, ...]:
        """Return what a fetch of committed records from the first offset on is answered."""
        parts = [(partition, -1, 0, -1, 1 << 20)]
        struct = FetchRequest_v11(-1, 0, 1, 1 << 20, 1, 0, -1, [(self.topic, parts)], [], "")
        answer = await self.ask(struct)
        return tuple(answer.topics[0][1][0])

    async def state(self) -> tuple[str, Identity]:
        """Return where the transactional id stands, and its producer id and epoch."""
        answer = await self.ask(DescribeTransactionsRequest_v0([self.name], {}))
        _, _, state, _, _, producer, epoch, *_ = answer.states[0]
        return state, (producer, epoch)

    async def settled(self, ask: Callable[[], Awaitable[Any]], code: Callable[[Any], int]) -> Any:
        """Ask again while the answer is that the transaction before is being ended."""
        return await _until(ask, lambda answer: code(answer) != CONCURRENT_TRANSACTIONS)

    async def until(self, state: str) -> Identity:
        """Wait for a state; return producer id and epoch then."""
        identity: Identity = (await _until(self.state, lambda found: found[0] == state))[1]
        return identity


async def _until(ask: Callable[[], Awaitable[Any]], done: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(_SETTLED_WITHIN):
        while not done(answer := await ask()):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(_EVERY)
    return answer


def _committed(data: bytes, aborted: list[tuple[int, int]]) -> list[bytes]:
    waiting, gone, found = sorted(aborted, key=lambda a: a[1]), set(), []
    records = MemoryRecords(data)
    while records.has_next():
        batch = records.next_batch()
        while waiting and waiting[0][1] <= batch.base_offset:
            gone.add(waiting.pop(0)[0])
        if batch.is_control_batch:
            gone.discard(batch.producer_id)
        elif batch.producer_id not in gone:
            found += [record.value for record in batch]
    return found
