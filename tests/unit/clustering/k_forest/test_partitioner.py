from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.clustering.k_forest.checks import class_cost
from stream_anon.clustering.k_forest.joining import join_cheapest
from stream_anon.clustering.k_forest.partitioner import KForest
from stream_anon.clustering.rules import rules_of
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, level_model
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria
from tests.support.adult import adult_batch, adult_policy
from tests.support.tables import Table, classes_of, is_legal, tables
from tests.unit.clustering.k_forest.graphs import rows_of

_ALONE = np.empty(0, np.int64)


def _classes(codes: NDArray[np.int32], model: CostModel, k: int, pieces: int = 1) -> NDArray[np.int32]:
    partitioner, rows = KForest(model, k), rows_of(codes)
    for part in np.array_split(np.arange(len(codes)), pieces):
        partitioner.add(rows.take(part))
    partitioner.check_invariants()
    return partitioner.close(rows, Criteria(k, 1.0, _ALONE))


def test_another_k_than_the_forest_grew_for_is_refused() -> None:
    forest = KForest(level_model([]), 3)
    with pytest.raises(ValueError, match="grew for"):
        forest.close(rows_of(np.empty((0, 0), np.int32)), Criteria(2, 0.5, _ALONE))
    with pytest.raises(ValueError, match="added and kept"):
        forest.close(rows_of(np.empty((1, 0), np.int32)), Criteria(3, 0.5, _ALONE))


def test_the_surplus_of_one_person_is_left_out_and_the_class_still_has_k_rows() -> None:
    rows = rows_of(np.zeros((4, 1), np.int32), [0, 0, 0, 1])
    forest = KForest(level_model([QuasiIdentifier("a", CategoricalDomain(Hierarchy.flat(["n", "y"])))]), 2)
    forest.add(rows)
    assert forest.close(rows, Criteria(2, 0.5, _ALONE)).tolist() == [0, -1, -1, 0]


def _joined(table: Table, groups: list[list[int]]) -> list[list[int]]:
    """Joining in a few lines: an illegal class takes in what makes the loss grow least, until it is legal."""
    codes = table.rows.codes.T

    def loss(group: Sequence[int]) -> float:
        return len(group) * class_cost(codes[group], table.model)

    numbers = dict(enumerate(groups))
    for number in range(len(groups)):
        while number in numbers and len(numbers) > 1:
            own = numbers[number]
            if is_legal(table.rows, own, table.criteria):
                break
            mate = min(
                (other for other in numbers if other != number),
                key=lambda other: (loss(own + numbers[other]) - loss(numbers[other]), other),
            )
            numbers[number] = own + numbers.pop(mate)
    return [sorted(group) for group in numbers.values()]


@given(table=tables(), data=st.data())
def test_an_illegal_class_joins_the_cheapest_one(table: Table, data: st.DataObject) -> None:
    n = len(table.rows)
    if not n or not is_legal(table.rows, range(n), table.criteria):
        return
    drawn = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    classes = np.unique(drawn, return_inverse=True)[1].astype(np.int64)
    groups = [np.flatnonzero(classes == c).tolist() for c in range(classes.max() + 1)]
    codes = np.ascontiguousarray(table.rows.codes.T)
    join_cheapest(codes, classes, table.model, rules_of(table.rows, table.criteria))
    answer = classes_of(classes.tolist())
    expected = {frozenset(group) for group in _joined(table, groups)}
    assert answer == expected
    assert all(is_legal(table.rows, sorted(group), table.criteria) for group in answer)


def test_the_census_loses_no_more_than_it_did() -> None:
    """Windows of 1,000 at k = 10; a prototype of the published algorithm had a GCP of 0.415."""
    policy = adult_policy()
    model = cost_model(policy.quasi_identifiers)
    codes = np.ascontiguousarray(adult_batch(policy).codes.T)
    codes = codes[np.random.default_rng(0).permutation(len(codes))]
    losses = []
    for first in range(0, 5_000, 1_000):
        window = codes[first : first + 1_000]
        answer = _classes(window, model, 10, 4)
        groups = [window[answer == number] for number in range(answer.max() + 1)]
        losses.append(sum(len(group) * class_cost(group, model) for group in groups) / window.size)
    assert np.mean(losses) <= 0.38
