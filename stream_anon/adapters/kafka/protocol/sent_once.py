"""Keep a request of one transaction out of the next one.

aiokafka repeats the requests of a transaction when a connection breaks. The first one may still be on its way, in a
proxy or a slow network, and arrive inside the next transaction. That has the same producer id and epoch, so the
brokers take it: a late EndTxn commits half a window. Two things keep it out:

- A request that left and was not answered ends its producer. The next producer has a higher epoch, and brokers
  refuse whatever comes late.
- Where the cluster has agreed on transaction.version 2, each EndTxn gives the producer another epoch (KIP-890), so
  no two transactions have one in common.

Batches need neither: brokers tell them apart by their sequence numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import IncompatibleBrokerVersion, NodeNotReadyError
from aiokafka.producer.transaction_manager import PidAndEpoch

from stream_anon.adapters.kafka.protocol.transaction_requests import EpochEndTxn, Features, finalized_level
from stream_anon.errors import OutcomeUnknown

EPOCHS = 2
"""The level of transactions from which each transaction has an epoch of its own."""
FEATURE = "transaction.version"
"""The feature of a cluster that this level is of."""

_END = 26
_ONCE = {24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", _END: "EndTxn", 28: "TxnOffsetCommit"}
_NOT_KNOWN = (IncompatibleBrokerVersion, NotImplementedError)
_NOT_SENT = (NodeNotReadyError, *_NOT_KNOWN)


async def transaction_level(
    client: AIOKafkaClient, node: int, group: ConnectionGroup = ConnectionGroup.DEFAULT
) -> int:
    """Return the level of transactions that the cluster of a node has agreed on; 0 if it knows none.

    Raises
    ------
    KafkaError
        If the node does not answer.
    """
    try:
        answer = await client.send(node, Features(), group=group)
    except _NOT_KNOWN:
        return 0
    return finalized_level(answer, FEATURE)


class SentOnce:
    """Sends each request of a producer's transactions once.

    Parameters
    ----------
    producer
        A transactional one, not yet started. Its client's `send` is replaced, and that of before is called: it must
        hold no reference to the client.

    Attributes
    ----------
    unanswered
        Which request left without an answer; empty while all were answered.
    """

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self.unanswered = ""
        self._level = 0
        self._manager = producer._txn_manager  # noqa: SLF001 - pinned by a test
        self._send = producer.client.send
        producer.client.send = self._send_once

    async def ask_level(self, producer: AIOKafkaProducer) -> None:
        """Ask which level of transactions the cluster has agreed on; until then each request is an old one.

        The coordinator itself is asked: one that does not know the level yet must not get an EndTxn of it.

        Raises
        ------
        KafkaError
            If the coordinator does not answer.
        """
        transactional_id = self._manager.transactional_id
        node = await producer.client.coordinator_lookup(CoordinationType.TRANSACTION, transactional_id)
        self._level = await transaction_level(producer.client, node, ConnectionGroup.COORDINATION)

    async def _send_once(self, node_id: int, request: Any, **options: Any) -> Any:
        name = _ONCE.get(request.API_KEY)
        if name is None:
            return await self._send(node_id, request, **options)
        if self.unanswered:
            raise OutcomeUnknown(self.unanswered)
        try:
            return await self._send_with_epoch(node_id, request, options)
        except _NOT_SENT:
            raise
        except asyncio.CancelledError:
            self.unanswered = f"{name} left and was not answered"
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the request may still arrive
            self.unanswered = f"{name} left and was not answered"
            # aiokafka repeats a request after each error of its own, so this is none of them.
            raise OutcomeUnknown(self.unanswered) from None

    async def _send_with_epoch(self, node_id: int, request: Any, options: Mapping[str, Any]) -> Any:
        """Send a request; an EndTxn gives the producer the epoch of its next transaction, if the cluster can."""
        if request.API_KEY != _END or self._level < EPOCHS:
            return await self._send(node_id, request, **options)
        answer = await self._send(node_id, self._with_epoch(request), **options)
        if answer.error_code == 0:
            self._manager._pid_and_epoch = PidAndEpoch(answer.producer_id, answer.producer_epoch)  # noqa: SLF001
            self._manager._sequence_numbers.clear()  # noqa: SLF001 - each epoch counts from 0
        return answer

    def _with_epoch(self, request: Any) -> EpochEndTxn:
        manager, commits = self._manager, bool(request._transaction_result)  # noqa: SLF001 - pinned by a test
        return EpochEndTxn(manager.transactional_id, manager.producer_id, manager.producer_epoch, commits)
