"""Published windows are audited again in the service, from their bytes, within a share of the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stream_anon.audit.verdict import Kind
from stream_anon.ports import Parcel, Publication
from stream_anon.service.closing import rechecking
from stream_anon.service.closing.rechecking import SHARE, Rechecks, recheck
from stream_anon.service.closing.sampling import Sampler
from stream_anon.service.events import WindowAudited
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people


async def _publication() -> tuple[Driver, Publication]:
    """Return what a worker really published, certificate and all."""
    taken: list[Publication] = []
    driver = Driver()
    driver.worker._queue._rechecks.take = taken.append  # type: ignore[method-assign]
    async with driver:
        driver.send(people(20))
        await driver.settle()
    (publication,) = taken
    return driver, publication


def _changed(publication: Publication, topic: str, change: Callable[[Any], Any]) -> tuple[Parcel, ...]:
    def of(parcel: Parcel) -> Parcel:
        if parcel.topic != topic:
            return parcel
        values = [msgspec.json.encode(change(msgspec.json.decode(value or b""))) for value in parcel.values[:1]]
        return replace(parcel, values=[*values, *parcel.values[1:]])

    return tuple(of(parcel) for parcel in publication.parcels)


def _released_one_less(part: dict[str, Any]) -> dict[str, Any]:
    return part | {"released": part["released"] - 1} if "batch" in part else part


async def test_a_sound_window_passes_and_a_wrong_one_fails() -> None:
    driver, publication = await _publication()
    policy, topics = driver.worker._parts.policy, ("out", "out.certificates")

    assert recheck(policy, publication.parcels, *topics) == ()
    wrong = {
        Kind.TOO_FEW_RECORDS: _changed(publication, "out", lambda record: record | {"age": [0, 99]}),
        Kind.UNDECLARED_FIELD: _changed(publication, "out", lambda record: record | {"name": "jane"}),
        Kind.IDENTIFYING_FIELD: _changed(publication, "out", lambda record: record | {"person": 7}),
        Kind.WRONG_RELEASED: _changed(publication, topics[1], _released_one_less),
        Kind.WRONG_GCP: _changed(
            publication, topics[1], lambda part: part | {"gcp": 0.0} if "batch" in part else part
        ),
        Kind.MISSING_POLICY: _changed(
            publication,
            topics[1],
            lambda part: part | {"promises": "sha256:" + "0" * 64} if "batch" in part else part,
        ),
        Kind.METADATA: tuple(
            replace(one, headers=(*one.headers, ("x", b"1"))) if one.topic == "out" else one
            for one in publication.parcels
        ),
        Kind.NO_CERTIFICATE: tuple(one for one in publication.parcels if one.topic != topics[1]),
    }
    for kind, parcels in wrong.items():
        found = recheck(policy, parcels, *topics)
        assert kind in found
        assert "jane" not in str(found)


async def test_every_published_window_is_audited() -> None:
    driver = Driver()
    async with driver:
        for first in (0, 20):
            driver.send(people(20, first))
            await driver.settle()
            await _audited(driver, first // 20 + 1)
    audits = [event for event in driver.events if isinstance(event, WindowAudited)]
    assert [(event.result, event.violations) for event in audits] == [("passed", ()), ("passed", ())]


async def _audited(driver: Driver, count: int) -> None:
    async with asyncio.timeout(20):
        while sum(isinstance(event, WindowAudited) for event in driver.events) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def _through(rechecks: Rechecks, publication: Publication) -> None:
    rechecks.take(publication)
    await rechecks.sampler.wait()


async def test_audits_take_no_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, publication = await _publication()
    clock, events = FakeClock(), list[Any]()

    def slow(*_: object) -> tuple[str, ...]:
        clock.advance(0.5)
        return ()

    monkeypatch.setattr(rechecking, "recheck", slow)
    rechecks = Rechecks(
        driver.worker._parts.policy, "out", "out.certificates", Sampler(clock, SHARE), events.append
    )
    for _ in range(400):  # ten windows a second
        await _through(rechecks, publication)
        clock.advance(0.1)
    spent = sum(event.seconds or 0.0 for event in events)
    elapsed = 40.0 + spent
    assert 0 < spent <= (elapsed + 0.5 / SHARE) * SHARE
    assert {event.result for event in events} == {"passed", "skipped"}


async def test_an_audit_that_breaks_off_counts_as_failed_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver, publication = await _publication()

    def breaks(*_: object) -> tuple[str, ...]:
        raise ValueError("jane")

    monkeypatch.setattr(rechecking, "recheck", breaks)
    events = list[Any]()
    sampler = Sampler(FakeClock(), SHARE)
    rechecks = Rechecks(driver.worker._parts.policy, "out", "out.certificates", sampler, events.append)
    await _through(rechecks, publication)
    assert [(event.result, event.violations) for event in events] == [("failed", (rechecking.BROKE_OFF,))]
