"""Work beside the windows takes at most its share of the time, whatever each piece of it takes."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.service.closing.sampling import Ration, Sampler
from tests.support.clock import FakeClock


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=60),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([0.0, 60.0]),
)
def test_work_takes_no_more_than_its_share_up_to_the_end_of_each_rest(
    pieces: list[tuple[float, float]], share: float, shortest: float
) -> None:
    clock = FakeClock()
    begun, spent, starts = clock.monotonic(), 0.0, list[float]()
    ration = Ration(clock, share, shortest)
    for took, wait in pieces:
        if ration.rest == 0:
            assert spent <= share * (clock.monotonic() - begun) + 1e-6
            starts.append(clock.monotonic())
            at = ration.begin()
            clock.advance(took)
            assert ration.end(at) == pytest.approx(took)
            spent += took
        clock.advance(wait)
    assert starts, "the first piece need not wait"
    assert all(b - a >= shortest for a, b in pairwise(starts))


def test_a_longest_rest_ends_the_rest_after_a_very_long_piece() -> None:
    clock = FakeClock()
    ration = Ration(clock, 0.1, longest=30.0)
    at = ration.begin()
    clock.advance(100)
    ration.end(at)
    assert ration.rest == 30.0


async def test_work_is_turned_away_while_other_work_goes_on_and_while_it_rests() -> None:
    clock, done = FakeClock(), list[object]()
    sampler = Sampler(clock, 0.1)

    def work() -> str:
        clock.advance(1.0)
        return "result"

    assert sampler.offer(work, lambda *given: done.append(given))
    assert not sampler.offer(work, lambda *given: done.append(given)), "one at a time"
    await sampler.wait()
    assert done == [("result", 1.0)]
    assert not sampler.offer(work, lambda *given: done.append(given)), "it rests"
    clock.advance(8.9)
    assert not sampler.offer(work, lambda *given: done.append(given)), "it still rests"
    clock.advance(0.2)
    assert sampler.offer(work, lambda *given: done.append(given))
    await sampler.wait()
    assert len(done) == 2


async def test_work_that_breaks_off_has_no_result_and_the_next_work_goes_on() -> None:
    clock, done = FakeClock(), list[object]()
    sampler = Sampler(clock, 0.1)

    def breaks() -> str:
        raise ValueError("jane")

    assert sampler.offer(breaks, lambda *given: done.append(given))
    await sampler.wait()
    assert done == [(None, 0.0)]
    assert sampler.offer(lambda: "result", lambda *given: done.append(given))
    await sampler.wait()
    assert done[1] == ("result", 0.0)


async def test_work_that_is_stopped_tells_nothing_more() -> None:
    done = list[object]()
    sampler = Sampler(FakeClock(), 0.1)
    sampler.offer(lambda: "result", lambda *given: done.append(given))
    sampler.stop()
    await sampler.wait()
    await asyncio.sleep(0.05)
    assert done == []
