"""Two requests that aiokafka does not send: stable offsets, and transactional offsets that the group fences.

With these, ownership of a partition is fenced by the consumer group's generation (KIP-447), as in Kafka Streams'
exactly-once v2. OffsetFetch v7 asks for stable offsets: the coordinator answers 88 while a transaction that might
change them is open. TxnOffsetCommit v3 carries generation and member id: an old generation gets 22, an unknown
member 25.

Both go over the producer's client: on the consumer's connections they would wait behind long polls and joins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import KafkaError
from aiokafka.protocol.api import Request, RequestStruct
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.transaction import AddOffsetsToTxnRequest

from stream_anon.adapters.kafka.client.connection import broker_error
from stream_anon.adapters.kafka.protocol.offset_requests import (
    FencedTxnOffsetCommit,
    StableOffsetFetch,
)
from stream_anon.errors import BrokerError, OutcomeUnknown, OwnershipLost
from stream_anon.ports import Membership, Place

_RETRY = 0.02  # seconds; the coordinator settles a transaction in tens of milliseconds
_LOADING = frozenset({3, 7, 14, 51})  # unknown partition, timed out, coordinator loading, concurrent transactions
_MOVED = frozenset({15, 16})  # coordinator not available, not the coordinator
_UNSTABLE = 88
_FENCED = frozenset({22, 25, 82})  # illegal generation, unknown member, fenced instance
_REBALANCING = 27


def membership_of(consumer: AIOKafkaConsumer) -> Membership | None:
    """Return generation and member id of a consumer; None while it is no member of its group."""
    coordinator = consumer._coordinator  # noqa: SLF001 - pinned by a test
    if coordinator is None or coordinator.generation < 0 or not coordinator.member_id:
        return None
    return Membership(coordinator.generation, coordinator.member_id)


def transaction_of(producer: AIOKafkaProducer) -> tuple[str, int, int]:
    """Return transactional id, producer id and epoch of a producer."""
    manager = producer._txn_manager  # noqa: SLF001 - pinned by a test
    return manager.transactional_id, manager.producer_id, manager.producer_epoch


_R = TypeVar("_R", bound=RequestStruct)


class GroupRequests:
    """The group's requests over one client, to whichever broker coordinates the group.

    Every method retries after errors that pass with time; the caller sets the deadline.
    """

    def __init__(self, client: AIOKafkaClient, group: str) -> None:
        self._client = client
        self._group = group
        self._nodes: dict[int, int] = {}

    async def reachable(self) -> None:
        """Ask who coordinates the group. Raises KafkaError."""
        self._nodes[CoordinationType.GROUP] = await self._client.coordinator_lookup(
            CoordinationType.GROUP, self._group
        )

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        """Return committed offsets, None for a partition without one; waits while a transaction is open on any.

        Raises
        ------
        BrokerError
            If the broker refuses. A refused answer is never taken for "no offset".
        """
        wanted = set(places)
        if not wanted:
            return {}
        request = StableOffsetFetch(self._group, by_topic(wanted))
        while True:
            answer = await self._ask(CoordinationType.GROUP, self._group, request)
            codes = {answer.error_code}
            found: dict[Place, int | None] = {}
            for topic, partitions, _ in answer.topics:
                for partition, offset, _, _, code, _ in partitions:
                    codes.add(code)
                    if code == 0:
                        found[topic, partition] = offset if offset >= 0 else None
            if codes == {0} and wanted <= found.keys():
                return {place: found[place] for place in wanted}
            await self._again("reading committed offsets", codes - {0, _UNSTABLE})

    async def add_offsets(self, producer: AIOKafkaProducer) -> None:
        """Make the group's offsets a part of the producer's transaction.

        Raises
        ------
        OutcomeUnknown
            If the broker refuses.
        """
        identity = transaction_of(producer)
        request = AddOffsetsToTxnRequest(*identity, self._group)
        while True:
            answer = await self._ask(CoordinationType.TRANSACTION, identity[0], request)
            if answer.error_code == 0:
                # The producer must know that its transaction is not empty and what to forget at its end.
                producer._txn_manager.consumer_group_added(self._group)  # noqa: SLF001 - pinned by a test
                return
            await self._again("adding offsets to a transaction", {answer.error_code})

    async def commit_in_transaction(
        self, producer: AIOKafkaProducer, offsets: Mapping[Place, int], membership: Membership
    ) -> None:
        """Commit offsets within the producer's transaction: the fence.

        Raises
        ------
        OwnershipLost
            If the group has moved on from this generation or does not know the member.
        OutcomeUnknown
            If the broker refuses for another reason.
        """
        transactional_id, producer_id, epoch = transaction_of(producer)
        topics: list[Any] = [
            (topic, [(number, offsets[topic, number], -1, "", {}) for number in numbers], {})
            for topic, numbers in by_topic(offsets).items()
        ]
        member = (membership.generation, membership.member, None)
        request = FencedTxnOffsetCommit(transactional_id, self._group, producer_id, epoch, *member, topics, {})
        await self._commit("committing offsets in a transaction", request, offsets.keys(), _FENCED)

    async def commit(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        """Commit offsets outside of any transaction, as a member of a generation.

        Raises
        ------
        OwnershipLost
            If the group has moved on from this generation or does not know the member.
        OutcomeUnknown
            If the broker refuses for another reason.
        """
        topics = [
            (topic, [(number, offsets[topic, number], "") for number in numbers])
            for topic, numbers in by_topic(offsets).items()
        ]
        retention = OffsetCommitRequest.DEFAULT_RETENTION_TIME
        request = OffsetCommitRequest(self._group, membership.generation, membership.member, retention, topics)
        await self._commit("committing offsets", request, offsets.keys(), _FENCED | {_REBALANCING})

    async def _commit(
        self, doing: str, request: Request[_R], places: Collection[Place], fenced: frozenset[int]
    ) -> None:
        while True:
            answer = await self._ask(CoordinationType.GROUP, self._group, request)
            done = {(topic, n): code for topic, partitions, *_ in answer.topics for n, code, *_ in partitions}
            codes = set(done.values())
            if codes == {0} and done.keys() == places:
                return
            if codes & fenced:
                raise OwnershipLost("the group has given the partitions to somebody else; nothing was published")
            await self._again(doing, codes - {0})

    async def _ask(self, kind: int, key: str, request: Request[_R]) -> Any:
        while True:
            try:
                if kind not in self._nodes:
                    self._nodes[kind] = await self._client.coordinator_lookup(kind, key)
                return await self._client.send(self._nodes[kind], request, group=ConnectionGroup.COORDINATION)
            except KafkaError as error:
                self._nodes.pop(kind, None)
                if not error.retriable:
                    raise broker_error("asking a coordinator", error) from None
                self._client.force_metadata_update()
            except (OSError, AssertionError, NotImplementedError) as error:
                # No broker is known at all (an assertion), or it does not know the request.
                self._nodes.pop(kind, None)
                raise broker_error("asking a coordinator", error) from None
            await asyncio.sleep(_RETRY)

    async def _again(self, doing: str, codes: set[int]) -> None:
        """Wait before another attempt, or raise if another attempt cannot help."""
        if codes & _MOVED:
            self._nodes.clear()
        if codes - _MOVED - _LOADING:
            error = BrokerError if doing.startswith("reading") else OutcomeUnknown
            raise error(f"{doing}: the broker refused (codes {sorted(codes)})")
        await asyncio.sleep(_RETRY)


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    """Return the partitions of each topic, in order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        topics.setdefault(topic, []).append(partition)
    return topics
