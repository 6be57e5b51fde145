"""The lattice: what each node suppresses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.recoding.lattice.attribute_levels import levels_of
from stream_anon.recoding.lattice.group_table import TupleKeys
from stream_anon.recoding.lattice.histograms import MOST_SIZE, MOST_VALUES
from stream_anon.recoding.lattice.lattice import Lattice
from stream_anon.recoding.lattice.lattice_shape import LatticeShape
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.lattice.subset import chosen_levels
from tests.support.adult import adult_records
from tests.support.data import shared_data
from tests.support.lattices import Table, counted, histogram, tables, too_small


def _entries(lattice: Lattice, node: int) -> list[tuple[int, ...]]:
    """Return a node's histogram as (size of group, values in it, records), ascending."""
    starts, *columns = lattice.histograms.up_to(MOST_SIZE, MOST_VALUES)
    own = slice(starts[node], starts[node + 1])
    return list(zip(*(column[own].tolist() for column in columns), strict=True))


def adult_table(*names: str, sensitive: str | None = None) -> Table:
    """Return quasi-identifiers of Adult under ARX's hierarchies; every record is a person."""
    folder = shared_data("arx-adult", "hierarchies")
    records = adult_records()
    attributes = tuple(
        QuasiIdentifier(
            name, CategoricalDomain(Hierarchy.from_rows(read_table(folder / f"adult_hierarchy_{name}.csv"), name))
        )
        for name in names
    )
    codes = np.array([[a.code(record[a.name]) for record in records] for a in attributes], np.int32)
    labels = [record[sensitive] for record in records] if sensitive else []
    values = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return Table(
        attributes, Rows(codes, np.arange(len(records)), values.reshape(1 if sensitive else 0, len(records)))
    )


def test_adult_suppresses_what_the_worked_example_says() -> None:
    lattice = adult_table("age", "workclass", "education").lattice
    assert lattice.shape.tops == (4, 2, 3)
    assert lattice.shape.nodes == 60
    expected = {
        (0, 0, 0): 1751, (1, 0, 0): 425, (1, 2, 0): 37, (1, 1, 1): 38, (0, 2, 1): 39, (1, 1, 2): 34, (1, 2, 1): 6,
        (3, 1, 1): 16, (4, 0, 0): 8, (0, 2, 3): 1, (1, 2, 3): 0,
    }  # fmt: skip
    nodes = np.array([lattice.shape.number(levels) for levels in expected])
    assert lattice.suppressed(nodes, 3).tolist() == list(expected.values())


def test_race_and_zip_suppress_everything_at_the_bottom_and_nothing_elsewhere() -> None:
    race = Hierarchy.from_tree({"Person": ["Black", "White"]})
    code = Hierarchy.from_tree({"021**": {"0213*": ["02138", "02139"], "0214*": ["02141", "02142"]}})
    attributes = (
        QuasiIdentifier("race", CategoricalDomain(race)),
        QuasiIdentifier("zip", CategoricalDomain(code)),
    )
    codes = np.array(list(product(range(2), range(4))), np.int32).T
    table = Table(attributes, Rows(codes, np.arange(8), np.empty((0, 8), np.int64)))
    # Person and 021** part the values as the root does: they are levels of the hierarchy below a root of their own.
    lattice = table.lattice
    vectors = {(a, b): lattice.shape.number((a, b)) for a in range(2) for b in range(3)}
    found = {own: int(lattice.suppressed(np.array([node]), 2)[0]) for own, node in vectors.items()}
    assert found == {(0, 0): 8, (0, 1): 0, (0, 2): 0, (1, 0): 0, (1, 1): 0, (1, 2): 0}


@pytest.mark.parametrize("at_once", [0, 60, 10**6])
@given(table=tables())
def test_each_node_has_the_numbers_of_a_count_by_hand(at_once: int, table: Table) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("stream_anon.recoding.lattice.lattice._AT_ONCE", at_once)
        levels, lattice = table.levels, table.lattice
    lattice.check_invariants()
    assert lattice.records == len(table.rows)
    for vector in product(*(range(own.height + 1) for own in levels)):
        groups = counted(table, levels, vector)
        node = lattice.shape.number(vector)
        assert lattice.shape.levels(node) == vector
        assert _entries(lattice, node) == histogram(groups)
        for k, l in ((1, 1), (2, 1), (3, 1), (3, 2), (1, 3)):  # noqa: E741
            assert lattice.suppressed(np.array([node]), k, l).tolist() == [too_small(groups, k, l)]


