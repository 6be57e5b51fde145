"""The reports of a worker process to its parent: one a second, in frames over a pipe."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stream_anon.adapters.prometheus.merging import Samples

EVERY = 1.0
_LENGTH = struct.Struct(">I")
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The state of a worker process.

    Parameters
    ----------
    warm
        Whether its kernels are compiled.
    status
        As `StatusBoard.status`.
    """

    warm: bool
    status: Mapping[str, Any]
    metrics: tuple[Samples, ...]


def framed(report: WorkerReport) -> bytes:
    """Return a report as bytes with their length before them."""
    body = msgspec.msgpack.encode(report)
    return _LENGTH.pack(len(body)) + body


async def reports(stream: asyncio.StreamReader) -> AsyncIterator[WorkerReport]:
    """Yield reports until the stream ends.

    Raises
    ------
    ValueError
        If something else than a report comes.
    """
    decoder = msgspec.msgpack.Decoder(WorkerReport)
    while True:
        try:
            (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
            if length > _LARGEST:
                raise ValueError("a report is too large")
            yield decoder.decode(await stream.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
