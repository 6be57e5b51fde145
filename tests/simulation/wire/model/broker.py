"""A cluster of one or two nodes that takes frames and gives frames."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.wire.model import frames
from tests.simulation.wire.model.codes import (
    CONCURRENT_TRANSACTIONS,
    INVALID_PRODUCER_EPOCH,
    NONE,
    NOT_COORDINATOR,
    NOT_ENOUGH_REPLICAS,
    NOT_LEADER,
    OFFSET_OUT_OF_RANGE,
    OPERATION_NOT_ATTEMPTED,
    PRODUCER_FENCED,
    TRANSACTIONAL_ID_NOT_FOUND,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT,
    Refused,
)
from tests.simulation.wire.model.frames import Asked
from tests.simulation.wire.model.groups import Group
from tests.simulation.wire.model.partition import Partition
from tests.simulation.wire.model.transactions import Place, Transaction, Transactions

OFFSETS = "__consumer_offsets"
_FIXED = {frames.API_VERSIONS, frames.METADATA, frames.FIND_COORDINATOR}
_COMMITTED, _EARLIEST = 1, -2
_LAST_FENCED = {frames.ADD_PARTITIONS: 1, frames.ADD_OFFSETS: 1, frames.END_TXN: 1, frames.INIT: 3}


@dataclass(frozen=True, slots=True)
class Node:
    """One broker's name and address."""

    number: int
    host: str = "model"

    @property
    def port(self) -> int:
        """Return where it listens."""
        return 9090 + self.number