def test_people_and_values_that_meet_in_a_group_count_once() -> None:
    tree = QuasiIdentifier("a", CategoricalDomain(Hierarchy.from_tree({"xy": ["x", "y"], "zw": ["z", "w"]})))
    rows = Rows(np.array([[0, 1, 1, 2]], np.int32), np.array([5, 5, 6, 7]), np.array([[1, 1, 2, 1]]))
    lattice = Table((tree,), rows).lattice
    assert _entries(lattice, 0) == [(1, 1, 2), (2, 2, 2)]  # x, z; y
    assert _entries(lattice, 1) == [(1, 1, 1), (2, 2, 3)]
    assert _entries(lattice, 2) == [(3, 2, 4)]


@given(st.lists(st.integers(1, 2**25), min_size=1, max_size=6), st.data())
def test_keys_hold_tuples_of_any_size_in_order(radices: list[int], data: st.DataObject) -> None:
    tuples = data.draw(
        st.lists(st.tuples(*(st.integers(0, radix - 1) for radix in radices)), min_size=1, max_size=8)
    )
    keys = TupleKeys(radices).write(np.array(tuples, np.int64).T)
    assert [tuples[place] for place in np.lexsort(keys[::-1])] == sorted(tuples)


@given(table=tables(), data=st.data())
def test_tuples_of_several_words_make_the_same_groups(table: Table, data: st.DataObject) -> None:
    narrow = table.lattice
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("stream_anon.recoding.lattice.group_table._MOST_WORD", data.draw(st.integers(1, 40)))
        wide = table.lattice
    wide.check_invariants()
    assert np.array_equal(narrow.histograms.keys, wide.histograms.keys)
    assert np.array_equal(narrow.histograms.records, wide.histograms.records)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_nodes_are_numbered_as_their_levels_ascend(heights: list[int]) -> None:
    shape = LatticeShape(heights)
    vectors = list(product(*(range(height + 1) for height in heights)))
    assert [shape.levels(node) for node in range(shape.nodes)] == vectors
    assert [shape.number(vector) for vector in vectors] == list(range(shape.nodes))
    assert sorted(node for height in range(shape.top + 1) for node in shape.at_height(height).tolist()) == list(
        range(shape.nodes)
    )
    for node, vector in enumerate(vectors):
        lower = [
            v for v in vectors if sum(v) == sum(vector) - 1 and all(a <= b for a, b in zip(v, vector, strict=True))
        ]
        assert [shape.levels(own) for own in shape.below(np.array([node])).tolist()] == lower
    with pytest.raises(ValueError, match="one level for each attribute"):
        shape.number([height + 1 for height in heights])


@given(table=tables(), data=st.data())
def test_a_chosen_subset_has_few_enough_nodes_the_wanted_levels_and_roots(
    table: Table, data: st.DataObject
) -> None:
    levels = table.levels
    wanted = [data.draw(st.integers(0, own.height)) for own in levels]
    most = data.draw(st.integers(1, 60))
    chosen = chosen_levels(levels, table.rows, wanted, most)
    count = int(np.prod([own.height + 1 for own in chosen]))
    assert count <= most
    if np.prod([own.height + 1 for own in levels]) <= most:
        assert all(kept is own for kept, own in zip(chosen, levels, strict=True))
    whole, part = Lattice(levels, table.rows), Lattice(chosen, table.rows)
    for own, kept, want in zip(levels, chosen, wanted, strict=True):
        assert own.numbers[want] in kept.numbers
    if 2 ** len(levels) <= most:
        assert all(kept.numbers[-1] == own.numbers[-1] for own, kept in zip(levels, chosen, strict=True))
    for node in range(part.shape.nodes):
        vector = part.shape.levels(node)
        same = [own.numbers.index(kept.numbers[at]) for own, kept, at in zip(levels, chosen, vector, strict=True)]
        assert _entries(part, node) == _entries(whole, whole.shape.number(same))


def test_the_level_that_groups_least_beyond_its_neighbour_goes_first() -> None:
    # Level 1 joins two of eight values only, level 2 makes halves.
    tree = Hierarchy.from_rows(
        [[f"v{i}", "v0-1" if i < 2 else f"w{i}", "low" if i < 4 else "high", "*"] for i in range(8)]
    )
    attribute = QuasiIdentifier("a", CategoricalDomain(tree))
    rows = Rows(np.arange(8, dtype=np.int32)[None], np.arange(8), np.empty((0, 8), np.int64))
    levels = levels_of(attribute, rows.codes[0])
    assert levels.numbers == (0, 1, 2, 3)
    assert chosen_levels([levels], rows, [3], 3)[0].numbers == (0, 2, 3)
