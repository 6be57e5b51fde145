"""Topics of its own on the shared broker, for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.apache_kafka import ApacheKafka
from tests.support.registry import apicurio
from tests.support.registry.apicurio import Apicurio
from tests.support.registry.confluent import Confluent
from tests.support.service import Stage
from tests.support.sockets import until_closed


@pytest.fixture(autouse=True)
async def closed_connections() -> AsyncIterator[None]:
    """Leave no socket to a later test."""
    yield
    await until_closed()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    """Return a registry that the tests of a file share."""
    if reason := apicurio.missing_parts():
        pytest.skip(reason)
    with Apicurio(tmp_path_factory.mktemp("apicurio")) as running:
        yield running


@pytest.fixture
def closed_clients() -> Iterator[None]:
    """Leave no connection to a registry."""
    yield
    Confluent.close_all()


@pytest.fixture
async def stage(kafka: ApacheKafka, unique: str, tmp_path: Path) -> Stage:
    """Return topics and settings for workers; files whose tests need a secured broker override it."""
    stage = Stage(kafka, unique, tmp_path)
    await stage.create_topics()
    return stage
