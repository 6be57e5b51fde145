"""Least levels of leakage, beside all vectors of levels tried one by one."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import combinations, product
from math import log2

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.measures.coarsening import Coarsened, least_levels
from stream_anon.measures.leakage import Population
from stream_anon.microdata.attributes import PublishedForm, Unknown
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

TREE = {"x": {"xa": ["a", "b"], "c": {}}, "y": ["d", "e"]}
SETS = tuple(chosen for size in (1, 2, 3) for chosen in combinations(range(3), size))


def _attributes(**age: int) -> tuple[QuasiIdentifier, ...]:
    age_domain = NumericDomain(Decimal(0), Decimal(15), Decimal(1), 0)
    return (
        QuasiIdentifier("age", age_domain, **age),
        QuasiIdentifier("place", CategoricalDomain(Hierarchy.from_tree(TREE)), unknown=Unknown.ROOT),
        QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["f", "m"]))),
    )


def _codes(draws: np.random.Generator, rows: int, attributes: tuple[QuasiIdentifier, ...]) -> NDArray[np.int32]:
    columns = [draws.integers(0, a.size if a.unknown is Unknown.ROOT else a.size - 1, rows) for a in attributes]
    return np.stack(columns).astype(np.int32)


def _bits(rows: list[tuple[object, ...]]) -> float:
    return sum(count / len(rows) * log2(len(rows) / count) for count in Counter(rows).values())


def _raised(
    codes: NDArray[np.int32], attributes: tuple[QuasiIdentifier, ...], place: int, level: int
) -> list[object]:
    return [attributes[place].node_at(code, level) for code in codes[place].tolist()]


def _leaks(
    codes: NDArray[np.int32],
    attributes: tuple[QuasiIdentifier, ...],
    chosen: tuple[int, ...],
    levels: tuple[int, ...],
) -> float:
    columns = [_raised(codes, attributes, place, levels[place]) for place in chosen]
    return _bits(list(zip(*columns, strict=True)))


def _loses(codes: NDArray[np.int32], attributes: tuple[QuasiIdentifier, ...], levels: tuple[int, ...]) -> float:
    cells = [
        attributes[place].ncp(*node)
        for place in range(3)
        for node in _raised(codes, attributes, place, levels[place])
    ]
    return round(sum(cells) / len(cells), 12)


@pytest.mark.parametrize("seed", range(12))
def test_no_levels_that_suffice_lose_less(seed: int) -> None:
    draws = np.random.default_rng(seed)
    attributes = _attributes(min_level=seed % 2, **({"max_level": 3} if seed % 3 == 0 else {}))
    codes = _codes(draws, 24, attributes)
    start = tuple(a.min_level for a in attributes)
    tops = [a.domain.height if a.max_level is None else a.max_level for a in attributes]
    table = Coarsened(Population(codes), attributes)
    for most in (0.0, 0.8, 1.7, 2.5, 3.3, 4.2, 5.0):
        every = [
            (_loses(codes, attributes, levels), levels)
            for levels in product(*(range(low, top + 1) for low, top in zip(start, tops, strict=True)))
            if all(_leaks(codes, attributes, chosen, levels) <= most + 1e-9 for chosen in SETS)
        ]
        found = least_levels(table, start, SETS, most + 1e-9)
        if not every:
            assert found is None
            continue
        assert found is not None
        assert found.optimal
        assert (found.loss, found.levels) == min(every)


def test_leakage_on_levels_is_that_of_the_raised_table() -> None:
    attributes = _attributes()
    codes = _codes(np.random.default_rng(3), 40, attributes)
    table = Coarsened(Population(codes), attributes)
    for levels in product(range(5), range(4), range(2)):
        for chosen in SETS:
            assert table.leakage(chosen, levels) == pytest.approx(_leaks(codes, attributes, chosen, levels))
        assert table.loss(levels) == pytest.approx(_loses(codes, attributes, levels))


def test_what_is_disclosed_is_not_raised_and_counts_as_known() -> None:
    attributes = _attributes()
    codes = _codes(np.random.default_rng(5), 40, attributes)
    table = Coarsened(Population(codes), attributes, [2])
    found = least_levels(table, (0, 0, 0), [(0,), (1,), (0, 1)], 1.5)
    assert found is not None
    assert found.levels[2] == 0
    known = _bits(list(zip(codes[2].tolist())))
    both = [
        (a, b, c)
        for a, b, c in zip(*(_raised(codes, attributes, j, found.levels[j]) for j in range(3)), strict=True)
    ]
    assert _bits(both) - known <= 1.5


def test_a_search_that_is_cut_short_still_suffices_and_says_so() -> None:
    attributes = _attributes()
    codes = _codes(np.random.default_rng(7), 40, attributes)
    table = Coarsened(Population(codes), attributes)
    for bound in (1, 2, 3):
        found = least_levels(table, (0, 0, 0), SETS, 2.0, most_vectors=bound)
        assert found is not None
        assert not found.optimal
        assert all(_leaks(codes, attributes, chosen, found.levels) <= 2.0 for chosen in SETS)


def test_attributes_that_publish_sets_are_not_raised() -> None:
    (age, place, sex) = _attributes()
    sets = QuasiIdentifier("place", place.domain, publication=PublishedForm.VALUES)
    codes = _codes(np.random.default_rng(9), 30, (age, sets, sex))
    table = Coarsened(Population(codes), (age, sets, sex))
    assert table.next_level(1, 0) is None
    assert least_levels(table, (0, 0, 0), SETS, 0.0) is None
