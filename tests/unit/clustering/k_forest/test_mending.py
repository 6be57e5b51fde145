from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.optimum import least_loss, loss_of_classes
from stream_anon.clustering.k_forest.mending import mend
from stream_anon.privacy.costs.model import CostModel
from tests.support.tables import Table, tables


def _mended(codes: NDArray[np.int32], classes: NDArray[np.int64], model: CostModel, k: int) -> NDArray[np.int32]:
    answer = classes.copy()
    mend(codes, answer, model, k)
    return np.unique(answer, return_inverse=True)[1].astype(np.int32)


@given(table=tables(), k=st.sampled_from([2, 3]))
def test_two_classes_that_are_mended_lose_the_optimum(table: Table, k: int) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)[:10]
    if len(codes) < 2 * k:
        return
    classes = (np.arange(len(codes)) >= len(codes) // 2).astype(np.int64)
    loss = loss_of_classes(codes, table.model, _mended(codes, classes, table.model, k))
    assert loss == pytest.approx(least_loss(codes, table.model, k), abs=1e-6)


@given(table=tables(), data=st.data())
def test_mending_makes_no_class_too_small_and_the_loss_no_greater(table: Table, data: st.DataObject) -> None:
    codes = np.ascontiguousarray(table.rows.codes.T)
    k, n = data.draw(st.sampled_from([2, 3])), len(codes)
    if n < k:
        return
    classes = np.minimum(np.arange(n) // k, n // k - 1)[data.draw(st.permutations(range(n)))].astype(np.int64)
    after = _mended(codes, classes, table.model, k)
    sizes = np.bincount(after)
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, int(np.bincount(classes).max()))
    before = loss_of_classes(codes, table.model, classes.astype(np.int32))
    assert loss_of_classes(codes, table.model, after) <= before + 1e-6
