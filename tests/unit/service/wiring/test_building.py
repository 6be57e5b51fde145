"""How a worker is put together: a shadow reads and admits as the service does, and asks for no id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stream_anon.service.shadow import Beside
from stream_anon.service.wiring import building
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.clock import FakeClock
from tests.support.data import ROOT
from tests.support.policies import PEOPLE


def test_a_shadow_writes_in_the_formats_of_the_service_under_an_id_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = {"bootstrap_servers": "nowhere:1", "group": "g", "input": "people", "output": "out"}
    kafka |= {"format": "json-schema", "registry": {"url": "http://127.0.0.1:1"}}  # type: ignore[dict-item]
    settings = parse_settings({**PEOPLE, "kafka": kafka})
    given: dict[str, Any] = {}
    monkeypatch.setattr(building, "assemble", lambda *_, **parts: given.update(parts))
    monkeypatch.setattr(building, "KafkaSource", lambda *_, **__: None)
    policy = build_policy(settings, ROOT / "policy.yaml")
    building.build_shadow(settings, policy, FakeClock(), print, asyncio.Event(), Beside("b", lambda _: None))
    assert (given["formats"].input, given["formats"].output, given["formats"].number) == ("json-schema",) * 2 + (0,)
