"""A real Kafka for the whole test session, where Java and Maven are at hand."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator

import pytest

from tests.support.apache_kafka import ApacheKafka, missing_parts
from tests.support.apache_kafka.secured import SecuredKafka


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A broker that all tests share; they name their topics and groups by `names`."""
    _skip_without(missing_parts())
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A broker with TLS, SASL and an authorizer, for the tests that need them."""
    _skip_without(missing_parts() or ("" if shutil.which("openssl") else "certificates need `openssl` on the path"))
    with SecuredKafka(tmp_path_factory.mktemp("secured")) as broker:
        yield broker


def _skip_without(missing: str) -> None:
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@pytest.fixture
def unique() -> str:
    """Return a prefix for topics and groups that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"
