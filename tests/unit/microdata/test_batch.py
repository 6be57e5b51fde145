from __future__ import annotations

import numpy as np
import pytest

from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.microdata.columns import Columns


def _batch(n: int, payload: int) -> CodedBatch:
    return CodedBatch(
        np.zeros((2, n), np.int32),
        np.zeros((0, n), np.int64),
        np.arange(n),
        np.zeros(n, np.int32),
        np.arange(n),
        list(range(payload)),
        Rejects.of([(Reason.MALFORMED, -1, 0, 99)]),
    )


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        _batch(3, 2)


def test_chosen_rows_keep_their_payloads_and_leave_the_rejects() -> None:
    part = _batch(5, 5).take(np.array([3, 1]))
    assert (part.payload, part.offsets.tolist(), len(part.rejects)) == ([3, 1], [3, 1], 0)


def test_rejects_are_joined_column_by_column() -> None:
    rejects = Rejects.of([(Reason.MISSING, 2, 7, 2**40), (Reason.EMPTY, -1, 0, 5)])
    both = Rejects.concatenate([rejects.take(np.array([1])), rejects.take(slice(0, 1))])
    assert both.reasons.tolist() == [Reason.EMPTY, Reason.MISSING]
    assert both.attributes.tolist() == [-1, 2]
    assert both.sources.tolist() == [0, 7]
    assert both.offsets.tolist() == [5, 2**40]
    assert len(Rejects.concatenate([])) == len(Rejects.of([])) == 0
    assert Reason.NOT_AN_OBJECT.label == "not-an-object"


def test_ignored_records_stand_among_the_rejects_and_are_no_dead_letters() -> None:
    reasons = [Reason.DELETED, Reason.EMPTY, Reason.TOMBSTONE, Reason.DELETED, Reason.WRONG_ENVELOPE]
    rejects = Rejects.of([(reason, -1, 0, place) for place, reason in enumerate(reasons)])
    assert (
        rejects.are_ignored.tolist()
        == [reason.is_ignored for reason in reasons]
        == [True, False, True, True, False]
    )
    assert rejects.dead.offsets.tolist() == [1, 4]
    assert rejects.counts() == {
        Reason.EMPTY: 1,
        Reason.DELETED: 2,
        Reason.TOMBSTONE: 1,
        Reason.WRONG_ENVELOPE: 1,
    }
    assert Rejects.of([]).counts() == {}


def test_columns_are_joined_without_losing_a_row() -> None:
    columns = Columns(
        np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(3, dtype=np.int32), np.zeros((1, 3), np.int32)
    )
    whole = Columns.concatenate(
        [Columns.empty(2, 1), columns.take(slice(0, 1)), columns.take(np.array([False, True, True]))]
    )
    assert whole.codes.tolist() == columns.codes.tolist()
    assert len(whole) == 3
