"""No partitioner may lose less than the best of all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from benchmarks.optimum import KINDS, least_loss, loss_of_classes, window
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.criteria import Criteria
from tests.conformance.engines import PARTITIONERS, UNLIMITED
from tests.support.tables import Table

_WINDOWS = [(kind, k) for kind in KINDS for k in (2, 3)]


def _partitions(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into sets of at least k rows."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for chosen in range(1 << len(rest)):
        own = [first, *(row for i, row in enumerate(rest) if chosen >> i & 1)]
        if len(own) >= k:
            yield from ([own, *more] for more in _partitions([row for row in rest if row not in own], k))


@pytest.mark.parametrize(("kind", "k"), _WINDOWS)
def test_the_optimum_is_the_least_loss_of_all_partitions(kind: str, k: int) -> None:
    table = window(kind, np.random.default_rng(k), 7)
    model, codes = cost_model(table.attributes), np.ascontiguousarray(table.rows.codes.T)
    losses = []
    for classes in _partitions(range(7), k):
        answer = np.empty(7, np.int32)
        for number, rows in enumerate(classes):
            answer[rows] = number
        losses.append(loss_of_classes(codes, model, answer))
    assert least_loss(codes, model, k) == pytest.approx(min(losses))


@pytest.mark.parametrize("engine", UNLIMITED)
def test_no_engine_loses_less_than_the_optimum(engine: str) -> None:
    for kind, k in _WINDOWS:
        drawn = window(kind, np.random.default_rng(10 + k), 10)
        model, codes = cost_model(drawn.attributes), np.ascontiguousarray(drawn.rows.codes.T)
        criteria = Criteria(k, 1.0, np.empty(0, np.int64))
        partitioner = PARTITIONERS[engine](Table(drawn.attributes, model, drawn.rows, criteria))
        partitioner.add(drawn.rows)
        loss = loss_of_classes(codes, model, partitioner.close(drawn.rows, criteria))
        everything = loss_of_classes(codes, model, np.zeros(len(codes), np.int32))
        assert least_loss(codes, model, k) - 1e-6 <= loss <= everything + 1e-6
