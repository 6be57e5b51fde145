from __future__ import annotations

import numpy as np
import pytest

from benchmarks.baselines.bound import lower_bounds
from benchmarks.baselines.castle import Castle
from benchmarks.windows import class_sizes
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model
from stream_anon.privacy.costs.model import CostModel
from tests.support.tables import DOMAINS

pytestmark = pytest.mark.slow  # the kernels of a baseline compile for seconds
_ATTRIBUTES = tuple(QuasiIdentifier(f"a{i}", DOMAINS[i]) for i in (0, 3, 8))


def _stream(n: int, people: int) -> tuple[Columns, CostModel]:
    draws = np.random.default_rng(n)
    codes = np.array([draws.integers(0, a.domain.size, n) for a in _ATTRIBUTES], np.int32)
    who = np.arange(n) if people == n else np.append(np.arange(people), draws.integers(0, people, n - people))
    return Columns(codes, who.astype(np.int32), np.empty((0, n), np.int32)), cost_model(_ATTRIBUTES)


@pytest.mark.parametrize(("people", "delta"), [(400, 40), (400, 400), (90, 60)])
@pytest.mark.parametrize("k", [2, 7])
def test_castle_publishes_tuples_of_k_people_in_time(people: int, delta: int, k: int) -> None:
    rows, model = _stream(400, people)
    castle = Castle(_ATTRIBUTES, model, k, delta, beta=10)
    label, ncp, moment = castle.publish(rows)
    assert (moment > np.arange(400)).all()
    assert (moment - np.arange(400) <= delta + 1).all()
    # The most general tuple (-1) is where it may stand alone; nobody else does over the whole output.
    assert class_sizes(rows, label.astype(np.int32)).min() >= k
    assert (ncp[label == -1] == 1.0).all()
    assert castle.alone(rows.individuals) <= castle.reused + castle.general


def test_castle_loses_at_least_what_every_method_loses() -> None:
    rows, model = _stream(400, 400)
    bounds = lower_bounds(rows, model, [2, 5])
    assert 0 < bounds[2] < bounds[5]
    for k in (2, 5):
        assert Castle(_ATTRIBUTES, model, k, 400, beta=10).publish(rows)[1].mean() >= bounds[k]
