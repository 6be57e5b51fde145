"""Replay of the input: a record that is published twice, in two classes, has its value in what they share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from stream_anon.privacy.costs.model import CostModel
from stream_anon.service.events import PartitionStopped
from tests.attacks.conftest import Measured
from tests.attacks.evolving import FIRST, evolved
from tests.attacks.replaying import Case, Forests, cases
from tests.attacks.town import SEARCHING, Service, crowds_of, share, town_policy, townspeople, values_of
from tests.support.clock import FakeClock
from tests.support.driver import Driver, people
from tests.support.memory import MemoryBroker


@pytest.mark.parametrize("offset", [0, 7, None], ids=["rewound", "rewound-a-bit", "deleted"])
async def test_no_record_is_published_twice_whatever_happens_to_the_offsets(offset: int | None) -> None:
    """Promised: a record is published at most once, even if somebody rewinds or deletes the committed offsets."""
    async with Driver() as driver:
        driver.send(people(40))
        await driver.settle()
        broker, clock = driver.broker, driver.clock
    assert len(broker.serials) == 40
    for place in list(broker.offsets):
        if offset is None:
            del broker.offsets[place]
        else:
            broker.offsets[place] = min(offset, broker.offsets[place])
    async with Driver(broker, clock, name="two") as second:
        broker.send(people(20, first=40), 0, int(clock.wall() * 1000))
        await second.advance(30)
        stopped = second.told(PartitionStopped)
    assert max(broker.serials.values()) == 1
    if offset is None:  # it goes on from the ledger
        assert len(broker.serials) == 60
    else:
        assert [event.reason for event in stopped] == ["rewound"]
        assert len(broker.serials) == 40


async def test_a_lost_answer_to_a_commit_does_not_publish_twice() -> None:
    """Promised: as above, where the broker's answer is lost after the commit; a reader sees one window once."""
    async with Driver() as driver:
        driver.sink.break_at = ["commit after"]
        driver.send(people(20))
        await driver.advance(1)
        assert len(driver.broker.serials) == 20
        assert max(driver.broker.serials.values()) == 1


async def test_a_repeated_attempt_shows_a_dirty_reader_nothing_new() -> None:
    """Promised: an attempt that broke off and its repetition send the same bytes to the same partitions.

    Readers without `read_committed` see both; another shuffle or other classes would give them an intersection.
    """
    async with Driver() as driver:
        driver.sink.break_at = ["settle"]
        driver.send(people(20))
        await driver.advance(1)
        first, second = driver.sink.attempts
        assert first == second


