from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.near_classes import near_classes
from stream_anon.clustering.shield_groups import AlikeGroups
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.privacy.costs.cost import cost_model, interval_cost
from tests.support.tables import DOMAINS

X, Y = QuasiIdentifier("x", DOMAINS[8]), QuasiIdentifier("y", DOMAINS[3])
MODEL = cost_model((X, Y))


def _cost(low: tuple[int, ...], high: tuple[int, ...]) -> float:
    return sum(interval_cost(MODEL, j, a, b) for j, (a, b) in enumerate(zip(low, high, strict=True)))


CLASSES = st.lists(
    st.tuples(st.integers(0, 11), st.integers(0, 30), st.integers(1, 9), st.integers(0, 1)), min_size=1, max_size=12
)


@given(CLASSES, st.integers(1, 12), st.integers(1, 4))
def test_the_cheapest_classes_within_reach_are_found_in_their_order(
    classes: list[tuple[int, int, int, int]], width: int, most: int
) -> None:
    bounds = np.array([own[:2] for own in classes], np.int32)
    weights, cells = (np.array([own[place] for own in classes], np.int64) for place in (2, 3))
    seekers = np.arange(0, len(classes), 2)
    mates, growth = np.empty((len(seekers), most), np.int64), np.empty((len(seekers), most))
    near_classes(AlikeGroups(MODEL, np.arange(2), bounds, bounds, cells, weights), seekers, width, mates, growth)
    for turn, a in enumerate(seekers.tolist()):
        offers = []
        for b in range(max(0, a - width), min(len(classes), a + width + 1)):
            if b != a and cells[a] == cells[b]:
                low, high = np.minimum(bounds[a], bounds[b]), np.maximum(bounds[a], bounds[b])
                offers.append(_cost(tuple(low.tolist()), tuple(high.tolist())) * int(weights[a] + weights[b]))
        offers = sorted(offers)[:most]
        found = growth[turn, : len(offers)]
        np.testing.assert_allclose(found, offers, rtol=1e-9)  # a single value costs nothing by itself
        assert (mates[turn, : len(offers)] >= 0).all()
        assert (mates[turn, len(offers) :] == -1).all()
        assert np.isinf(growth[turn, len(offers) :]).all()
