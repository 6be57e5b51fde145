"""What classes give away of sensitive values: worked examples, a plain recount, and the figures of pycanon."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycanon import anonymity

from stream_anon.measures.disclosure import SensitiveColumn, disclosure, together
from stream_anon.microdata.diversity import Disclosure, Surest
from tests.support.recodings import TWELVE


def _found(classes: Sequence[Hashable], values: Sequence[object]) -> Disclosure:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(classes))}
    return disclosure(np.array([numbers[name] for name in classes], np.int64), SensitiveColumn.of(values))


def _counted(classes: Sequence[Hashable], values: Sequence[object]) -> Disclosure:
    """Count the same from the definitions, a class at a time."""
    held = [frozenset(v or [None]) if isinstance(v, list | tuple) else frozenset([v]) for v in values]
    by_class = defaultdict(list)
    for name, own in zip(classes, held, strict=True):
        by_class[name].append(own)

    def bits(sets: list[frozenset[object]]) -> float:
        return sum(-c / len(sets) * log2(c / len(sets)) for c in Counter(sets).values())

    def most(sets: list[frozenset[object]]) -> Fraction:
        counts = Counter(item for own in sets for item in own)
        return Fraction(max(counts.values()), len(sets))

    n = len(held)
    told = bits(held) - sum(len(own) / n * bits(own) for own in by_class.values())
    share, records = max((most(own), len(own)) for own in by_class.values())
    alike = sum(len(own) for own in by_class.values() if most(own) == 1)
    return Disclosure(n, bits(held), told, float(most(held)), Surest(records, float(share)), alike)


def test_a_class_of_one_illness_gives_it_away_and_even_ones_hide_it() -> None:
    homogeneous = _found("aaabbb", ["cancer"] * 3 + ["flu"] * 3)
    assert homogeneous == Disclosure(6, 1.0, 1.0, 0.5, Surest(3, 1.0), 6)
    assert homogeneous.share == 1
    even = _found("aabb", ["cancer", "flu"] * 2)
    assert even == Disclosure(4, 1.0, 0.0, 0.5, Surest(2, 0.5), 0)


def test_twelve_rows_of_three_classes_are_as_worked_out_by_hand() -> None:
    """HHVV, CHVV, CCCC: of 1.555 bits a class leaves 1, 1.5 and none."""
    pairs = [(name, value) for name, values in TWELVE.items() for value in values]
    found = _found(*zip(*pairs, strict=True))
    prior = -(3 / 12 * log2(3 / 12) + 4 / 12 * log2(4 / 12) + 5 / 12 * log2(5 / 12))
    assert found.prior == pytest.approx(prior)
    assert found.told == pytest.approx(prior - (1 + 1.5 + 0) / 3)
    assert (found.guess, found.worst, found.alike) == (pytest.approx(5 / 12), Surest(4, 1.0), 4)


def test_one_value_for_all_tells_nothing_more_and_is_known_of_everybody() -> None:
    found = _found("aab", ["flu"] * 3)
    assert found == Disclosure(3, 0.0, 0.0, 1.0, Surest(2, 1.0), 3)
    assert found.share == 0


def test_an_item_that_all_lists_of_a_class_hold_is_known_of_everybody_in_it() -> None:
    found = _found("aabb", [["cancer"], ["flu", "cancer"], ["flu"], []])
    assert (found.worst, found.alike, found.prior) == (Surest(2, 1.0), 2, 2.0)


def test_nothing_released_gives_nothing_away() -> None:
    assert _found([], []) == Disclosure(0, 0.0, 0.0, 0.0, None, 0)
    assert together([]) is None


_CELLS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["x", "y", "z", None]) | st.lists(st.sampled_from("xyz"), max_size=3),
    ),
    min_size=1,
    max_size=40,
)


@given(_CELLS)
def test_every_figure_is_the_one_that_its_definition_gives(cells: list[tuple[int, object]]) -> None:
    classes, values = zip(*cells, strict=True)
    found, expected = _found(classes, values), _counted(classes, values)
    assert found.prior == pytest.approx(expected.prior, abs=1e-9)
    assert found.told == pytest.approx(expected.told, abs=1e-9)
    assert found.guess == pytest.approx(expected.guess)
    assert (found.records, found.worst, found.alike) == (expected.records, expected.worst, expected.alike)
    assert 0 <= found.told <= found.prior + 1e-9
    assert found.worst is not None
    assert found.worst.share >= found.guess - 1e-9, "no class can be less sure than all of them"


@given(st.lists(_CELLS, min_size=1, max_size=4))
def test_windows_together_are_the_means_over_their_records(windows: list[list[tuple[int, object]]]) -> None:
    parts = [_found(*zip(*cells, strict=True)) for cells in windows]
    found = together(parts)
    assert found is not None
    total = sum(map(len, windows))
    assert found.records == total
    for name in ("prior", "told", "guess"):
        assert getattr(found, name) == pytest.approx(sum(getattr(p, name) * p.records for p in parts) / total)
    assert found.alike == sum(part.alike for part in parts)
    assert found.worst == max((p.worst for p in parts if p.worst), key=lambda own: (own.share, own.records))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=1, max_size=30))
def test_the_surest_share_is_the_alpha_of_pycanon(cells: list[tuple[int, str]]) -> None:
    rows = [(number // 2, number % 2, value) for number, value in cells]
    frame = pd.DataFrame(rows, columns=["age", "city", "value"])
    alpha, _ = anonymity.alpha_k_anonymity(frame, ["age", "city"], ["value"])
    worst = _found(*zip(*cells, strict=True)).worst
    assert worst is not None
    assert worst.share == pytest.approx(alpha)
