from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Table
from stream_anon.recoding.recoders.tds import Tds
from tests.support import lattices
from tests.support.effort import examples


def _children(table: Table, attribute: int, rows: np.ndarray) -> np.ndarray:
    """Return the child of each row that lies under one node; all alike where the node has none."""
    own, places = table.levels[attribute], table.places[attribute, rows]
    for level in range(own.height, -1, -1):
        numbers = own.nodes[level, places]
        if len(np.unique(numbers)) > 1:
            return numbers
    return np.zeros(len(rows), np.int64)


def _nodes(table: Table, found: Recoding, attribute: int) -> list[np.ndarray]:
    """Return the rows under each node of an attribute's cut."""
    bounds = np.stack([found.low[attribute], found.high[attribute]])
    _, place = np.unique(bounds, axis=1, return_inverse=True)
    return [np.flatnonzero(place.ravel() == number) for number in range(int(place.max()) + 1)]


@examples(200)
@given(lattices.tables(), st.integers(1, 4), st.integers(1, 2), st.integers(0, 99))
def test_no_node_of_the_cuts_could_be_specialized_further(
    drawn: lattices.Table, k: int, least: int, seed: int
) -> None:
    labels = np.random.default_rng(seed).integers(0, 3, len(drawn.rows))
    table, asked = Table(drawn.attributes, drawn.rows, labels), RecodingGoal(k, least)
    found = Tds("class").recode(table, asked)
    groups, _ = table.grouped(found.low, found.high)
    if found.suppressed.any():
        assert found.suppressed.all()  # the whole table is too small a group
        return
    for attribute in range(len(table.attributes)):
        for rows in _nodes(table, found, attribute):
            children = _children(table, attribute, rows)
            if len(np.unique(children)) == 1 or len(np.unique(labels[rows])) == 1:
                continue
            split = groups.copy() * (len(table) + 1)
            split[rows] += 1 + np.unique(children, return_inverse=True)[1]
            _, dense = np.unique(split, return_inverse=True)
            assert asked.short(table, dense.astype(np.int64), int(dense.max()) + 1).any()


@examples(200)
@given(lattices.tables(), st.integers(1, 4), st.integers(0, 99))
def test_nodes_of_one_attribute_never_overlap(drawn: lattices.Table, k: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 3, len(drawn.rows))
    table = Table(drawn.attributes, drawn.rows, labels)
    found = Tds("class").recode(table, RecodingGoal(k))
    for own, codes, low, high in zip(table.attributes, table.rows.codes, found.low, found.high, strict=True):
        known = codes != own.unknown_code  # what is unknown is published as the root
        bounds = sorted(set(zip(low[known].tolist(), high[known].tolist(), strict=True)))
        assert all(one[1] < other[0] for one, other in pairwise(bounds))
