"""Topics of its own on the shared broker, for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import Stage


@pytest.fixture(autouse=True)
async def closed_connections() -> AsyncIterator[None]:
    """Wait for what clients closed without waiting: its sockets would be found unclosed in a later test."""
    yield
    loop: Any = asyncio.get_running_loop()
    deadline = loop.time() + 5
    # One is the loop's own. Nothing tells of the end of the others.
    while len(loop._selector.get_map()) > 1 and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


@pytest.fixture
async def stage(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    """Return topics and settings for workers; files whose tests need a secured broker override it."""
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    return stage
