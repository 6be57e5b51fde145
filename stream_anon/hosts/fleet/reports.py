"""The reports of a worker process to its parent: one a second, each a line of JSON on a pipe."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

EVERY = 1.0
LONGEST = 16 * 1024 * 1024  # bytes of a line; the text of 400 series has 33,000


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The state of a worker process.

    Parameters
    ----------
    warm
        Whether its kernels are compiled.
    status
        As `StatusBoard.status`.
    metrics
        As `exposition` writes them.
    """

    warm: bool
    status: Mapping[str, Any]
    metrics: str

    @property
    def line(self) -> bytes:
        """Return the report as a line."""
        return msgspec.json.encode(self) + b"\n"


async def next_report(stream: asyncio.StreamReader) -> WorkerReport | None:
    """Return the next report; None when the stream ends, perhaps within one.

    Raises
    ------
    ValueError
        If something else than a report comes, or none in as many bytes as the stream holds.
    """
    line = await stream.readline()
    return msgspec.json.decode(line, type=WorkerReport) if line.endswith(b"\n") else None
