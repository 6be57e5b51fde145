"""Reconstruction: the same people are released several times, and an attacker reckons with all of it at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.keyed_draws import DrawsKey, KeyedWindows
from stream_anon.engine.partitioners import partitioners_by_draws
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.microdata.coding import BatchBuilder
from tests.attacks.conftest import Measured
from tests.attacks.town import ILLNESSES, Person, share, town_policy, townspeople
from tests.support.driver import CITIES, Driver
from tests.support.object_coder import ObjectCoder

PEOPLE, RELEASES, TURNS = 1000, 10, 60
POLICY = town_policy(distinct_l=3)
KEY = DrawsKey(bytes(range(32)))


def classes_of_people(people: Sequence[Person], key: DrawsKey, order: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the class of each person in a release of all of them, who came in this order; int32[n]."""
    coder, builder = ObjectCoder(POLICY), BatchBuilder(POLICY, 0)
    for place, person in enumerate(order.tolist()):
        builder.add(coder.code_object(people[person]), place)
    engine = Engine(POLICY, draws=np.random.default_rng(0), partitioner=WholeTable)
    engine.open(0, 0)
    (window,) = engine.add(builder.build(None), 0.0)
    make = partitioners_by_draws(POLICY, key.draws(b"order"))
    turned, draws, _ = KeyedWindows(key, make).turned(window)
    release = Closer(POLICY).release(turned, draws)
    answer = np.empty(len(people), np.int32)
    answer[order[turned.offsets]] = release.class_of_row
    return answer


def reconstructed(releases: Sequence[NDArray[np.int32]], illness: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return how likely each person has each illness, float64[n, v], by iterative proportional fitting.

    Each class of each release says how many of its people have each illness; each person has one.
    """
    likely = np.full((len(illness), len(ILLNESSES)), 1 / len(ILLNESSES))
    for _ in range(TURNS):
        for classes in releases:
            size = int(classes.max()) + 1
            seen, expected = np.zeros((2, size, len(ILLNESSES)))
            np.add.at(seen, (classes, illness), 1)
            np.add.at(expected, classes, likely)
            likely *= np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)[classes]
            likely /= likely.sum(axis=1, keepdims=True)
    return likely


def likeliest(
    releases: Sequence[NDArray[np.int32]], illness: NDArray[np.intp]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many are named rightly by one release and by all, and of how many the attacker is certain then."""
    right, sure = [], []
    for known in (releases[:1], releases):
        likely = reconstructed(known, illness)
        right.append(int((likely.argmax(axis=1) == illness).sum()))
        sure.append(int((likely.max(axis=1) > 0.99).sum()))
        assert not ((likely.max(axis=1) > 0.99) & (likely.argmax(axis=1) != illness)).any()
    return (right[0], right[1]), (sure[0], sure[1])


@pytest.mark.parametrize("keyed", [False, True], ids=["drawn anew", "keyed"])
def test_by_a_key_further_releases_of_the_same_people_tell_nothing_new(keyed: bool, measured: Measured) -> None:
    people = townspeople(PEOPLE, seed=5)
    illness = np.array([ILLNESSES.index(person["illness"]) for person in people])
    mixed = np.random.default_rng(9)
    keys = [KEY if keyed else DrawsKey(bytes([number]) * 32) for number in range(RELEASES)]
    releases = [classes_of_people(people, key, mixed.permutation(PEOPLE)) for key in keys]
    right, sure = likeliest(releases, illness)
    if keyed:
        assert right[0] == right[1]
        assert sure == (0, 0)
    else:
        assert right[1] > right[0] + 30
        assert sure[1] > 10
    measured(
        f"k = 5, distinct_l = 3, {RELEASES} releases of the same {PEOPLE:,} people, {'by one key' * keyed}"
        f"{'drawn anew' * (not keyed)}: the likeliest illness is right for {share(right[1], PEOPLE)} instead of "
        f"{share(right[0], PEOPLE)} after one, certain for {share(sure[1], PEOPLE)}"
    )


async def published_by_a_service(people: Sequence[Person], key: Path, order: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the class of each person in the one window of a service that read them from two partitions; int32[n].

    What passes unchanged tells here who is who: it is the most that an attacker can know.
    """
    values = [
        json.dumps({**people[person], "city": CITIES[person % 4], "serial": person}).encode()
        for person in order.tolist()
    ]
    part = int(order[0])  # what is in which partition is another matter each time
    async with Driver(
        privacy={"k": 5, "sensitive": {"illness": {"distinct_l": 3}}},
        window={"max_records": len(people)},
        engine={"draws_key_file": str(key)},
        attributes={
            "sex": {"role": "quasi-identifier", "values": ["female", "male", "diverse"]},
            "illness": {"role": "sensitive"},
        },
    ) as driver:
        driver.send(values[:part], 0)
        driver.send(values[part:], 1)
        await driver.settle()
    numbers: dict[str, int] = {}
    answer = np.full(len(people), -1, np.int32)
    for record in driver.broker.records:
        told = json.dumps([record["age"], record["city"], record["sex"]])
        answer[record["serial"]] = numbers.setdefault(told, len(numbers))
    assert (answer >= 0).all(), "everybody was released, in one window"
    return answer


@pytest.mark.parametrize("keyed", [False, True], ids=["other keys", "one key"])
async def test_services_with_one_key_over_the_same_topic_tell_what_one_of_them_tells(
    keyed: bool, tmp_path: Path, measured: Measured
) -> None:
    people = townspeople(PEOPLE, seed=5)
    illness = np.array([ILLNESSES.index(person["illness"]) for person in people])
    mixed, key, releases = np.random.default_rng(9), tmp_path / "key", []
    for number in range(RELEASES):
        key.write_text("k" * 32 if keyed else f"key number {number:020d}")
        releases.append(await published_by_a_service(people, key, mixed.permutation(PEOPLE)))
    right, sure = likeliest(releases, illness)
    if keyed:
        assert right[0] == right[1]
        assert sure == (0, 0)
    else:
        assert right[1] > right[0] + 30
    measured(
        f"k = 5, distinct_l = 3, {RELEASES} services over the same {PEOPLE:,} people, by {'one key' * keyed}"
        f"{'other draws each' * (not keyed)}: the likeliest illness is right for {share(right[1], PEOPLE)} instead "
        f"of {share(right[0], PEOPLE)} after one, certain for {share(sure[1], PEOPLE)}"
    )


@pytest.mark.parametrize("key", [KEY, DrawsKey(b"not the service's")], ids=["the same key", "another key"])
def test_whoever_can_have_windows_released_by_the_key_tries_guesses(key: DrawsKey, measured: Measured) -> None:
    """Not promised: the attacker knows a window but for one illness, and has it released again with each guess."""
    people, order = townspeople(PEOPLE, seed=5), np.arange(PEOPLE)
    release = classes_of_people(people, KEY, order)
    guesses = [[{**people[0], "person": "somebody", "illness": illness}, *people[1:]] for illness in ILLNESSES]
    found = [
        illness
        for illness, guess in zip(ILLNESSES, guesses, strict=True)
        if (classes_of_people(guess, key, order) == release).all()
    ]
    assert found == ([people[0]["illness"]] if key is KEY else [])
    measured(
        f"k = 5, distinct_l = 3, all known but one illness: of {len(ILLNESSES)} guesses that are released by "
        f"{'the same' if key is KEY else 'another'} key {len(found)} give the same classes"
    )
