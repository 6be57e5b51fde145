"""Numbered steps: what passes before each, and what a step says that takes too long."""

from __future__ import annotations

import asyncio

import pytest

from stream_anon.errors import BrokerError
from stream_anon.ports import Steps
from stream_anon.service.fault_points import fault_at, nowhere
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people


async def test_a_step_passes_its_fault_point_before_it_does_anything() -> None:
    done = []

    async def at(step: str) -> None:
        done.append(step)

    steps = Steps("closing", at)
    async with steps.step(4, "begin"):
        done.append("begun")
    assert done == ["closing.4", "begun"]


async def test_the_step_at_which_a_run_broke_is_known() -> None:
    steps = Steps("closing", fault_at("closing.9:fail"))
    async with steps.step(8, "commit offsets"):
        assert steps.reached == "closing.8"
    with pytest.raises(BrokerError):
        async with steps.step(9, "commit"):
            pytest.fail("it breaks before the step is done")
    assert steps.reached == "closing.9"


async def test_a_step_that_takes_too_long_ends_with_its_number_and_name() -> None:
    steps = Steps("takeover", nowhere)
    with pytest.raises(BrokerError, match=r"^takeover, step 3 \(read stable offsets\): no answer in 0\.01 s$"):
        async with steps.step(3, "read stable offsets", 0.01):
            await asyncio.Event().wait()


async def test_a_step_without_a_deadline_passes_on_a_timeout_of_its_own() -> None:
    with pytest.raises(TimeoutError):
        async with Steps("closing", nowhere).step(1, "partition"):
            raise TimeoutError


async def test_how_long_ago_a_step_was_begun_is_known_and_0_if_it_was_not() -> None:
    clock = FakeClock()
    steps = Steps("closing", nowhere, clock.monotonic)
    async with steps.step(7, "add offsets"):
        clock.advance(2)
    assert steps.since(7) == 2
    assert steps.since(8) == 0


async def test_a_window_passes_every_fault_point_in_order() -> None:
    passed = []

    async def at(step: str) -> None:
        passed.append(step)

    async with Driver(at=at) as driver:
        driver.send(people(20))
        await driver.settle()
        assert driver.broker.records
    takeover = [f"takeover.{number}" for number in range(1, 8)]
    closing = [f"closing.{number}" for number in (1, 3, 4, 5, 6, 7, 8, 9, 10)]
    assert [step for step in passed if step.startswith("takeover")][:7] == takeover
    assert [step for step in passed if step.startswith("closing")] == closing
