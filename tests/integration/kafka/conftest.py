"""Topics of its own on the shared broker, for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import Stage
from tests.support.sockets import until_closed


@pytest.fixture(autouse=True)
async def closed_connections() -> AsyncIterator[None]:
    """Leave no socket to a later test."""
    yield
    await until_closed()


@pytest.fixture
async def stage(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    """Return topics and settings for workers; files whose tests need a secured broker override it."""
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    return stage
