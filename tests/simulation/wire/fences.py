"""Take one fence away, for the runs that must find what it keeps out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from stream_anon.adapters.kafka.ledger.ledger import KafkaLedger
from stream_anon.adapters.kafka.protocol import sent_once
from stream_anon.adapters.kafka.protocol.group_fencing import GroupRequests
from stream_anon.adapters.kafka.writing import transactional_producer
from tests.support.storm.unfenced import _as_nobody, _look_away


class Repeating(sent_once.SentOnce):
    """Lets aiokafka repeat what left without an answer."""

    async def _send_once(self, node_id: int, request: Any, **options: Any) -> Any:
        return await self._send_with_epoch(node_id, request, options)


async def _no_level(*_: object) -> None:
    """Ask nothing: each EndTxn is an old one."""


@contextmanager
def without(fences: Collection[str]) -> Iterator[None]:
    """Take fences away.

    `once`: a request of a transaction that left without an answer ends its producer. `epochs`: each transaction has
    an epoch of its own. `group`: offsets are committed as a member of a generation. `ledger`: a window waits for
    those whose entries lie before its own.
    """
    with ExitStack() as stack:
        for fence in fences:
            match fence:
                case "once":
                    stack.enter_context(patch.object(transactional_producer, "SentOnce", Repeating))
                case "epochs":
                    stack.enter_context(patch.object(sent_once.SentOnce, "ask_level", _no_level))
                case "group":
                    stack.enter_context(patch.object(GroupRequests, "commit_in_transaction", _as_nobody))
                case "ledger":
                    stack.enter_context(patch.object(KafkaLedger, "uncontested", _look_away))
                case _:
                    raise ValueError(fence)
        yield
