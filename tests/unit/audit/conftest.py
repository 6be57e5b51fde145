"""A right release for each test."""

from __future__ import annotations

import pytest

from stream_anon.microdata.policy import Policy
from tests.support.releases import ward_policy
from tests.unit.audit.story import Story


@pytest.fixture
def policy() -> Policy:
    return ward_policy()


@pytest.fixture
def story(policy: Policy) -> Story:
    return Story(policy)
