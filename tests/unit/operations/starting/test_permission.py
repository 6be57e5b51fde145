"""A worker of an older revision stands by without checks; one of a weaker or forbidden policy does not start."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream_anon.errors import Refused, SettingsError, TopicError
from stream_anon.operations.starting import permission
from stream_anon.operations.starting.conditions import Sampled
from stream_anon.operations.starting.rollout import Before
from stream_anon.privacy.promises import stated_by
from stream_anon.service.wiring.clients import connection_of
from stream_anon.service.wiring.permit import Permit
from stream_anon.settings.loading import parse_settings
from stream_anon.settings.model import Settings
from stream_anon.settings.policy_file import build_policy

FORBIDDEN = Refused("a run must not start")


def _settings(*accepted: str, **privacy: Any) -> Settings:
    ages = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}
    kafka = {"bootstrap_servers": "127.0.0.1:9", "group": "g", "input": "a", "output": "b"}
    return parse_settings(
        {
            "kafka": {**kafka, "accept_risks": list(accepted)},
            "privacy": {"k": 5, "individual": "person", **privacy},
            "attributes": {
                "person": {"role": "identifier"},
                "age": ages,
                "weight": ages | {"accept_missing": True},
            },
        }
    )


async def _start(
    monkeypatch: pytest.MonkeyPatch,
    before: Before | Exception | None,
    forbidden: Exception | None = None,
    *accepted: str,
    **privacy: Any,
) -> Permit:
    settings = _settings(*accepted, **privacy)

    async def published_before(*_: object) -> Before | None:
        if isinstance(before, Exception):
            raise before
        return before

    async def raise_if_forbidden(*_: object) -> None:
        if forbidden is not None:
            raise forbidden

    monkeypatch.setattr(permission, "published_before", published_before)
    monkeypatch.setattr(permission, "raise_if_forbidden", raise_if_forbidden)
    kafka = settings.kafka
    assert kafka is not None
    policy = build_policy(settings, Path("policy.yaml"))
    return await permission.permit_of(connection_of(kafka), settings, policy)


def _before(k: int, revision: int) -> Before:
    policy = build_policy(_settings(k=k), Path("policy.yaml"))
    return Before("sha256:another", revision, "2026-01-01T00:00:00Z", stated_by(policy))


async def test_a_worker_of_an_older_revision_is_asked_nothing_since_it_will_stand_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = _before(k=10, revision=2)
    assert (await _start(monkeypatch, before, FORBIDDEN, revision=1)).revision == 2


async def test_a_weaker_policy_of_the_same_revision_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="accept_weaker"):
        await _start(monkeypatch, _before(k=10, revision=1), revision=1)
    assert (await _start(monkeypatch, _before(k=5, revision=1), revision=1)).revision == 1


async def test_conditions_that_forbid_a_run_are_checked_before_the_first_window_and_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for before in (None, _before(k=5, revision=0)):
        with pytest.raises(Refused):
            await _start(monkeypatch, before, FORBIDDEN)


async def test_certificates_that_may_not_be_read_are_refused_by_name_or_passed_over_where_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unreadable = TopicError("b.certificates: may not be read by this user")
    with pytest.raises(Refused):
        await _start(monkeypatch, unreadable, FORBIDDEN)
    with pytest.raises(TopicError):
        await _start(monkeypatch, unreadable)
    assert await _start(monkeypatch, unreadable, None, "permissions") == Permit()


@pytest.mark.parametrize(
    ("sampled", "accepted", "expected"),
    [
        (Sampled(SimpleNamespace(fit=0), ()), (), {"age"}),  # the input was empty
        (Sampled(None, ()), (), {"age"}),  # or could not be read
        (Sampled(SimpleNamespace(fit=0), ()), ("missing-field",), set()),
        (Sampled(SimpleNamespace(fit=1), ()), (), set()),  # the sample was asked
        (None, (), set()),  # a window was published under this policy before
    ],
)
async def test_a_field_is_expected_only_where_nothing_told_of_it_before(
    monkeypatch: pytest.MonkeyPatch, sampled: Any, accepted: tuple[str, ...], expected: set[str]
) -> None:
    async def nothing_before(*_: object) -> None:
        return None

    async def asked(*_: object) -> Sampled | None:
        return sampled

    monkeypatch.setattr(permission, "published_before", nothing_before)
    monkeypatch.setattr(permission, "raise_if_forbidden", asked)
    settings = _settings(*accepted)
    policy = build_policy(settings, Path("policy.yaml"))
    permit = await permission.permit_of(connection_of(settings.kafka), settings, policy)
    assert permit.unsampled == expected
