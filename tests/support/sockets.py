"""Connections that clients close without waiting for the end."""

from __future__ import annotations

import asyncio
from typing import Any


async def until_closed(within: float = 5.0) -> None:
    """Wait for what clients closed without waiting: its sockets would be found unclosed in a later test."""
    loop: Any = asyncio.get_running_loop()
    deadline = loop.time() + within
    # One is the loop's own. Nothing tells of the end of the others.
    while len(loop._selector.get_map()) > 1 and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
