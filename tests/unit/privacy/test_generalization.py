from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import Publication, QuasiIdentifier, Unknown
from stream_anon.microdata.domains import CategoricalDomain
from stream_anon.microdata.hierarchy import Hierarchy
from stream_anon.microdata.numbers import NumericDomain
from stream_anon.privacy import generalization
from stream_anon.privacy.generalization import Generalizer, alike, generalize

TREE = CategoricalDomain(Hierarchy.from_tree({"g": ["a", "b"], "h": ["c", "d"], "e": None}))
ATTRIBUTES = (
    QuasiIdentifier("node", TREE, unknown=Unknown.ROOT),
    QuasiIdentifier("set", TREE, unknown=Unknown.ROOT, publication=Publication.VALUES),
    QuasiIdentifier("tight", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0, tight=True)),
)


def _generalizers() -> list[Generalizer]:
    return [Generalizer(attribute) for attribute in ATTRIBUTES]


@given(st.data())
def test_a_published_tuple_is_not_that_of_its_class(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    wanted = data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    numbers = {old: new for new, old in enumerate(sorted({c for c in wanted if c >= 0}))}
    class_of_row = [numbers.get(c, -1) for c in wanted]
    columns = [data.draw(st.lists(st.integers(0, a.size - 1), min_size=n, max_size=n)) for a in ATTRIBUTES]
    generalizers = _generalizers()
    for _ in range(2):  # the second time all is remembered
        found = generalize(
            generalizers, ATTRIBUTES, np.array(columns, np.int32), np.array(class_of_row, np.int32), len(numbers)
        )
        for c in range(len(numbers)):
            for j, (attribute, column) in enumerate(zip(ATTRIBUTES, columns, strict=True)):
                codes = [code for code, own in zip(column, class_of_row, strict=True) if own == c]
                if attribute.publication is Publication.VALUES:
                    published, ncp = attribute.publish_set(codes), attribute.ncp_set(codes)
                else:
                    bounds = attribute.node(min(codes), max(codes))
                    published, ncp = attribute.publish(*bounds), attribute.ncp(*bounds)
                    assert (found.low[j, c], found.high[j, c]) == bounds
                assert found.values[j][c] == published
                assert found.ncp[j, c] == ncp
                assert found.low[j, c] <= min(codes) <= max(codes) <= found.high[j, c]
        for j in range(len(ATTRIBUTES)):
            texts = [repr(value) for value in found.values[j]]
            same = [[a == b for b in texts] for a in texts]
            assert same == [[a == b for b in found.labels[j]] for a in found.labels[j]]


def test_nodes_are_forgotten_within_a_window_or_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "_MOST_REMEMBERED", 3)
    (*_, generalizer) = _generalizers()
    low = np.arange(9, dtype=np.int32)
    generalizer.begin_window()
    places = generalizer.intervals(low, low)
    assert generalizer.columns(places)[2].tolist() == list(range(9))
    generalizer.begin_window()
    assert not generalizer.values


def test_sets_of_people_s_values_outlive_their_window() -> None:
    _, generalizer, _ = _generalizers()
    generalizer.begin_window()
    generalizer.sets([(0, 2), (1, 3)])
    assert generalizer.values
    generalizer.begin_window()
    assert not generalizer.values


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=20))
def test_clusters_that_are_published_alike_stay_two_classes(tuples: list[tuple[int, int]]) -> None:
    labels = np.array(tuples, np.int64).reshape(len(tuples), 2).T
    first, group = alike(labels)
    seen: dict[tuple[int, int], int] = {}
    expected = [seen.setdefault(own, len(seen)) for own in tuples]
    assert group.tolist() == expected
    assert first.tolist() == [expected.index(i) for i in range(len(seen))]
