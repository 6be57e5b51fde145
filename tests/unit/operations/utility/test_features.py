"""Features: what a released and an original record have in common is one column."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from stream_anon.measures.boxes import Boxes, boxes_of
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.operations.utility.features import MOST_NODES, FeatureSpace, exact

AGE = QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(100), Decimal(1), 0, (Decimal(10),)))
CITIES = ["Oslo", "Bergen", "Rome", "Bari"]
CITY = QuasiIdentifier(
    "city",
    CategoricalDomain(
        Hierarchy.from_rows([[city, "north" if i < 2 else "south", "*"] for i, city in enumerate(CITIES)])
    ),
)


def _codes(*records: tuple[object, object]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.array([[own.code(record[j]) for record in records] for j, own in enumerate((AGE, CITY))], np.int32)


def test_an_original_value_has_the_features_of_every_released_node_above_it() -> None:
    released = boxes_of((AGE, CITY), [({"min": 20, "max": 29}, "north"), (50, "Rome"), ("*", "*")], [4, 3, 2])
    space = FeatureSpace.of((AGE, CITY), released)
    # Columns: the middle of the ages, then the nodes north, Rome and south; the root tells nothing.
    trained = space.features(released.low, released.high)
    assert trained.tolist() == [
        pytest.approx([0.245, 1, 0, 0]),
        pytest.approx([0.5, 0, 1, 1]),
        pytest.approx([0.5, 0, 0, 0]),
    ]
    codes = _codes((20, "Oslo"), (100, "Rome"), (0, "Bari"))
    assert space.features(codes, codes).tolist() == [
        pytest.approx([0.2, 1, 0, 0]),
        pytest.approx([1, 0, 1, 1]),
        pytest.approx([0, 0, 0, 1]),
    ]


def test_a_missing_number_lies_in_the_middle_and_has_a_feature_of_its_own() -> None:
    codes = _codes((None, "Oslo"), (100, None))
    space = FeatureSpace.of((AGE, CITY), exact(codes))
    assert space.features(codes, codes)[:, :2].tolist() == [[0.5, 1], [1, 0]]
    assert space.features(codes, codes).shape == (2, 2 + 3)  # north, Oslo, missing


def test_sets_count_as_the_node_above_them() -> None:
    cities = CITY.domain.labels()
    assert cities is not None
    low, high = np.array([[cities["Oslo"]], [cities["Bergen"]]], np.int32)
    space = FeatureSpace.of((CITY,), Boxes(low[None], high[None], np.array([5]), {0: [(low[0], high[0])]}))
    assert space.features(low[None], high[None]).shape == (1, 0)  # north holds for all rows
    both = Boxes(np.array([[0, 3]], np.int32), np.array([[1, 3]], np.int32), np.array([5, 5]), {0: [(0, 1), ()]})
    space = FeatureSpace.of((CITY,), both)
    bergen = np.array([[cities["Bergen"]]], np.int32)
    assert space.features(bergen, bergen).sum() == 1


def test_of_many_values_the_most_frequent_ones_are_features() -> None:
    names = [f"c{i}" for i in range(MOST_NODES + 50)]
    attribute = QuasiIdentifier("city", CategoricalDomain(Hierarchy.flat(names)))
    frequent = [attribute.code(names[-1])] * 9
    codes = np.array([[*frequent, *(attribute.code(name) for name in names)]], np.int32)
    features = FeatureSpace.of((attribute,), exact(codes)).features(codes, codes)
    assert features.shape == (len(names) + 9, MOST_NODES)
    assert features[0].sum() == 1
