"""A declared field that never comes is found in the first window where the input was empty at the start."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from stream_anon.errors import Refused
from stream_anon.service.events import WindowAbandoned, WindowPublished, WindowWithheld
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker

EXPECTED = {"age", "city", "serial"}


def _without(field: str, records: Sequence[bytes]) -> list[bytes]:
    return [json.dumps({k: v for k, v in json.loads(r).items() if k != field}).encode() for r in records]


async def test_a_first_window_without_any_value_of_a_declared_field_is_withheld_and_ends_the_run() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.worker.expect(EXPECTED)
        driver.send(_without("age", people(40)))  # a second window is closed beside the first
        with pytest.raises(Refused, match=r"missing-field: attributes\.age: none of 20 records") as caught:
            await driver.settle()
        assert "accept_missing: true" in str(caught.value)
        assert "--accept-risk missing-field" in str(caught.value)
        assert driver.told(WindowWithheld) == [WindowWithheld(20, ("age",))]
        assert not driver.told(WindowPublished)
    assert (broker.records, broker.certificates, broker.offsets) == ([], [], {})


async def test_a_window_that_was_withheld_is_published_by_a_run_that_expects_nothing() -> None:
    broker = MemoryBroker()
    async with Driver(broker) as driver:
        driver.worker.expect(EXPECTED)
        driver.send(_without("age", people(40)))
        with pytest.raises(Refused):
            await driver.settle()
    async with Driver(broker, name="two") as driver:
        await driver.settle()
    assert sorted(broker.serials) == list(range(40)), "withheld records are read again"
    assert max(broker.serials.values()) == 1


async def test_one_value_of_each_field_lets_this_window_and_all_later_ones_out() -> None:
    async with Driver() as driver:
        driver.worker.expect(EXPECTED)
        driver.send([*people(1), *_without("age", people(19, 1))])
        await driver.settle()
        driver.send(_without("age", people(20, 20)))
        await driver.settle()
        assert len(driver.told(WindowPublished)) == 2
        assert not driver.told(WindowWithheld)


async def test_a_window_that_releases_nothing_is_let_out_and_the_next_one_is_asked() -> None:
    async with Driver() as driver:
        driver.worker.expect(EXPECTED)
        driver.send(_without("age", people(2)))  # fewer than k
        await driver.advance(10)
        (window,) = driver.told(WindowPublished)
        assert (window.released, window.missing["age"]) == (0, 2)
        driver.send(_without("age", people(20, 2)))
        with pytest.raises(Refused, match="none of 20 records"):
            await driver.settle()


async def test_a_value_in_a_window_that_released_nothing_counts() -> None:
    async with Driver() as driver:
        driver.worker.expect(EXPECTED)
        driver.send(people(2))
        await driver.advance(10)
        driver.send(_without("age", people(20, 2)))
        await driver.settle()
        assert [window.released for window in driver.told(WindowPublished)] == [0, 20]
        assert not driver.told(WindowAbandoned)
