"""The reader of `benchmarks/returns.py`, on two groups of people who are alike within each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.following import Reader
from benchmarks.returns import World
from tests.attacks.town import ILLNESSES, Service, town_policy

HILL = {"age": 20, "home": "h1", "sex": "female"}
PORT = {"age": 80, "home": "p2", "sex": "male"}
FIRST, SECOND = ILLNESSES[:2]


def _group(name: str, where: dict[str, Any], illness: str) -> list[dict[str, Any]]:
    return [{"person": f"{name}{i}", **where, "illness": illness} for i in range(5)]


def _read(*windows: Sequence[dict[str, Any]]) -> tuple[Reader, list[str]]:
    people = list({record["person"]: None for window in windows for record in window})
    policy = town_policy(k=5)
    reader, service = Reader(policy, people, ILLNESSES), Service(policy)
    for window in windows:
        release = service.release(window)
        assert release.released == len(window)
        reader.read(release, {record["person"]: (row, record) for row, record in enumerate(window)})
    return reader, people


A, B = _group("a", HILL, FIRST), _group("b", PORT, SECOND)


def test_who_stays_is_found_each_time_and_never_missed() -> None:
    reader, people = _read([*A, *B], [*A, *B], [*B, *A])
    assert reader.links.tolist() == reader.linked.tolist() == reader.by_value.tolist() == [2] * 10
    assert reader.absences.sum() == reader.wrong.sum() == reader.wrong_by_value.sum() == 0
    assert reader.shares(people) | {"largest": 0} == {
        "largest": 0,
        "followed": 1.0,
        "by_value": 1.0,
        "always": 1.0,
        "absent": 0.0,
        "absent_by_value": 0.0,
        "wrong": 0.0,
    }


def test_who_moved_is_looked_for_where_they_were() -> None:
    moved = [{**A[0], **PORT}, *_group("c", HILL, FIRST)]
    reader, people = _read([*A, *B], [*moved, *B])
    assert reader.links.tolist()[:10] == [1, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert reader.linked.tolist()[:10] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert reader.shares(people[:1])["followed"] == 0.0
    assert reader.shares(people[1:5])["followed"] == 0.0, "they never came again"


def test_values_find_whom_tuples_do_not() -> None:
    """The class before covers the town, and the largest one after it shows other values."""
    spread = [{**person, **(HILL, PORT)[place % 2]} for place, person in enumerate(A)]
    reader, _ = _read(spread, [*A, *_group("c", PORT, SECOND), *_group("d", PORT, SECOND)])
    assert reader.links.tolist()[:5] == [1] * 5
    assert reader.linked.sum() == 0
    assert reader.by_value.tolist()[:5] == [1] * 5


def test_who_fits_no_class_is_known_to_be_absent() -> None:
    reader, people = _read([*A, *B], A)
    assert reader.absences.tolist() == reader.excluded.tolist() == reader.excluded_by_value.tolist()
    assert reader.absences.tolist() == [0] * 5 + [1] * 5
    assert reader.shares(people)["absent"] == 1.0


def test_whose_values_no_class_that_fits_shows_is_known_to_be_absent() -> None:
    reader, _ = _read([*A, *B], [*A, *_group("c", PORT, FIRST)])
    assert reader.absences.tolist()[5:10] == reader.excluded_by_value.tolist()[5:10] == [1] * 5
    assert reader.excluded.sum() == 0


def test_who_moved_may_be_taken_for_absent() -> None:
    reader, people = _read([*A, *B], [{**person, **PORT} for person in A])
    assert reader.wrong.tolist()[:5] == [1] * 5
    assert reader.shares(people[:5])["wrong"] == 1.0


def test_people_move_with_their_chance_and_keep_their_value() -> None:
    windows = [[{"person_id": str(i), "home": f"home {i}", "age": 30, "illness": "flu"} for i in range(500)]] * 25
    world = World((), "illness", windows, ("home",)).moving(0.02)
    moved = sum(
        now["home"] != before["home"]
        for early, late in pairwise(world.windows)
        for before, now in zip(early, late, strict=True)
    )
    assert 0.017 < moved / (24 * 500) < 0.023
    assert {record["illness"] for window in world.windows for record in window} == {"flu"}
    ages = [{record["age"] for record in window} for window in (world.windows[0], world.windows[24])]
    assert ages == [{30}, {32}]
    assert [len({record["age"] for record in window}) for window in world.windows[1:12]] == [2] * 11
