"""Hypothesis profiles for everybody, the same examples on every machine; kernels that are compiled once."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

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


def pytest_configure(config: pytest.Config) -> None:
    # Before any test file is read: its laws ask for examples then.
    short = "not slow" in str(config.getoption("markexpr"))
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast" if short else "ci"))
    if os.environ.get("PYTEST_XDIST_WORKER"):
        compile_in_turn()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_in_order(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> InGroups:
    return InGroups(config, log)
