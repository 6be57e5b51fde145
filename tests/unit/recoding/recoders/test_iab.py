from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.errors import SettingsError
from stream_anon.microdata.bounds import Shield
from stream_anon.recoding.recoders import protocol
from stream_anon.recoding.recoders.best_first import best_first
from stream_anon.recoding.recoders.iab import Cut, Iab
from stream_anon.recoding.recoders.protocol import Asked
from tests.support.effort import examples
from tests.support.lattices import Table, tables
from tests.support.recodings import EIGHT, RACE, ZIP, cells, table_of


@dataclass
class Stub:
    """A table of which only T(n, m) and its children are known."""

    name: str
    violating: int
    rows: int
    children: list[Stub] = field(default_factory=list)


def _tree() -> Stub:
    """Return the tree of the paper: T(6,22) -> T1(2,21), T2(4,21), T3(0,18); T1 -> T4(2,21), T5(0,21), T6(0,17)."""
    first = Stub("T1", 2, 21, [Stub("T4", 2, 21), Stub("T5", 0, 21), Stub("T6", 0, 17)])
    return Stub("T", 6, 22, [first, Stub("T2", 4, 21), Stub("T3", 0, 18)])


def test_the_search_of_the_paper_expands_two_tables_and_answers_the_fifth() -> None:
    expanded: list[str] = []

    def children(table: Stub) -> list[tuple[str, Stub]]:
        expanded.append(table.name)
        return [(child.name, child) for child in table.children]

    found = best_first(_tree(), children, 100)
    assert expanded == ["T", "T1"]
    assert found.best is not None
    assert (found.best.name, found.optimal) == ("T5", True)
    assert [str(step) for step in found.steps] == [
        "expanded T(6, 22): by T1 T1(2, 21), by T2 T2(4, 21), by T3 T3(0, 18)",
        "expanded T1(2, 21): by T4 T4(2, 21), by T5 T5(0, 21), by T6 T6(0, 17)",
    ]


@pytest.mark.parametrize(("most", "best", "optimal"), [(0, None, False), (1, "T3", False), (2, "T5", True)])
def test_a_bounded_search_returns_the_best_so_far_and_says_that_it_is_not_proved(
    most: int, best: str | None, optimal: bool
) -> None:
    found = best_first(_tree(), lambda table: [("", child) for child in table.children], most)
    assert (found.best and found.best.name) == best
    assert found.optimal is optimal


def test_values_that_violate_become_their_parents_with_their_siblings_wherever_they_occur() -> None:
    table = table_of((RACE, ZIP), [*EIGHT[:2], *[EIGHT[2]] * 2, *[EIGHT[4]] * 2])
    found = Iab().recode(table, Asked(2))
    # The two unique codes become 0213*, also where White has 02138; 02141 stays.
    black, white = ("Black", "0213*"), ("White", "0213*")
    assert cells(table, found) == [black, black, EIGHT[2], EIGHT[2], white, white]
    assert found.steps[-1].figures == {"distinct rows": 3, "proved optimal": "yes", "suppressed": 0}


def test_a_requirement_on_one_attribute_holds_beside_that_on_all() -> None:
    rows = [*[EIGHT[0]] * 3, *[EIGHT[1]] * 3, *[EIGHT[6]] * 2]
    table = table_of((RACE, ZIP), rows)
    assert cells(table, Iab().recode(table, Asked(2))) == rows
    found = Iab((Shield(("zip",), 3),)).recode(table, Asked(2))
    assert not found.suppressed.any()
    assert {row[1] for row in cells(table, found) if row} == {"*"}


def test_a_requirement_on_an_undeclared_attribute_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"method\.requirements"):
        Iab((Shield(("shoe-size",), 3),)).recode(table_of((RACE, ZIP), EIGHT), Asked(2))


@examples(100)
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 3, 200]))
def test_each_requirement_holds_among_the_rows_that_are_published(
    drawn: Table,
    k: int,
    least: int,
    own: int,
    most: int,
) -> None:
    table = protocol.Table(drawn.attributes, drawn.rows)
    found = Iab((Shield(table.names[:1], own + 1),), most).recode(table, Asked(k, least))
    for places, wanted in ((range(len(table.names)), k), (range(1), own + 1)):
        groups: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
        for row in np.flatnonzero(~found.suppressed).tolist():
            key = tuple(int(bound[place, row]) for place in places for bound in (found.low, found.high))
            groups[key].add(int(table.rows.individuals[row]))
        assert all(len(members) >= wanted for members in groups.values())


@examples(100)
@given(tables(10), st.integers(1, 4))
def test_a_proved_optimum_has_the_most_rows_of_all_tables_that_can_be_reached(drawn: Table, k: int) -> None:
    table = protocol.Table(drawn.attributes, drawn.rows)
    required = [(list(range(len(table.names))), k), ([0], k + 1)]
    start = Cut(table, required, tuple(np.zeros(len(own.codes), np.int64) for own in table.levels))
    seen: set[bytes] = set()
    reached, waiting = [start], [start]
    while waiting and len(reached) < 400:
        new = [child for _, child in waiting.pop().children(seen)]
        reached += new
        waiting += new
    if waiting:
        return  # more tables than a test has time for
    found = Iab((Shield(table.names[:1], k + 1),)).recode(table, Asked(k))
    satisfying = [own.rows for own in reached if own.violating == 0]
    figures = found.steps[-1].figures
    assert figures["proved optimal"] == ("yes" if satisfying else "no")
    if satisfying:
        assert figures["distinct rows"] == max(satisfying)
        assert figures["suppressed"] == 0
