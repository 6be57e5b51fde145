"""Negotiation: the worked example, and the same answers as an exhaustive search."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.negotiation import Answer, Relaxations, Request, Scheme, Weaker, negotiate
from tests.support.lattices import Table, counted, tables, too_small
from tests.unit.recoding.lattice.test_lattice import adult_table


@lru_cache
def _adult() -> Lattice:
    return adult_table("age", "workclass", "education").lattice


def _scheme(levels: str, suppressed: int) -> Scheme:
    return Scheme(tuple(map(int, levels)), suppressed)


@pytest.mark.parametrize(
    ("levels", "k", "most", "exact"),
    [("121", 3, 40, _scheme("120", 37)), ("121", 3, 8, _scheme("121", 6))],
)
def test_a_request_that_can_be_met_gets_the_lowest_node(levels: str, k: int, most: int, exact: Scheme) -> None:
    answer = negotiate(_adult(), Request(k, tuple(map(int, levels)), most))
    assert (answer.exact, answer.relaxations) == (exact, None)


@pytest.mark.parametrize(
    ("levels", "k", "most", "relaxations"),
    [
        ("121", 3, 5, Relaxations(_scheme("121", 6), _scheme("023", 1), Weaker(2, 1, 2))),
        ("311", 3, 10, Relaxations(_scheme("311", 16), _scheme("121", 6), Weaker(2, 1, 6))),
        ("112", 3, 20, Relaxations(_scheme("112", 34), _scheme("121", 6), Weaker(2, 1, 10))),
        ("121", 50, 40, Relaxations(_scheme("121", 505), _scheme("411", 37), Weaker(10, 1, 32))),
    ],
)
def test_a_request_that_cannot_be_met_gets_three_relaxations(
    levels: str, k: int, most: int, relaxations: Relaxations
) -> None:
    answer = negotiate(_adult(), Request(k, tuple(map(int, levels)), most))
    assert answer.exact is None
    assert answer.relaxations == relaxations


def test_nothing_is_relaxed_into_a_k_below_2() -> None:
    answer = negotiate(_adult(), Request(3, (0, 0, 0), 0))
    assert answer.relaxations is not None
    assert answer.relaxations.privacy is None


def test_a_k_above_the_number_of_people_or_an_l_above_that_of_values_has_no_answer() -> None:
    lattice = _adult()
    with pytest.raises(SettingsError, match="k: has no answer: it is above the number of individuals, 30162"):
        negotiate(lattice, Request(30163, lattice.shape.tops, 30162))
    with pytest.raises(SettingsError, match="l: has no answer: it is above the number of sensitive values, 0"):
        negotiate(lattice, Request(2, lattice.shape.tops, 0, l=2))
    assert negotiate(lattice, Request(30162, lattice.shape.tops, 0)).exact == Scheme((4, 2, 3), 0)


@pytest.mark.parametrize(("k", "l", "most"), [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_an_impossible_request_is_refused(k: int, l: int, most: int) -> None:  # noqa: E741
    with pytest.raises(ValueError, match="at least"):
        Request(k, (0,), most, l)


@given(table=tables(), data=st.data())
def test_an_answer_is_that_of_an_exhaustive_search(table: Table, data: st.DataObject) -> None:
    lattice = table.lattice
    k = data.draw(st.integers(1, min(6, lattice.individuals)))
    l = data.draw(st.integers(1, max(1, min(3, lattice.values))))  # noqa: E741
    limits = tuple(data.draw(st.integers(0, top)) for top in lattice.shape.tops)
    request = Request(k, limits, data.draw(st.integers(0, lattice.records)), l)
    answer = negotiate(lattice, request)
    exact, relaxations = _searched(table, request)
    assert (answer.exact, answer.relaxations) == (exact, relaxations)
    assert answer.visited >= 1


def _searched(table: Table, request: Request) -> tuple[Scheme | None, Relaxations | None]:
    levels = table.levels
    groups = {
        vector: counted(table, levels, vector) for vector in product(*(range(own.height + 1) for own in levels))
    }
    found = {vector: too_small(own, request.k, request.l) for vector, own in groups.items()}

    def best(candidates: list[tuple[int, ...]]) -> Scheme | None:
        if not candidates:
            return None
        vector = min(candidates, key=lambda own: (sum(own), found[own], own))
        return Scheme(vector, found[vector])

    most, limits = request.most_suppressed, request.limits
    allowed = [own for own in groups if all(a <= b for a, b in zip(own, limits, strict=True))]
    exact = best([own for own in allowed if found[own] <= most])
    if exact is not None:
        return exact, None
    least = min(found[own] for own in allowed)
    suppression = best([own for own in allowed if found[own] == least])
    assert suppression is not None
    weaker = None
    for l in [1] if request.l == 1 else range(request.l, 1, -1):  # noqa: E741
        for k in range(request.k, min(request.k, 2) - 1, -1):
            suppressed = too_small(groups[limits], k, l)
            if weaker is None and suppressed <= most:
                weaker = Weaker(k, l, suppressed)
    return None, Relaxations(suppression, best([own for own in groups if found[own] <= most]), weaker)


def test_visited_nodes_are_few_beside_the_lattice() -> None:
    answer = negotiate(_adult(), Request(3, (1, 2, 1), 40))
    assert 1 < answer.visited < 12  # the limit has eleven nodes below it
    assert isinstance(answer, Answer)
    assert np.prod([2, 3, 2]) == 12
