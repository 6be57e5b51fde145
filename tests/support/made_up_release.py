"""Made-up releases for attacks: classes of two attributes, a drug that passes and an illness that is wanted.

A person is ((code, code), drug, illness); a class ((bounds, bounds), a set in place of the first bounds or None,
[(drug, illness), ...]).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.measures.boxes import Boxes

CODES, VALUES = 6, 3
codes = st.tuples(st.integers(0, CODES - 1), st.integers(0, CODES - 1))
person = st.tuples(codes, st.integers(0, VALUES - 1), st.integers(0, VALUES - 1))
bounds = st.tuples(codes, codes).map(lambda ends: tuple((min(pair), max(pair)) for pair in zip(*ends, strict=True)))
sets = st.sets(st.integers(0, CODES - 1), min_size=1)
box = st.tuples(
    bounds, st.one_of(st.none(), sets), st.lists(st.tuples(*[st.integers(0, VALUES - 1)] * 2), min_size=1)
)


def known(people: list[Any], each: int = 1) -> Known:
    columns = np.array([own for own, _, _ in people], np.int32).reshape(-1, 2).T
    passed = {name: np.array([one[place] for one in people], np.int64) for place, name in ((1, "drug"), (2, "ill"))}
    return Known(columns, passed, np.arange(len(people)) // each)


def held(classes: list[Any]) -> HeldRelease:
    """Return a release; the first attribute of a class may be a set."""
    low = np.array([[one[0][place][0] for one in classes] for place in (0, 1)], np.int32)
    high = np.array([[one[0][place][1] for one in classes] for place in (0, 1)], np.int32)
    members: list[tuple[int, ...]] = []
    for number, (_, chosen, _) in enumerate(classes):
        members.append(() if chosen is None else tuple(sorted(chosen)))
        if chosen is not None:
            low[0, number], high[0, number] = min(chosen), max(chosen)
    rows = [(number, *record) for number, one in enumerate(classes) for record in one[2]]
    sizes = np.array([len(one[2]) for one in classes], np.int64)
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return HeldRelease(Boxes(low, high, sizes, {0: members}), columns[0], {"drug": columns[1], "ill": columns[2]})


def contradicted(own: tuple[int, int], one: Any, places: tuple[int, ...] = (0, 1)) -> int:
    """Return how many attributes of a person a class contradicts."""
    (first, second), chosen, _ = one
    fits = (
        first[0] <= own[0] <= first[1] if chosen is None else own[0] in chosen,
        second[0] <= own[1] <= second[1],
    )
    return sum(not fits[place] for place in places)


def nearest(own: tuple[int, int], classes: list[Any], places: tuple[int, ...] = (0, 1)) -> tuple[int, list[int]]:
    wrong = [contradicted(own, one, places) for one in classes]
    return min(wrong), [number for number, count in enumerate(wrong) if count == min(wrong)]


def scene_of(classes: list[Any], inside: Known, outside: Known) -> AttackScene:
    return AttackScene(held(classes), inside, outside, ("ill",), ("drug",))


def class_of(ages: tuple[int, int], places: tuple[int, int], *records: tuple[int, int]) -> Any:
    return ((ages, places), None, list(records))


releases = st.lists(box, min_size=1, max_size=5)
crowds = st.lists(person, min_size=1, max_size=8)
