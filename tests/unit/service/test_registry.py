"""A worker and its registry: it waits for schemas as it waits for a broker, and loses nothing meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from stream_anon.formats.registry import asked_schemas, budget, memory
from stream_anon.service import retrying
from stream_anon.service.events import (
    Away,
    BrokerAway,
    BrokerBack,
    ReadinessChanged,
    SchemaSeen,
    SchemasUnknown,
    WindowAudited,
    WindowPublished,
)
from tests.support.driver import Driver, people
from tests.support.registry.memory_registry import MemoryRegistry

SCHEMA = {
    "type": "object",
    "properties": {
        "person": {"type": "integer"},
        "age": {"type": "integer"},
        "city": {"type": "string"},
        "serial": {"type": "integer"},
    },
}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(retrying, "LONGEST_PAUSE", 0.002)
    monkeypatch.setattr(memory, "DOUBTED", 0.05)


def _framed(count: int, schema: int = 1, first: int = 0) -> list[bytes]:
    return [b"\0" + schema.to_bytes(4, "big") + text for text in people(count, first)]


def _driver(registry: MemoryRegistry, form: Any = "json-schema", **sections: dict[str, Any]) -> Driver:
    kafka = {"format": form, "registry": {"url": registry.url, "timeout": 2}}
    return Driver(kafka=kafka, **sections)


@asynccontextmanager
async def _served(*numbers: int) -> AsyncIterator[tuple[MemoryRegistry, Driver]]:
    """A registry that knows `SCHEMA` by these numbers, and a worker that asks it."""
    async with MemoryRegistry() as registry:
        for number in numbers:
            registry.add(SCHEMA, number, kind="JSON")
        async with _driver(registry) as driver:
            yield registry, driver


def _released(driver: Driver) -> list[int]:
    parcels = [parcel for parcel in driver.broker.committed if parcel.topic == "out"]
    return sorted(json.loads(value[5:])["serial"] for parcel in parcels for value in parcel.values if value)


def _letters(driver: Driver) -> list[dict[str, Any]]:
    parcels = [parcel for parcel in driver.broker.committed if parcel.topic.endswith("dead-letters")]
    return [json.loads(value) for parcel in parcels for value in parcel.values if value]


async def _until(there: Callable[[], object]) -> None:
    while not there():  # noqa: ASYNC110 - a thread works
        await asyncio.sleep(0.01)


def _accounted(driver: Driver) -> int:
    return sum(window.records_in for window in driver.told(WindowPublished))


def _away(driver: Driver) -> list[BrokerAway]:
    return [event for event in driver.told(BrokerAway) if event.doing is Away.ASKING_REGISTRY]


async def test_framed_records_go_through_and_come_out_framed_and_the_service_audits_them() -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 1, kind="JSON")
        async with _driver(registry, window={"max_records": 40}) as driver:
            driver.send(_framed(40))
            await driver.settle()
            await driver.advance(11)
            assert _released(driver) == list(range(40))
            number = registry.subjects["out-value"][-1]
            frames = {value[:5] for p in driver.broker.committed if p.topic == "out" for value in p.values if value}
            assert frames == {b"\0" + number.to_bytes(4, "big")}
            await _until(lambda: driver.told(WindowAudited))
            assert [(event.result, event.violations) for event in driver.told(WindowAudited)] == [("passed", ())]


async def test_avro_comes_out_and_the_service_audits_it() -> None:
    async with MemoryRegistry() as registry:
        form = {"input": "json", "output": "avro"}
        async with _driver(registry, form, output={"shape": "flat"}, window={"max_records": 40}) as driver:
            driver.send(people(40))
            await driver.settle()
            await driver.advance(11)
            assert _accounted(driver) == 40
            await _until(lambda: driver.told(WindowAudited))
            assert [(event.result, event.violations) for event in driver.told(WindowAudited)] == [("passed", ())]


async def test_records_of_a_new_schema_wait_for_a_registry_that_is_away_and_nothing_is_lost_or_twice() -> None:
    async with _served(1, 2) as (registry, driver):
        driver.send(_framed(8))
        await driver.settle()
        await registry.stop()
        driver.send(_framed(8, 1, first=8))  # of a known schema: the registry is not needed
        await driver.settle()
        assert not _away(driver)
        driver.send(_framed(8, 2, first=16))
        driver.send(_framed(8, 1, first=24), 1)
        await driver.settle()
        assert len(_away(driver)) == 1
        assert driver.told(ReadinessChanged)[-1].ready is False
        await driver.advance(11)  # a window closes in time, though the registry is away
        assert _released(driver) == list(range(16))
        await registry.start()
        await driver.settle()
        assert driver.told(BrokerBack)[-1].doing is Away.ASKING_REGISTRY
        assert driver.told(ReadinessChanged)[-1].ready is True
        await driver.advance(11)
        assert _released(driver) == list(range(32))
        assert _accounted(driver) == 32


async def test_a_rebalance_while_records_wait_for_their_schema_reads_them_again_once() -> None:
    async with _served(1, 2) as (registry, driver):
        driver.send(_framed(6))
        await driver.settle()
        await registry.stop()
        driver.send(_framed(6, 2, first=6))
        await driver.settle()
        driver.broker.rebalance()
        await driver.settle()
        await registry.start()
        await driver.settle()
        await driver.advance(11)
        assert _released(driver) == list(range(12))


async def test_a_worker_that_gives_away_the_records_that_wait_for_a_schema_is_ready_again() -> None:
    async with MemoryRegistry() as registry:
        registry.add(SCHEMA, 1, kind="JSON")
        form = {"input": "json-schema", "output": "json"}
        async with _driver(registry, form) as one:
            one.send(_framed(6))
            await one.settle()
            await registry.stop()
            one.send(_framed(6, 2, first=6), 1)
            await one.settle()
            assert one.told(ReadinessChanged)[-1].ready is False
            kafka = {"format": form, "registry": {"url": registry.url, "timeout": 2}}
            async with Driver(one.broker, one.clock, "two", kafka=kafka) as two:
                for _ in range(3):
                    await one.settle()
                    await two.settle()
                assert two.told(ReadinessChanged)[-1].ready is False  # it waits now
                assert one.told(ReadinessChanged)[-1].ready is True


async def test_a_registry_that_says_nothing_holds_no_window_back() -> None:
    async with _served(1) as (registry, driver):
        driver.send(_framed(8))
        await driver.settle()
        registry.speaking.clear()
        driver.send(_framed(8, 2, first=8))
        await driver.settle(3)
        assert not _away(driver)
        await driver.advance(11)
        assert _released(driver) == list(range(8))
        registry.add(SCHEMA, 2, kind="JSON")
        registry.speaking.set()
        await asyncio.sleep(0.05)
        await driver.settle()
        await driver.advance(11)
        assert _released(driver) == list(range(16))


async def test_a_worker_starts_without_a_registry_waits_and_says_so() -> None:
    registry = MemoryRegistry()
    await registry.start()
    await registry.stop()
    driver = _driver(registry)
    connecting = asyncio.create_task(driver.worker.connect())
    await _until(lambda: _away(driver))
    assert "cannot be reached" in _away(driver)[0].error
    assert not connecting.done()
    await registry.start()
    registry.add(SCHEMA, 1, kind="JSON")
    assert await asyncio.wait_for(connecting, 10)
    driver.send(_framed(8))
    await driver.settle()
    await driver.advance(11)
    assert _released(driver) == list(range(8))
    await driver.stop()
    await registry.stop()


async def test_an_unknown_schema_makes_dead_letters_and_holds_nothing_up() -> None:
    async with _served(1) as (_, driver):
        driver.send([*_framed(4), *_framed(3, 99, first=90), *_framed(4, 1, first=4)])
        await driver.settle()
        await driver.advance(11)
        letters = _letters(driver)
        assert [letter["reason"] for letter in letters] == ["unknown-schema"] * 3
        assert _released(driver) == list(range(8))


async def test_a_record_whose_schema_was_not_asked_for_says_so_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "MOST_SAVED", 2)
    monkeypatch.setattr(budget, "RESERVED", 0)
    monkeypatch.setattr(budget, "A_SECOND", 0.0)
    monkeypatch.setattr(asked_schemas, "HELD", 0.05)
    async with _served(1) as (_, driver):
        made_up = [framed for number in range(90, 95) for framed in _framed(1, number, first=number)]
        driver.send([*_framed(4), *made_up, *_framed(4, 1, first=4)])
        await driver.settle()
        await driver.advance(11)
        assert sorted(letter["reason"] for letter in _letters(driver)) == [
            *["unasked-schema"] * 3, *["unknown-schema"] * 2,
        ]  # fmt: skip
        assert _released(driver) == list(range(8))
        told = [event.unknown for event in driver.told(SchemasUnknown)]
        assert (told[0].schemas, told[0].unasked) == (("90", "91"), 3)


async def test_a_schema_without_a_declared_field_is_told_and_the_field_counts_as_missing() -> None:
    async with _served(1) as (registry, driver):
        without = {name: each for name, each in SCHEMA["properties"].items() if name != "city"}  # type: ignore[attr-defined]
        registry.add({"type": "object", "properties": without}, 2, kind="JSON")
        driver.send([*_framed(2), *_framed(2, 2, first=2)])
        await driver.settle()
        told = [event.change for event in driver.told(SchemaSeen)]
        assert [(change.schema, change.vanished) for change in told] == [("2", ("city",))]


async def test_framed_bytes_while_json_is_set_have_a_reason_of_their_own() -> None:
    async with Driver() as driver:
        driver.send([*people(6), *_framed(3), b"\3\0" + bytes(20), b"\1" + bytes(20), b"\0\0", b"\1\0"])
        await driver.settle()
        await driver.advance(11)
        letters = _letters(driver)
        reasons = sorted(letter["reason"] for letter in letters)
        assert reasons == [*["malformed"] * 2, *["registry-framed"] * 5]


async def test_a_registry_that_answers_rubbish_is_waited_for() -> None:
    async with _served(1) as (registry, driver):
        registry.fault = web.Response(status=200, text="<html>")
        driver.send(_framed(6))
        await driver.settle()
        assert "not that of a schema registry" in _away(driver)[0].error
        registry.fault = None
        await driver.settle()
        await driver.advance(11)
        assert _released(driver) == list(range(6))


async def test_records_that_were_held_count_from_when_they_were_received() -> None:
    async with _served(1) as (registry, driver):
        registry.speaking.clear()
        driver.send(_framed(8))
        await driver.settle(2)
        received = driver.clock.monotonic()
        driver.clock.advance(8)
        registry.speaking.set()
        await driver.settle()
        assert not driver.told(WindowPublished)
        driver.clock.advance(2)  # ten seconds after they were received
        await driver.settle()
        assert [window.arrivals for window in driver.told(WindowPublished)] == [((received, 8),)]


async def test_a_schema_that_only_the_registry_s_leader_knows_yet_makes_no_dead_letters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "DOUBTED", 0.5)
    async with _served(1) as (registry, driver):
        driver.send([*_framed(4), *_framed(4, 2, first=4)])
        await driver.settle(2)
        registry.add(SCHEMA, 2, kind="JSON")
        await asyncio.sleep(0.5)
        await driver.settle()
        await driver.advance(11)
        assert _released(driver) == list(range(8))
        assert _letters(driver) == []


async def test_one_id_that_the_registry_refuses_is_named() -> None:
    async with _served(1) as (registry, driver):
        registry.faults[7] = web.Response(status=403)
        driver.send([*_framed(4), *_framed(4, 7, first=4)])
        await driver.settle()
        assert [event.error for event in _away(driver)] == [
            "registry: GET /schemas/ids/7: answered with status 403"
        ]
