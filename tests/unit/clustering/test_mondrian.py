from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from stream_anon.clustering.mondrian import Mondrian
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.criteria import Criteria
from tests.support.tables import Table, classes_of, tables


def _alone(table: Table) -> tuple[Columns, Criteria]:
    """The table as if every row were another person's and k were the only criterion."""
    n = len(table.rows)
    rows = Columns(table.rows.codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
    return rows, Criteria(table.criteria.k, 1.0, np.empty(0, np.int64))


@pytest.mark.parametrize("least_loss", [False, True])
@given(table=tables())
def test_a_relaxed_cut_leaves_no_class_that_could_be_halved(least_loss: bool, table: Table) -> None:
    """LeFevre et al., theorem 4: at most 2k - 1 rows, if they are not all equal."""
    rows, criteria = _alone(table)
    mondrian = Mondrian(table.model, relaxed=True, least_loss=least_loss)
    mondrian.add(rows)
    for members in classes_of(mondrian.close(rows, criteria).tolist()):
        equal = len(np.unique(rows.codes[:, sorted(members)], axis=1).T) == 1
        assert equal or len(members) < 2 * criteria.k


@given(table=tables())
def test_strict_cuts_keep_equal_rows_together(table: Table) -> None:
    rows, criteria = _alone(table)
    mondrian = Mondrian(table.model, least_loss=True)
    mondrian.add(rows)
    answer = mondrian.close(rows, criteria)
    number_of = {tuple(row): number for row, number in zip(rows.codes.T.tolist(), answer.tolist(), strict=True)}
    assert all(number_of[tuple(row)] == answer[i] for i, row in enumerate(rows.codes.T.tolist()))
