"""Timestamp, key, partition and header: does the metadata of a record show where it came from?

False alarms: the figures are chi-squares of two degrees of freedom (beyond 42 once in 10^9) and counts of fair
coins (beyond six standard deviations twice in 10^9).
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest

from tests.attacks.outside import OutputRecord, read_output
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker

WINDOWS, SIZE = 120, 6
CHI_SQUARE = 42.0


@pytest.fixture(scope="module")
def output() -> list[OutputRecord]:
    """120 windows of six people, in turn from the one and the other partition of the input."""
    return asyncio.run(_output())


async def _output() -> list[OutputRecord]:
    async with Driver(window={"max_records": SIZE}) as driver:
        for number in range(WINDOWS):
            driver.send(people(SIZE, SIZE * number), partition=number % 2)
            await driver.settle(3)
        return read_output(driver.broker)


def _chi_square(counts: Counter[int], cells: int) -> float:
    expected = counts.total() / cells
    return sum((counts[cell] - expected) ** 2 / expected for cell in range(cells))


def test_records_have_no_key_and_one_header(output: list[OutputRecord]) -> None:
    """Promised: no key, none of the input's headers, one header `batch`."""
    assert len(output) == WINDOWS * SIZE
    for record in output:
        assert record.key is None
        assert [name for name, _ in record.headers] == ["batch"]
        assert re.fullmatch("[0-9a-f]{32}", record.batch)


def test_batch_ids_are_random(output: list[OutputRecord]) -> None:
    """Promised: batch ids draw from the operating system's entropy: no counter, no clock, no worker in them."""
    batches = list(dict.fromkeys(record.batch for record in output))
    assert len(batches) == WINDOWS
    bits = [int(batch, 16) for batch in batches]
    for place in range(128):  # a constant bit, as a version or a worker's number would be: 2^-119 by chance
        assert len({number >> place & 1 for number in bits}) == 2
    ones = sum(number.bit_count() for number in bits)
    assert abs(ones - 64 * WINDOWS) < 6 * (128 * WINDOWS / 4) ** 0.5


def test_the_output_partition_is_drawn_evenly_whatever_the_input_partition(output: list[OutputRecord]) -> None:
    """Promised: a random output partition per chunk; the input's (a hash of the key) has no part in it."""
    chosen = {record.value["serial"] // SIZE: record.partition for record in output}
    for parity in (0, 1):
        counts = Counter(partition for number, partition in chosen.items() if number % 2 == parity)
        assert _chi_square(counts, 3) < CHI_SQUARE
    follows = Counter((chosen[i + 1] - chosen[i]) % 3 for i in range(WINDOWS - 1))
    assert _chi_square(follows, 3) < CHI_SQUARE, "one chunk's partition tells the next one's"


def test_a_window_has_one_timestamp_of_whole_seconds(output: list[OutputRecord]) -> None:
    """Promised: one timestamp per window, cut to seconds."""
    times: dict[str, set[int]] = {}
    for record in output:
        times.setdefault(record.batch, set()).add(record.time)
    assert all(len(of_window) == 1 for of_window in times.values())
    assert all(time % 1000 == 0 for of_window in times.values() for time in of_window)


async def test_the_time_in_the_input_does_not_pass() -> None:
    """Promised: the timestamp is the window's; the producers' times, whatever they are, have no part in it."""
    seen = []
    for skew in (0, 86_400_123, -5_000):
        clock, broker = FakeClock(), MemoryBroker()
        async with Driver(broker, clock, window={"max_records": SIZE}) as driver:
            for i, value in enumerate(people(SIZE)):
                broker.send([value], 0, int(clock.wall() * 1000) + skew * i)
            await driver.settle()
            seen.append({record.time for record in read_output(broker)})
    assert seen[0] == seen[1] == seen[2]


async def test_dead_letters_and_certificates_tell_no_more_than_the_second_of_their_window() -> None:
    """Promised: dead letters carry place and reason, no key, no header, and their window's whole second."""
    async with Driver(window={"max_records": SIZE}) as driver:
        driver.send([b"no json", *people(SIZE)])
        await driver.settle()
        letters = [parcel for parcel in driver.broker.committed if parcel.topic == "out.dead-letters"]
        assert len(letters) == 1
        assert letters[0].keys is None
        assert letters[0].headers == ()
        assert letters[0].time == read_output(driver.broker)[0].time
