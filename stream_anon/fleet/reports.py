"""What a worker process tells the process that started it: once a second, in frames over a pipe."""

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
    """How a worker process stands.

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
    """Return a report as bytes that tell their length."""
    body = msgspec.msgpack.encode(report)
    return _LENGTH.pack(len(body)) + body


async def reports(stream: asyncio.StreamReader) -> AsyncIterator[WorkerReport]:
    """Yield reports until the stream ends.

    Raises
    ------
    ValueError
        If what comes is no report.
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
