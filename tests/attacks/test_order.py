"""Order: does a record's place in the output show when it arrived, from where, or in which class it is?

False alarms: every figure below is a sum over a uniform shuffle and normal to good approximation, so that six
standard deviations come up by chance about twice in 10^9. Shuffles draw from the operating system's entropy.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.files.anonymizing import Anonymization
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.microdata.diversity import Closeness, Diversity
from stream_anon.microdata.release import Release
from stream_anon.service.closing.writer import CHUNK
from tests.attacks.outside import OutputRecord, read_output
from tests.attacks.town import ENGINES, Person, Service, classes_of, town_policy, townspeople
from tests.support.driver import Driver, people

SIGMAS, WINDOW = 6.0, 2000


@dataclass(frozen=True)
class Window:
    """A window's records in the order of publication, and what an attacker would like to find in it."""

    records: Sequence[OutputRecord]

    @property
    def arrival(self) -> NDArray[np.float64]:
        return np.array([record.value["serial"] for record in self.records], np.float64)

    @property
    def tuples(self) -> NDArray[np.int64]:
        texts = [f"{record.value['age']}{record.value['city']}" for record in self.records]
        return np.unique(texts, return_inverse=True)[1]


@pytest.fixture(scope="module")
def windows() -> list[Window]:
    """Three windows of one worker that reads two partitions, one of even and one of odd people."""
    return asyncio.run(_windows())


async def _windows() -> list[Window]:
    async with Driver(window={"max_records": WINDOW}) as driver:
        for first in range(0, 3 * WINDOW, WINDOW):
            arriving = people(WINDOW, first)
            driver.send(arriving[::2], partition=0)
            driver.send(arriving[1::2], partition=1)
            await driver.settle()
        records = read_output(driver.broker)
    batches = dict.fromkeys(record.batch for record in records)
    found = [Window([record for record in records if record.batch == batch]) for batch in batches]
    assert [len(window.records) for window in found] == [WINDOW] * 3
    return found


def _correlation(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return the correlation of two columns in standard deviations of what chance gives."""
    return float(np.corrcoef(one, two)[0, 1] * np.sqrt(len(one) - 1))


def test_a_place_in_the_output_tells_no_arrival_partition_or_class(windows: list[Window]) -> None:
    """Promised: the order within a window is a uniform shuffle."""
    for window in windows:
        place = np.arange(WINDOW, dtype=np.float64)
        for column in (window.arrival, window.arrival % 2, window.tuples.astype(np.float64)):
            assert abs(_correlation(place, column)) < SIGMAS


def test_neighbours_in_the_output_were_no_neighbours_before(windows: list[Window]) -> None:
    """Promised: as above. Blocks that were shuffled as a whole would show here."""
    for window in windows:
        for column in (window.arrival, window.arrival % 2, window.tuples.astype(np.float64)):
            assert abs(_correlation(column[:-1], column[1:])) < SIGMAS
        sizes = np.bincount(window.tuples)
        likely = float((sizes * (sizes - 1)).sum() / WINDOW)
        together = int((window.tuples[:-1] == window.tuples[1:]).sum())
        assert together < likely + 8 * np.sqrt(likely) + 8, "records of a class stand together"


def test_a_partition_of_the_output_holds_no_stretch_of_the_input(windows: list[Window]) -> None:
    """Promised: 500 records of a window go to a partition together, but they are any 500 of the window."""
    for window in windows:
        for column in (window.arrival, window.arrival % 2, window.tuples.astype(np.float64)):
            for first in range(0, WINDOW, CHUNK):
                part = column[first : first + CHUNK]
                deviation = np.std(column) * np.sqrt((1 / len(part)) * (1 - len(part) / WINDOW))
                assert abs(part.mean() - column.mean()) < SIGMAS * deviation
                assert len({record.partition for record in window.records[first : first + CHUNK]}) == 1


def test_the_same_window_is_never_published_in_the_same_order_twice() -> None:
    """Promised: shuffles draw from the operating system's entropy, so that no seed tells the order.

    Two shuffles of 40 records agree in more than 30 places with a probability below 1e-30.
    """
    policy = town_policy(max_records=40)
    codec, seen = JsonCodec(policy), []
    values = [msgspec.json.encode(person) for person in townspeople(40)]
    for _ in range(2):
        (certified,) = Anonymization(policy).add(codec.decode(values, 0, np.arange(40)))
        seen.append(certified.release.order)
    assert int((seen[0] == seen[1]).sum()) < 30


def _divided(release: Release, records: Sequence[Person]) -> list[tuple[int, int, bool]]:
    """Return for equal people in two classes how many are in each, and whether all of one came first."""
    of_tuple: dict[tuple[object, ...], dict[int, list[int]]] = {}
    for number, rows in enumerate(classes_of(release)):
        for row in rows:
            own = (records[row]["age"], records[row]["home"], records[row]["sex"])
            of_tuple.setdefault(own, {}).setdefault(number, []).append(row)
    pairs = [list(found.values()) for found in of_tuple.values() if len(found) == 2]
    return [(len(a), len(b), max(a) < min(b) or max(b) < min(a)) for a, b in pairs]


def _everybody(people: Sequence[Person]) -> Sequence[Person]:
    return people


def _twice(people: Sequence[Person]) -> Sequence[Person]:
    half = people[: len(people) // 2]
    return [*half, *half]


def _each_ill_in_his_way(people: Sequence[Person]) -> Sequence[Person]:
    return [{**person, "illness": f"illness of {person['person']}"} for person in people]


@pytest.mark.parametrize(
    ("engine", "asked", "who"),
    [
        *((engine, None, _everybody) for engine in ENGINES),
        ("forest", None, _twice),
        ("forest", Diversity(distinct_l=2), _each_ill_in_his_way),
        ("forest", Diversity(distinct_l=3), _twice),
        ("forest", Diversity(alpha=0.4), _everybody),
        ("forest", Diversity(t_closeness=Closeness(0.4)), _everybody),
        ("forest", Diversity(beta_likeness=2), _everybody),
    ],
)
def test_who_of_several_equal_people_came_first_does_not_decide_the_class(
    engine: str, asked: Diversity | None, who: Callable[[Sequence[Person]], Sequence[Person]]
) -> None:
    """Promised: arrival has no part in which of several equal people is in which class, whatever is asked for.

    Else who knows when people came would know in which of two classes somebody is, and who reads the classes which
    of their records came first. Two groups are divided by time with a probability of 2 / C(a + b, a) by chance; as
    many as asserted come up with less than 1e-7 (Bernstein), and the draws are seeded here.
    """
    divided: list[tuple[int, int, bool]] = []
    for seed in range(6):
        records = [{**p, "age": p["age"] // 10 * 10, "sex": "female"} for p in who(townspeople(1000, seed))]
        policy = town_policy(k=7, engine=engine, diversity=asked)
        divided += _divided(Service(policy, seed).release(records), records)
    likely = sum(2 / math.comb(a + b, a) if a != b or a > 1 else 1.0 for a, b, _ in divided)
    found = sum(by_time for _, _, by_time in divided)
    if engine == "forest":
        assert len(divided) > likely + 10 * math.sqrt(likely) + 12, "too few to tell"
    assert found < likely + 10 * math.sqrt(likely) + 12
