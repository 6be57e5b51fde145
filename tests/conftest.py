"""The same examples and the same draws on every machine; kernels that are compiled once.

A real Kafka for the whole test session, where Java and Maven are at hand.
"""

from __future__ import annotations

import gc
import os
import random
import secrets
import shutil
import uuid
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, settings

from stream_anon.adapters import core_dumps, heap
from tests.support.apache_kafka import ApacheKafka, missing_parts
from tests.support.apache_kafka.secured import SecuredKafka
from tests.support.kernels import compile_in_turn
from tests.support.order import InGroups, put_in_order

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.register_profile("fast", settings.get_profile("ci"), max_examples=20)
settings.register_profile("search", settings.get_profile("ci"), derandomize=False, max_examples=2_000)
_NO_SYSTEM = MagicMock()  # one for all: making it takes longer than many a test


def pytest_configure(config: pytest.Config) -> None:
    # Before any test file is read: its laws ask for examples then.
    short = "not soak" in str(config.getoption("markexpr"))
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast" if short else "ci"))
    # What is collected stays to the end. Looking through it for garbage took a third of the time of collecting.
    gc.disable()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        compile_in_turn()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_in_order(items)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # or libraries tell of leaks at the end


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> InGroups:
    return InGroups(config, log)


@pytest.fixture(autouse=True)
def _draws_by_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what engines draw follow from the test's name, so that a test ends alike everywhere.

    In a law Hypothesis starts Python's generator anew for each example. `TEST_DRAWS=1`, or any other word, tries
    other draws: a test must pass with all of them.
    """
    random.seed(f"{request.node.nodeid} {os.environ.get('TEST_DRAWS', '')}")
    own = random.getrandbits(512)

    def drawn(bits: int) -> int:
        return random.getrandbits(bits) ^ own % (1 << bits)

    monkeypatch.setattr(secrets, "randbits", drawn)
    monkeypatch.setattr(secrets, "token_bytes", lambda count=32: drawn(8 * count).to_bytes(count, "little"))


@pytest.fixture(autouse=True)
def _process_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service that starts in this process leave core dumps and heap to the tests that follow as they were."""
    for module, library in ((core_dumps, "resource"), (core_dumps, "ctypes"), (heap, "ctypes")):
        monkeypatch.setattr(module, library, _NO_SYSTEM)


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
