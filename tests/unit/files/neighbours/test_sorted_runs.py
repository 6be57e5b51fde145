"""Runs on the disk are one sorted table."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import key_table, line_keys
from stream_anon.files.neighbours import sorted_runs
from stream_anon.files.neighbours.sorted_runs import SortedRuns
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.settings.policy_file import load_policy
from tests.support.effort import examples
from tests.support.policies import PEOPLE, write_document

RUNS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=30), min_size=1, max_size=5)


def batch_of(ages: list[int], first: int) -> CodedBatch:
    n = len(ages)
    codes = np.array([ages, [0] * n], np.int32)
    numbers = np.arange(first, first + n)
    sources = np.zeros(n, np.int32)
    return CodedBatch(codes, np.empty((0, n), np.int64), numbers, sources, numbers, [()] * n, Rejects.of([]))


@examples(60)
@given(runs=RUNS, count=st.integers(1, 6), piece=st.integers(1, 7))
def test_stretches_hold_each_row_once_in_the_order_of_the_line_and_are_of_one_length(
    runs: list[list[int]], count: int, piece: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = load_policy(write_document(Path(folder), PEOPLE)).quasi_identifiers
        digits = Digits.of(own)
        table = key_table(digits, digits.cold_order())
        rows = SortedRuns(table)
        before, sorted_runs._PIECE = sorted_runs._PIECE, piece
        try:
            for ages in runs:
                rows.add(batch_of(ages, len(rows)))
            stretches = list(rows.stretches(count))
        finally:
            sorted_runs._PIECE = before
    total = sum(map(len, runs))
    assert len(rows) == total
    assert sorted(number for one in stretches for number in one.offsets.tolist()) == list(range(total))
    assert len(stretches) == min(count, total)
    assert 0 < max(map(len, stretches)) <= min(map(len, stretches)) + 1
    keys = [line_keys(one.codes, table)[0] for one in stretches]
    assert all(one.max() <= other.min() for one, other in pairwise(keys))
