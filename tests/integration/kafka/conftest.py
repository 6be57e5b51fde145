"""Topics of its own on the shared broker, for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.service import Stage


@pytest.fixture
async def stage(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    """Return topics and settings for workers; files whose tests need a secured broker override it."""
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    return stage