class Cluster:
    """Everything that brokers remember.

    Parameters
    ----------
    level
        The finalized transaction.version.
    topics
        By name, the node that leads each partition.
    transactions_at, groups_at
        The nodes that coordinate.
    hop
        Returns how long one node's word takes to another, in seconds.
    """

    def __init__(
        self,
        level: int,
        topics: Mapping[str, Collection[int]],
        *,
        transactions_at: int = 1,
        groups_at: int = 1,
        nodes: int = 1,
        hop: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.nodes = [Node(number) for number in range(1, nodes + 1)]
        self.level = level
        self.leaders = {(topic, n): at for topic, leaders in topics.items() for n, at in enumerate(leaders)}
        self.topics = {topic: len(leaders) for topic, leaders in topics.items()}
        self.partitions = {place: Partition() for place in self.leaders}
        self.groups: dict[str, Group] = {}
        self.transactions = Transactions(level, self._write_markers, self._begun)
        self.identity = "model-cluster"
        self._at = {0: groups_at, 1: transactions_at}
        self._hop = hop
        self._grown = asyncio.Event()
        self._told: dict[bytes, bytes] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def group(self, name: str) -> Group:
        """Return a group, with a partition for its offsets."""
        if name not in self.groups:
            self.groups[name] = Group()
            self.partitions[self.offsets_of(name)] = Partition()
        return self.groups[name]

    def offsets_of(self, group: str) -> Place:
        """Return the partition that holds a group's offsets."""
        return OFFSETS, list(self.groups).index(group)

    def topic_id(self, topic: str) -> uuid.UUID:
        """Return the id of a topic."""
        return uuid.uuid5(uuid.NAMESPACE_OID, topic)

    async def handle(self, node: int, frame: bytes) -> bytes:
        """Return the answer of a node to a frame."""
        fixed = frame[4:8] + frame[12:]  # all but length and correlation
        told = self._told.get(fixed)
        if told is not None:  # nodes and topics stay as they are
            return told[:4] + frame[8:12] + told[8:]
        asked = Asked.read(frame)
        answer = await self._HANDLERS[asked.key](self, node, asked)
        if asked.key in _FIXED:
            self._told[fixed] = answer
        return answer

    # -- who is where ----------------------------------------------------------------------------------------

    async def _api_versions(self, node: int, asked: Asked) -> bytes:
        if asked.version == 0:
            return asked.answer(NONE, [(key, *bounds) for key, bounds in frames.OFFERED.items()])
        offered = [(key, *bounds, {}) for key, bounds in frames.OFFERED.items()]
        tags = frames.feature("transaction.version", self.level) if self.level else {}
        return asked.answer(NONE, offered, 0, tags)

    async def _metadata(self, node: int, asked: Asked) -> bytes:
        tags = () if asked.version < 10 else ({},)
        brokers = [(n.number, n.host, n.port, None, *tags) for n in self.nodes]
        wanted = asked.body.topics
        names = sorted(self.topics) if wanted is None else [t if asked.version < 10 else t[1] for t in wanted]
        topics = [self._topic(name, asked.version) for name in names]
        if asked.version < 10:
            return asked.answer(0, brokers, self.identity, 1, topics)
        return asked.answer(0, brokers, self.identity, 1, topics, -(2**31), {})

    def _topic(self, name: str, version: int) -> tuple[Any, ...]:
        code = NONE if name in self.topics else UNKNOWN_TOPIC_OR_PARTITION
        leaders = [(n, self.leaders[name, n]) for n in range(self.topics.get(name, 0))]
        if version < 10:
            return code, name, False, [(NONE, n, at, [at], [at], []) for n, at in leaders]
        partitions = [(NONE, n, at, 0, [at], [at], [], {}) for n, at in leaders]
        its = uuid.UUID(int=0) if code else self.topic_id(name)
        return code, name, its, False, partitions, -(2**31), {}

    async def _find_coordinator(self, node: int, asked: Asked) -> bytes:
        at = self.nodes[self._at[asked.body.coordinator_type] - 1]
        return asked.answer(0, NONE, None, at.number, at.host, at.port)

    # -- transactions ----------------------------------------------------------------------------------------

    async def _init(self, node: int, asked: Asked) -> bytes:
        name, code, producer, epoch = asked.body.transactional_id, NONE, -1, -1
        try:
            if name is None:
                producer, epoch = self.transactions.new_producer(), 0
            else:
                self._must_coordinate(node, 1)
                producer, epoch = self.transactions.init(name, asked.body.transaction_timeout_ms / 1000)
        except Refused as refused:
            code = _code(asked, refused)
        return asked.answer(0, code, producer, epoch)

    async def _add_partitions(self, node: int, asked: Asked) -> bytes:
        body = asked.body
        places = [(topic, n) for topic, numbers in body.topics for n in numbers]
        missing = [place for place in places if place not in self.leaders]
        codes = {place: UNKNOWN_TOPIC_OR_PARTITION if place in missing else NONE for place in places}
        try:
            self._must_coordinate(node, 1)
            if not missing:
                self.transactions.add(body.transactional_id, body.producer_id, body.producer_epoch, places)
            codes = {place: code or OPERATION_NOT_ATTEMPTED * bool(missing) for place, code in codes.items()}
        except Refused as refused:
            codes = {place: code or _code(asked, refused) for place, code in codes.items()}
        return asked.answer(0, [(topic, [(n, codes[topic, n]) for n in numbers]) for topic, numbers in body.topics])

    async def _add_offsets(self, node: int, asked: Asked) -> bytes:
        body, code = asked.body, NONE
        self.group(body.group_id)
        place = self.offsets_of(body.group_id)
        try:
            self._must_coordinate(node, 1)
            self.transactions.add(body.transactional_id, body.producer_id, body.producer_epoch, [place])
        except Refused as refused:
            code = _code(asked, refused)
        return asked.answer(0, code)

    async def _end_txn(self, node: int, asked: Asked) -> bytes:
        body, code, after = asked.body, NONE, (-1, -1)
        own = asked.version >= 5
        commits = bool(body.committed if own else body.transaction_result)
        try:
            self._must_coordinate(node, 1)
            after = self.transactions.end(
                body.transactional_id, body.producer_id, body.producer_epoch, commits=commits, own_epochs=own
            )
        except Refused as refused:
            code = _code(asked, refused)
        return asked.answer(0, code, *after, {}) if own else asked.answer(0, code)

    async def _describe(self, node: int, asked: Asked) -> bytes:
        states = []
        for name in asked.body.transactional_ids:
            t = self.transactions.known.get(name)
            if t is None:
                states.append((TRANSACTIONAL_ID_NOT_FOUND, name, "", 0, -1, -1, -1, [], {}))
                continue
            timeout = int(t.timeout * 1000)
            states.append((NONE, name, t.state.value, timeout, -1, t.producer, t.epoch, [], {}))
        return asked.answer(0, states, {})

    def _begun(self, name: str, transaction: Transaction) -> None:
        loop, number = asyncio.get_running_loop(), transaction.number
        loop.call_later(transaction.timeout, self.transactions.expire, name, number)

    def _write_markers(self, transaction: Transaction, commits: bool, producer: int, epoch: int) -> None:
        waits = {place: self._hop() for place in sorted(transaction.partitions)}

        async def one(place: Place, wait: float) -> None:
            if wait:
                await asyncio.sleep(wait)
            self.partitions[place].mark(producer, epoch, commits=commits)
            if place[0] == OFFSETS:
                list(self.groups.values())[place[1]].end(producer, commits=commits)
            self._grow()

        async def all_of_them() -> None:
            await asyncio.gather(*(one(place, wait) for place, wait in waits.items()))
            self.transactions.complete(transaction)

        task = asyncio.get_running_loop().create_task(all_of_them())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guard(self, partition: Partition, place: Place, name: str | None, producer: int, epoch: int) -> Any:
        """Ask the coordinator whether a partition is in a transaction, unless it has written there already."""
        if name is None or partition.is_open(producer, epoch):
            return None
        guard = partition.verify(producer)
        if wait := self._hop():
            await asyncio.sleep(wait)
        self.transactions.verify(name, producer, epoch, place)
        return guard

    # -- logs ------------------------------------------------------------------------------------------------

    async def _produce(self, node: int, asked: Asked) -> bytes:
        answers, name = [], asked.body.transactional_id
        for topic, parts in asked.body.topics:
            done = []
            for number, data in parts:
                try:
                    code, offset = (
                        NONE,
                        await self._append(node, (topic, number), name, data),
                    )
                except Refused as refused:
                    code, offset = _produce_code(refused), -1
                done.append((number, code, offset, -1, 0))
            answers.append((topic, done))
        self._grow()
        return asked.answer(answers, 0)

    async def _append(self, node: int, place: Place, name: str | None, data: bytes) -> int:
        if self.leaders.get(place) != node:
            raise Refused(NOT_LEADER)
        partition = self.partitions[place]
        producer, epoch = int.from_bytes(data[43:51], "big", signed=True), int.from_bytes(data[51:53], "big")
        guard = await self._guard(partition, place, name, producer, epoch)
        return partition.append(data, guard)

    def _grow(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()

    async def _fetch(self, node: int, asked: Asked) -> bytes:
        body = asked.body
        end = asyncio.get_running_loop().time() + body.max_wait_time / 1000
        while True:
            grown, size, bad = self._grown, 0, False
            answers = []
            for topic, parts in body.topics:
                found = [self._fetched(node, topic, part, body.isolation_level) for part in parts]
                size += sum(len(part[-1]) for part in found)
                bad = bad or any(part[1] for part in found)
                answers.append((topic, found))
            left = end - asyncio.get_running_loop().time()
            if size >= body.min_bytes or bad or left <= 0:
                return asked.answer(0, NONE, 0, answers)
            try:
                async with asyncio.timeout(left):
                    await grown.wait()
            except TimeoutError:
                continue

    def _fetched(self, node: int, topic: str, part: tuple[Any, ...], isolation: int) -> tuple[Any, ...]:
        number, _, offset, _, most_bytes = part
        if self.leaders.get((topic, number)) != node:
            return number, NOT_LEADER, -1, -1, -1, None, -1, b""
        partition = self.partitions[topic, number]
        committed = isolation == _COMMITTED
        if not 0 <= offset <= partition.end:
            return number, OFFSET_OUT_OF_RANGE, partition.end, partition.stable, 0, None, -1, b""
        data, aborted = partition.read(offset, most_bytes, committed=committed)
        told = [(a.producer, a.first) for a in aborted] if committed else None
        return number, NONE, partition.end, partition.stable, 0, told, -1, data

    async def _list_offsets(self, node: int, asked: Asked) -> bytes:
        answers = []
        for topic, parts in asked.body.topics:
            told = []
            for number, time in parts:
                if self.leaders.get((topic, number)) != node:
                    told.append((number, NOT_LEADER, -1, -1))
                    continue
                partition = self.partitions[topic, number]
                end = partition.stable if asked.body.isolation_level == _COMMITTED else partition.end
                told.append((number, NONE, -1, 0 if time == _EARLIEST else end))
            answers.append((topic, told))
        return asked.answer(0, answers)

    # -- groups ----------------------------------------------------------------------------------------------

    async def _offset_fetch(self, node: int, asked: Asked) -> bytes:
        group, code = self.group(asked.body.group), NONE if self._at[0] == node else NOT_COORDINATOR
        topics = []
        for topic, numbers, _ in asked.body.topics:
            told: list[tuple[Any, ...]] = []
            for number in numbers:
                if asked.body.require_stable and not group.is_stable((topic, number)):
                    told.append((number, -1, -1, "", UNSTABLE_OFFSET_COMMIT, {}))
                else:
                    told.append((number, group.offsets.get((topic, number), -1), -1, "", NONE, {}))
            topics.append((topic, told, {}))
        return asked.answer(0, [] if code else topics, code, {})

    async def _txn_offset_commit(self, node: int, asked: Asked) -> bytes:
        body, code = asked.body, NONE
        group = self.group(body.group)
        place = self.offsets_of(body.group)
        partition = self.partitions[place]
        offsets = {(topic, number): offset for topic, parts, _ in body.topics for number, offset, *_ in parts}
        try:
            self._must_coordinate(node, 0)
            guard = await self._guard(
                partition, place, body.transactional_id, body.producer_id, body.producer_epoch
            )
            group.fence(body.generation, body.member_id)
            partition.hold(body.producer_id, body.producer_epoch, guard)
            group.hold(body.producer_id, offsets)
        except Refused as refused:
            code = INVALID_PRODUCER_EPOCH if refused.code == PRODUCER_FENCED else refused.code
        topics = [(topic, [(part[0], code, {}) for part in parts], {}) for topic, parts, _ in body.topics]
        return asked.answer(0, topics, {})

    def _must_coordinate(self, node: int, kind: int) -> None:
        if self._at[kind] != node:
            raise Refused(NOT_COORDINATOR)

    _HANDLERS: dict[int, Callable[[Cluster, int, Asked], Awaitable[bytes]]] = {  # noqa: RUF012 - a table
        frames.PRODUCE: _produce,
        frames.FETCH: _fetch,
        frames.LIST_OFFSETS: _list_offsets,
        frames.METADATA: _metadata,
        frames.OFFSET_FETCH: _offset_fetch,
        frames.FIND_COORDINATOR: _find_coordinator,
        frames.API_VERSIONS: _api_versions,
        frames.INIT: _init,
        frames.ADD_PARTITIONS: _add_partitions,
        frames.ADD_OFFSETS: _add_offsets,
        frames.END_TXN: _end_txn,
        frames.TXN_OFFSET_COMMIT: _txn_offset_commit,
        frames.DESCRIBE: _describe,
    }


def _code(asked: Asked, refused: Refused) -> int:
    """Return the code as a request of this version knows it."""
    if refused.code == PRODUCER_FENCED and asked.version <= _LAST_FENCED[asked.key]:
        return INVALID_PRODUCER_EPOCH
    return refused.code


def _produce_code(refused: Refused) -> int:
    """Return the code as a producer knows it that repeats a batch after errors that pass."""
    if refused.code == PRODUCER_FENCED:
        return INVALID_PRODUCER_EPOCH
    return NOT_ENOUGH_REPLICAS if refused.code == CONCURRENT_TRANSACTIONS else refused.code
