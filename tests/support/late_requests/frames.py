"""Frames of Kafka's protocol: what each one asks, and with which error codes it is answered."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Self

from aiokafka.protocol.transaction import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest
from aiokafka.protocol.transaction import InitProducerIdRequest as InitRequest

from stream_anon.adapters.kafka.protocol.offset_requests import FencedTxnOffsetCommit
from stream_anon.adapters.kafka.protocol.transaction_requests import EpochEndTxn

PRODUCE, INIT, PARTITIONS, OFFSETS, END, COMMIT_OFFSETS = 0, 22, 24, 25, 26, 28
"""Keys of a transactional producer's requests."""
OF_A_PRODUCER = frozenset({PRODUCE, INIT, PARTITIONS, OFFSETS, END, COMMIT_OFFSETS})
_HEAD = struct.Struct(">ihhih")  # length, key, version, correlation id, length of the client id
_ANSWERS = {
    (each.API_KEY, each.API_VERSION): each
    for request in (
        AddOffsetsToTxnRequest,
        AddPartitionsToTxnRequest,
        EndTxnRequest,
        InitRequest,
        FencedTxnOffsetCommit,
        EpochEndTxn,
    )
    for each in request._CLASSES
}


@dataclass(eq=False)
class Frame:
    """A request on its way, with its length in front.

    Parameters
    ----------
    codes
        Of its answer, as far as they can be read.
    unheard
        Whether the answer is to be lost.
    """

    raw: bytes
    key: int
    version: int
    client: str
    codes: list[int] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    unheard: bool = False

    @classmethod
    def of(cls, raw: bytes) -> Self:
        _, key, version, _, length = _HEAD.unpack_from(raw)
        return cls(raw, key, version, raw[_HEAD.size : _HEAD.size + max(length, 0)].decode())

    def hear(self, answer: bytes) -> None:
        """Take the broker's answer."""
        struct_ = _ANSWERS.get((self.key, self.version))
        if struct_ is not None:
            # Behind the length and the correlation id, and the tags of a flexible header.
            body = BytesIO(answer[9 if struct_.FLEXIBLE_VERSION else 8 :])
            self.codes = sorted(set(_codes(struct_.RESPONSE_TYPE.decode(body))))
        self.answered.set()


def _codes(answer: Any) -> Iterator[int]:
    if hasattr(answer, "error_code"):
        yield answer.error_code
        return
    for topic in answer.errors if hasattr(answer, "errors") else answer.topics:
        for _, code, *_ in topic[1]:
            yield code


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return the next frame with its length in front. Raises IncompleteReadError at the end of the stream."""
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))
