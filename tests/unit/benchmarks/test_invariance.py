"""The benchmark of series: its tables turn over as it says, and its error is that of what was released."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.invariance import error_of, tables_of
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier

LETTERS = ["a", "b", "c", "d"]
ATTRIBUTES = tuple(QuasiIdentifier(name, CategoricalDomain(Hierarchy.flat(LETTERS))) for name in ("x", "y", "own"))
TABLE = [{"x": LETTERS[i % 4], "y": LETTERS[i // 4 % 4], "own": LETTERS[i // 16 % 4]} for i in range(640)]


def test_a_tenth_leaves_a_tenth_comes_and_nobody_returns() -> None:
    people = [{"person_id": str(number)} for number in range(140)]
    tables = [[row["person_id"] for row in table] for table in tables_of(people, 100, 5, 0.1)]
    assert [len(set(table)) for table in tables] == [100] * 5
    for before, after in pairwise(tables):
        assert len(set(before) - set(after)) == 10
    gone = {person for table in tables[:2] for person in table} - set(tables[1])
    assert gone
    assert not gone & set(tables[4])


def test_too_few_people_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        list(tables_of([{}] * 100, 100, 2, 0.1))


def test_counts_of_what_is_released_as_it_is_have_no_error() -> None:
    assert error_of(ATTRIBUTES, TABLE, TABLE) == 0


def test_hidden_values_are_an_error() -> None:
    skewed = [{**row, "x": "a"} for row in TABLE]
    assert error_of(ATTRIBUTES, skewed, [{**row, "x": "*"} for row in skewed]) > 0.1
