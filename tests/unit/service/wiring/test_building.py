"""How a worker is put together: what its group is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stream_anon.adapters.kafka.assigning.sharing import Sharing
from stream_anon.service.events import Away
from stream_anon.service.wiring import building
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.clock import FakeClock
from tests.support.data import ROOT
from tests.support.policies import PEOPLE


async def test_a_worker_that_is_not_ready_tells_its_group_so(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = {"bootstrap_servers": "nowhere:1", "group": "g", "input": "people", "output": "out"}
    settings = parse_settings({**PEOPLE, "kafka": kafka})
    made: list[Sharing] = []

    def share(*parts: Any, **more: Any) -> Sharing:
        made.append(Sharing(*parts, **more))
        return made[0]

    monkeypatch.setattr(building, "Sharing", share)

    async def ask(*_: Any) -> Any:
        raise AssertionError("nobody is asked")

    policy = build_policy(settings, ROOT / "policy.yaml")
    worker = building.build_worker(settings, policy, FakeClock(), lambda _: None, asyncio.Event(), ask)
    (sharing,) = made
    assert not sharing._ready()
    worker._parts.reachability.joined()
    assert sharing._ready()
    worker._parts.reachability.away(Away.ASKING_REGISTRY, "no answer")
    assert not sharing._ready()
