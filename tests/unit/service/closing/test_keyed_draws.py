"""A service with a key publishes the same records the same way, however often and wherever it does."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from stream_anon.errors import SettingsError
from stream_anon.ports import Parcel
from stream_anon.service.events import WindowPublished
from tests.support.driver import CITIES, Driver, people
from tests.support.memory import MemoryBroker

KEY = "a key of 32 bytes, kept secretly"


@pytest.fixture
def engine(tmp_path: Path) -> dict[str, str]:
    """Return the section of an engine that draws by a key."""
    (tmp_path / "key").write_text(KEY)
    return {"draws_key_file": str(tmp_path / "key")}


def sent(parcels: list[Parcel]) -> list[tuple[int, tuple[bytes | None, ...]]]:
    """Return the records that are published, with the partitions that they go to."""
    return [(parcel.partition, tuple(parcel.values)) for parcel in parcels if parcel.topic == "out"]


async def published(records: list[list[bytes]], **sections: dict[str, str]) -> MemoryBroker:
    """Return a broker after the records of each of its partitions were released as one window."""
    async with Driver(window={"max_records": 1000}, **sections) as driver:
        for partition, values in enumerate(records):
            driver.send(values, partition)
        await driver.advance(30)
    return driver.broker


async def test_two_services_over_the_same_records_publish_the_same_in_the_same_places(
    engine: dict[str, str],
) -> None:
    values = people(1000)
    one = await published([values, []], engine=engine)
    other = await published([values[700::-1], values[:700:-1]], engine=engine)
    fresh = await published([values, []])
    assert sent(one.committed) == sent(other.committed)
    assert sorted(sent(one.committed)) != sorted(sent(fresh.committed))
    # What tells attempts apart is not drawn by the key.
    assert one.certificates[0]["batch"] != other.certificates[0]["batch"]


async def test_after_a_crash_the_next_worker_sends_the_same_records_again(engine: dict[str, str]) -> None:
    """Readers who see aborted transactions learn no other classes of these people."""
    broker = MemoryBroker(1)
    first = Driver(broker, name="a", window={"max_records": 200}, engine=engine)
    await first.worker.connect()
    first.sink.gate_at = "commit"
    first.sink.gate.clear()
    first.send(people(200))
    while not first.sink.attempts:
        await first.worker.turn()
    async with Driver(broker, name="b", window={"max_records": 200}, engine=engine) as second:
        await first.kill()
        broker.expire()
        await second.settle()
        assert [window.records_in for window in second.told(WindowPublished)] == [200]
    (dirty,) = first.sink.attempts
    assert sent(list(dirty)) == sent(broker.committed)
    assert len(sent(broker.committed)) > 0


async def test_a_window_is_not_told_by_those_before_it(engine: dict[str, str]) -> None:
    draws = np.random.default_rng(1)
    ages = [draws.integers(0, most, 400).tolist() for most in (2, 100, 100, 100)]
    windows = [
        [
            json.dumps({"person": n, "age": age, "city": CITIES[n % 4], "serial": n}).encode()
            for n, age in enumerate(row)
        ]
        for row in ages
    ]
    async with Driver(window={"max_records": 400}, engine=engine) as driver:
        driver.send([*chain(*windows)])
        await driver.settle()
        lasting = sent(driver.broker.committed)
    alone = [sent((await published([window, []], engine=engine)).committed) for window in windows]
    assert lasting == [*chain(*alone)]


async def test_each_record_is_published_once_and_late_ones_are_dead_letters_of_their_place(
    engine: dict[str, str],
) -> None:
    broker = MemoryBroker()
    broker.largest["out"] = 400
    large = [json.dumps({**json.loads(value), "note": "n" * 900}).encode() for value in people(2, 38)]
    sections = {
        "window": {"max_records": 40},
        "engine": engine,
        "attributes": {"note": {"role": "insensitive", "accept_missing": True, "accept_linkable": True}},
    }
    async with Driver(broker, **sections) as driver:
        driver.send(people(20), 0)
        driver.send([*people(18, 20), *large], 1)
        await driver.settle()
        await driver.advance(30)
        (window,) = driver.told(WindowPublished)
    assert sorted(broker.serials) == list(range(38))
    letters = map(json.loads, broker.visible("out.dead-letters"))
    places = [(letter["partition"], letter["offset"]) for letter in letters]
    assert sorted(places) == [(1, 18), (1, 19)]
    assert sum(records for _, records in window.arrivals) == 38


async def test_the_key_is_in_no_message_and_no_certificate(engine: dict[str, str], tmp_path: Path) -> None:
    broker = await published([people(300), []], engine=engine)
    assert len(broker.certificates) > 0
    assert KEY not in repr(broker.committed)
    assert "key" not in broker.certificates[0]["terms"]
    (tmp_path / "key").write_text("short secret")
    with pytest.raises(SettingsError, match=r"draws_key_file: a key of draws must have 16 bytes") as refused:
        Driver(engine=engine)
    assert "secret" not in str(refused.value).replace(str(tmp_path), "")
