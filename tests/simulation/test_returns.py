"""Workers on a broker in memory under random faults, and people who come back: no count is lost or doubled."""

from __future__ import annotations

import json
import os
from collections import Counter

import numpy as np
import pytest

from stream_anon.engine import closing
from stream_anon.engine.release_counts import ReleaseCounts
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.release import CountedRelease, ReleasedPeople
from stream_anon.ports.release_history import read_entry
from tests.simulation.test_workers import Storm, _short_waits  # noqa: F401 - a fixture
from tests.support.driver import CITIES, KEY, Driver
from tests.support.memory import RETURNS, MemoryHistory

RUNS = int(os.environ.get("STREAM_ANON_SIMULATION_RUNS", "12"))
MOST, PEOPLE, PARTITIONS = 3, 12, 3
BOUND = {"returning": {"most": MOST, "period": "300d", "key_file": "nowhere"}}


class Returning(Storm):
    """A storm in which a dozen people of each partition come again and again; a serial number tells whose it is."""

    async def add_worker(self) -> None:
        home = self.groups[self.born % len(self.groups)]
        self.born += 1
        driver = Driver(home, self.clock, f"w{self.born}", window={"max_records": 8, "max_delay": 5}, privacy=BOUND)
        await driver.worker.connect()
        self.workers.append(driver)

    def send(self, count: int) -> None:
        """Send records of people of one partition."""
        partition = int(self.draws.integers(PARTITIONS))
        self.broker.send(
            [self._visit(serial, partition) for serial in range(self.sent, self.sent + count)], partition
        )
        self.sent += count

    def _visit(self, serial: int, partition: int) -> bytes:
        who = int(self.draws.integers(PEOPLE))
        person = PEOPLE * partition + who
        record = {"person": person, "age": person, "city": CITIES[who % 4], "serial": 100 * serial + person}
        return json.dumps(record).encode()


def released(storm: Storm) -> Counter[tuple[str, int]]:
    """Return how many records of each person each window released, by window and person."""
    found: Counter[tuple[str, int]] = Counter()
    for parcel in storm.broker.committed:
        if parcel.topic == "out":
            batch = dict(parcel.headers)["batch"].decode()
            found.update((batch, json.loads(value)["serial"] % 100) for value in parcel.values if value is not None)
    return found


def noted(storm: Storm) -> Counter[tuple[str, int]]:
    """Return how many people were noted, by window and partition."""
    found: Counter[tuple[str, int]] = Counter()
    for parcel in storm.broker.committed:
        if parcel.topic == RETURNS:
            for value in parcel.values:
                key, people = read_entry(value or b"")
                assert key == KEY.name
                found[dict(parcel.headers)["batch"].decode(), parcel.partition] += len(np.unique(people.people))
    return found


async def weather(seed: int, groups: int) -> Returning:
    """Return a storm that is over."""
    storm = Returning(seed, groups)
    await storm.blow()
    return storm


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.soak] if seed >= 4 else []) for seed in range(RUNS)]
)
async def test_nobody_is_released_too_often_in_a_storm_and_all_who_are_count_once(seed: int, groups: int) -> None:
    storm = await weather(seed, groups)
    out = released(storm)
    times = Counter(person for _, person in out)
    assert max(times.values()) <= MOST, storm.faults
    assert Counter(times.values())[MOST] > PEOPLE, f"too few came back to tell anything: {times}"
    assert noted(storm) == Counter((batch, person // PEOPLE) for batch, person in out), storm.faults
    reasons: Counter[str] = Counter()
    for certificate in storm.broker.certificates:
        reasons.update(certificate["suppressed_by_reason"])
    assert reasons["returning"], storm.faults


async def _too_often(seeds: int) -> bool:
    """Return whether somebody was released too often in one of some storms."""
    for seed in range(seeds):
        storm = await weather(seed, 1)
        if max(Counter(person for _, person in released(storm)).values()) > MOST:
            return True
    return False


@pytest.mark.parametrize("broken", ["history", "counted", "settle"])
async def test_a_storm_shows_it_where_counting_is_broken(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads what others released; nothing is added in memory; whoever was in a window is taken off."""
    if broken == "history":

        async def nothing(*_: object) -> None:
            pass

        monkeypatch.setattr(MemoryHistory, "read", nothing)
    elif broken == "counted":
        monkeypatch.setattr(ReleaseCounts, "add", lambda *_: None)
    else:
        monkeypatch.setattr(closing, "counted_release", lambda window, _: all_kept_back(window))
    assert await _too_often(10), "ten storms, and nobody was released too often"


def all_kept_back(window: SealedWindow) -> CountedRelease:
    out = {source: ReleasedPeople(window.sealed_at, people) for source, people in window.everybody.items()}
    return CountedRelease(out, window.everybody, 0)
