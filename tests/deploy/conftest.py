"""The image, built once, and a broker for the tests that run it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support import containers
from tests.support.apache_kafka import ApacheKafka, missing_parts


@pytest.fixture(scope="session")
def image() -> str:
    """The service's image; skips with a reason where no container can be started."""
    if missing := containers.missing_parts():
        pytest.skip(missing)
    return containers.image()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A broker that the tests of this folder share."""
    missing = missing_parts()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
