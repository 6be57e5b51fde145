"""How a shadow is put together: what it writes, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from stream_anon.errors import Refused, SettingsError
from stream_anon.service.shadow import Beside
from stream_anon.service.wiring import building, shadowing
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
    monkeypatch.setattr(shadowing, "assemble", lambda *_, **parts: given.update(parts))
    monkeypatch.setattr(building, "KafkaSource", lambda *_, **__: None)
    policy = build_policy(settings, ROOT / "policy.yaml")
    shadowing.build_shadow(settings, policy, FakeClock(), print, asyncio.Event(), Beside("b", lambda _: None))
    assert (given["formats"].input, given["formats"].output, given["formats"].number) == ("json-schema",) * 2 + (0,)


def test_a_shadow_refuses_a_bound_on_releases_since_it_counts_none() -> None:
    kafka = {"bootstrap_servers": "nowhere:1", "group": "g", "input": "people", "output": "out"}
    bound = {"returning": {"most": 3, "period": "30d", "key_file": "k"}}
    settings = parse_settings({**PEOPLE, "kafka": kafka, "privacy": {**PEOPLE["privacy"], **bound}})
    policy = build_policy(settings, ROOT / "policy.yaml")
    with pytest.raises(SettingsError, match=r"privacy\.returning: is for a service on topics"):
        shadowing.build_shadow(settings, policy, FakeClock(), print, asyncio.Event(), Beside("b", lambda _: None))


def test_a_shadow_goes_on_after_the_last_day_of_a_release_since_it_publishes_nothing() -> None:
    kafka = {"bootstrap_servers": "nowhere:1", "group": "g", "input": "people", "output": "out"}
    settings = parse_settings({**PEOPLE, "kafka": kafka, "release": {"valid_until": "2020-02-29"}})
    policy = build_policy(settings, ROOT / "policy.yaml")
    beside = Beside("b", lambda _: None)
    shadow = shadowing.build_shadow(settings, policy, FakeClock(), print, asyncio.Event(), beside)
    shadow._parts.closing_steps.agreed_time.judge()
    service = building.build_worker(settings, policy, FakeClock(), print, asyncio.Event(), cast("Any", None))
    with pytest.raises(Refused, match="release-expired"):
        service._parts.closing_steps.agreed_time.judge()