async def test_a_reader_of_aborted_attempts_sees_records_in_two_classes_after_a_crash(measured: Measured) -> None:
    """Promised: with `isolation.level=read_committed` a record is read once. Measured: without, after a crash.

    The next owner of the partitions has other partitions beside them, so its windows and classes are others.
    """
    crowd, broker, clock = 200, MemoryBroker(), FakeClock()
    async with Driver(broker, clock, name="first", window={"max_records": crowd}) as first:
        first.sink.gate.clear()
        first.send(people(crowd))
        for _ in range(200):
            await first.worker.turn()
            if first.sink.attempts:
                break
            await asyncio.sleep(0.01)
        assert first.sink.attempts, "the attempt has reached the broker"
        await first.kill()
    broker.expire()
    broker.send(people(crowd // 2, first=crowd), 1)
    async with Driver(broker, clock, name="second", window={"max_records": 3 * crowd // 2}) as second:
        await second.advance(30)
    assert max(broker.serials.values()) == 1
    assert len(broker.serials) == 3 * crowd // 2
    aborted = [json.loads(v) for part in first.sink.attempts[0] if part.topic == "out" for v in part.values]
    committed = {record["serial"]: record for record in broker.records}
    moved = sum(record != committed[record["serial"]] for record in aborted)
    measured(
        f"a worker crashed within a transaction: without `read_committed` {share(moved, len(aborted))} of its "
        "records are seen in two different classes"
    )


@pytest.mark.parametrize("company", ["the same", "other"])
def test_copies_that_somebody_writes_to_the_input_are_new_records(company: str, measured: Measured) -> None:
    """Not promised: whoever may write to the input may write everybody's records again, with other company.

    Promised is k and l of each window; measured is what the two releases tell together.
    """
    victims = townspeople(200, seed=1)
    service = Service(town_policy(distinct_l=3))
    left = [{f"illness {i}" for i in range(20)} for _ in victims]
    for seed in (2, 2 if company == "the same" else 3):
        window = [*victims, *townspeople(200, seed)]
        release = service.release(window)
        values = values_of(release, window)
        assert min(len(one) for one in values) >= 3
        for person, own in enumerate(left):
            own.intersection_update(values[int(release.class_of_row[person])])
    found = sum(len(own) == 1 for own in left)
    measured(
        f"k = 5, distinct_l = 3, 200 records written twice, the second time with {company} company: "
        f"{share(found, len(victims))} have one illness left"
    )


@pytest.mark.parametrize("engine", [engine for engine in SEARCHING if engine != "mondrian"])
def test_an_attacker_who_replays_an_engine_does_not_find_all_classes_of_a_window(
    engine: str, measured: Measured
) -> None:
    """Without a seed classes depend on draws that nobody knows. Strict Mondrian and fixed levels have none."""
    people = townspeople(600)
    policy = town_policy(engine=engine)
    one, other = (crowds_of(Service(policy, seed).release(people), people) for seed in (1, 2))
    assert len(one & other) < 0.9 * len(one)
    measured(
        f"k = 5, {engine}: by other draws {share(len(one & other), len(one))} of a window's classes are the same"
    )
    seeded = replace(policy, engine=replace(policy.engine, seed=3))
    one, other = (crowds_of(Service(seeded, seed).release(people), people) for seed in (1, 2))
    assert one == other


def test_an_attacker_who_knows_all_but_one_value_is_right_less_often_without_the_draws_of_the_forest(
    measured: Measured,
) -> None:
    """Not promised: the attacker knows the policy, the order, every row, and the victim's class, but not the home.

    He replays the forest for each home that the class allows: with the window's own draws, as he could if they
    were known; without draws; with many draws of his own; and with those of very many that come nearest to what was
    published of everybody else. The more of a window they explain, the more they are worth.
    """
    forests, people = Forests(town_policy(), townspeople(1000, 77)), townspeople(1000, 1)
    draws = np.random.default_rng(6)
    own = [forests.costs.draw(draws) for _ in range(40)]
    right: dict[str, list[float]] = {"chance": [], "known": [], "none": [], "sampled": [], "nearest": []}
    for case, model in cases(forests, people, "home", draws, own):
        right["chance"].append(case.chance)
        right["known"].append(case.guessed([model]))
        right["none"].append(case.guessed([forests.model]))
        right["sampled"].append(case.guessed([forests.costs.draw(draws) for _ in range(8)]))
        right["nearest"].append(case.guessed(_nearest(case, draws, 30)))
    success = {name: float(np.mean(figures)) for name, figures in right.items()}
    assert success["known"] > success["chance"] + 0.2, "the attack works where the draws are known"
    for name in ("none", "sampled", "nearest"):
        assert success[name] < success["known"] - 0.08, name
    measured(
        "k = 5, 1,000 people, all rows known but one home: a replay with the window's draws names it for "
        f"{success['known']:.0%}, without draws for {success['none']:.0%}, with 8 draws of the attacker's for "
        f"{success['sampled']:.0%}, with the 5 of 30 that come nearest to the window for {success['nearest']:.0%}; "
        f"any value that the class allows is right for {success['chance']:.0%}"
    )


def _nearest(case: Case, draws: np.random.Generator, count: int) -> list[CostModel]:
    """Return the costs of many draws whose replays find most of what was published, whatever the victim's value."""
    tried = [case.forests.costs.draw(draws) for _ in range(count)]
    likeness = [case.seen.likeness(case.replayed(int(draws.choice(case.values)), model)) for model in tried]
    return [tried[i] for i in np.argsort(likeness)[-5:].tolist()]


def test_draws_that_evolve_explain_a_small_window_better_than_draws_by_chance() -> None:
    first, last, _ = _evolving(victims=2, replays=120)
    assert last > first + 0.05


@pytest.mark.soak
def test_an_attacker_who_evolves_draws_towards_the_rest_of_a_small_window_names_values(measured: Measured) -> None:
    """Not promised: the attacker of the test before is told everybody's class, and looks for the window's draws.

    Many draws without a search tell as much: whatever the draws, a person with another home would hardly ever be in
    this class.
    """
    victims, replays = 40, 330
    first, last, right = _evolving(victims, replays)
    assert last > first + 0.1, "the search finds the rest of the window"
    assert right["evolved"] > right["chance"] + 0.1, "the figure of docs/explain/privacy.md is no better than it is"
    measured(
        f"k = 5, 1,000 people, all rows known but one home: costs that evolve over {replays:,} replays name it for "
        f"{right['evolved']:.0%} of {victims}, 40 draws of the attacker's for {right['sampled']:.0%}, the window's "
        f"own for {right['known']:.0%}; any value that the class allows is right for {right['chance']:.0%}"
    )


def _evolving(victims: int, replays: int) -> tuple[float, float, dict[str, float]]:
    """Return the share of people whose class draws explain, at first and evolved, and who is right how often."""
    forests, people = Forests(town_policy(), townspeople(1000, 77)), townspeople(1000, 1)
    draws = np.random.default_rng(7)
    own = [forests.costs.draw(draws) for _ in range(victims)]
    right: dict[str, list[float]] = {"chance": [], "known": [], "sampled": [], "evolved": []}
    first, last = [], []
    for case, model in cases(forests, people, "home", draws, own):
        right["chance"].append(case.chance)
        right["known"].append(case.guessed([model]))
        right["sampled"].append(case.guessed([forests.costs.draw(draws) for _ in range(40)]))
        first.append(_explained(case, evolved(case, FIRST, draws)))
        found = evolved(case, replays, draws)
        last.append(_explained(case, found))
        right["evolved"].append(case.guessed(found))
    means = {name: float(np.mean(figures)) for name, figures in right.items()}
    return float(np.mean(first)), float(np.mean(last)), means


def _explained(case: Case, models: Sequence[CostModel]) -> float:
    """Return the share of all people whose class replays find, if the victim has the value that is true."""
    replayed = [case.replayed(int(case.codes[case.attribute, case.row]), model) for model in models]
    return float(np.mean([[a == b for a, b in zip(one.of_row, case.seen.of_row, strict=True)] for one in replayed]))
