"""A real Kafka for the whole test session, where Java and Maven are at hand."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.support.apache_kafka import ApacheKafka, missing_parts


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A broker that all tests share; they name their topics and groups by `names`."""
    missing = missing_parts()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture
def unique() -> str:
    """Return a prefix for topics and groups that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"
