from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.microdata.attributes import PublishedForm, Unknown
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy import generalization
from stream_anon.privacy.generalization import Generalizer, alike, generalize, raised

TREE = CategoricalDomain(Hierarchy.from_tree({"g": ["a", "b"], "h": ["c", "d"], "e": None}))
ATTRIBUTES = (
    QuasiIdentifier("node", TREE, unknown=Unknown.ROOT),
    QuasiIdentifier("set", TREE, unknown=Unknown.ROOT, publication=PublishedForm.VALUES),
    QuasiIdentifier("tight", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0, tight=True)),
)


def _generalizers() -> list[Generalizer]:
    return [Generalizer(attribute) for attribute in ATTRIBUTES]


@given(st.data())
def test_a_published_tuple_is_that_of_its_class(data: st.DataObject) -> None:
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
                if attribute.publication is PublishedForm.VALUES:
                    published, ncp = attribute.publish_set(codes), attribute.ncp_set(codes)
                    whole = (0, attribute.unknown_code)
                    bounds = whole if published == "*" else (min(codes), max(codes))
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


RAISED = (
    QuasiIdentifier("tree", TREE, unknown=Unknown.ROOT),
    QuasiIdentifier(
        "named", CategoricalDomain(Hierarchy.from_rows([["a", "g", "all"], ["b", "g", "all"], ["c", "h", "all"]]))
    ),
    QuasiIdentifier("halves", NumericDomain(Decimal(0), Decimal(12), Decimal(1), 0)),
    QuasiIdentifier("widths", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(5), Decimal(20)))),
    QuasiIdentifier("prefix", PrefixDomain(4, "012", 3)),
    QuasiIdentifier("day", DateDomain("%Y-%m-%d", dt.date(2023, 11, 17), dt.date(2025, 2, 1))),
)


@given(st.data())
def test_a_raised_node_is_the_next_one_above(data: st.DataObject) -> None:
    """By brute force: the node above is the least of all nodes that are wider and hold it."""
    attribute = data.draw(st.sampled_from(RAISED))
    low, high = attribute.node(*sorted(data.draw(st.tuples(*[st.integers(0, attribute.size - 1)] * 2))))
    bounds = attribute.above(low, high)
    assert attribute.node(*bounds) == bounds
    assert attribute.read(attribute.publish(*bounds)) is not None
    reach = range(max(0, low - 1), min(attribute.domain.size, high + 2)) if high < attribute.missing_code else ()
    nodes = {
        attribute.node(a, b) for a in reach for b in (high, high + 1) if a <= low and b < attribute.missing_code
    }
    wider = [(b - a, (a, b)) for a, b in nodes if a <= low and b >= high and (a, b) != (low, high)]
    if wider:
        assert bounds == min(wider)[1]
    else:
        assert bounds == attribute.above(*bounds)


def test_every_level_that_is_drawn_shows() -> None:
    attributes = RAISED[:3]
    codes = np.array([[0, 1, 2], [0, 0, 2], [3, 3, 12]], np.int32)
    generalizers = [Generalizer(attribute) for attribute in attributes]
    found = generalize(generalizers, attributes, codes, np.array([0, 0, 1], np.int32), 2)
    assert found.values == [["g", "c"], ["a", "c"], [3, 12]]
    wider = raised(generalizers, attributes, found, np.array([[0, 1], [1, 2], [1, 9]]))
    assert wider.values == [["g", "h"], ["g", "*"], [{"min": 3, "max": 5}, "*"]]
    assert wider.ncp[0].tolist() == [0.4, 0.4]
    assert wider.low[0].tolist() == [0, 2]
    assert wider.high[0].tolist() == [1, 3]


def test_nodes_are_remembered_within_a_window_and_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "_MOST_REMEMBERED", 3)
    (*_, generalizer) = _generalizers()
    low = np.arange(9, dtype=np.int32)
    generalizer.begin_window()
    places = generalizer.intervals(low, low)
    assert generalizer.columns(places)[2].tolist() == list(range(9))
    generalizer.begin_window()
    assert not generalizer.values
    generalizer.intervals(low[:3], low[:3])
    generalizer.begin_window()
    assert generalizer.values == [0, 1, 2], "as many as may be remembered are kept"


def test_sets_of_values_do_not_outlive_their_window() -> None:
    _, generalizer, _ = _generalizers()
    generalizer.begin_window()
    generalizer.sets([(0, 2), (1, 3)])
    assert generalizer.values
    generalizer.begin_window()
    assert not generalizer.values


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=20))
def test_clusters_that_are_published_alike_are_one_class(tuples: list[tuple[int, int]]) -> None:
    labels = np.array(tuples, np.int64).reshape(len(tuples), 2).T
    first, group = alike(labels)
    seen: dict[tuple[int, int], int] = {}
    expected = [seen.setdefault(own, len(seen)) for own in tuples]
    assert group.tolist() == expected
    assert first.tolist() == [expected.index(i) for i in range(len(seen))]


LOPSIDED = QuasiIdentifier(
    "x",
    CategoricalDomain(Hierarchy.from_tree({"g": {"h": ["a", "b", "c"], "i": ["d"]}, "j": ["e", "f"], "k": None})),
    unknown=Unknown.ROOT,
)


MANY = QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(999), Decimal(1), 0))


@pytest.mark.parametrize("attribute", [LOPSIDED, MANY], ids=["a tree", "many values"])
@given(data=st.data())
def test_a_remembered_node_is_that_of_its_own_bounds(attribute: QuasiIdentifier, data: st.DataObject) -> None:
    """Of a tree that is another one when read from its end, and of numbers too many for a table of all pairs."""
    bounds = st.tuples(*[st.integers(0, attribute.size - 1)] * 2).map(sorted)
    pairs = data.draw(st.lists(bounds, min_size=1, max_size=30))
    generalizer = Generalizer(attribute)
    low, high = np.array(pairs, np.int32).T
    places = generalizer.intervals(low, high)
    found = generalizer.columns(places)
    nodes = [attribute.node(*pair) for pair in pairs]
    assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == nodes
    assert [generalizer.values[i] for i in places.tolist()] == [attribute.publish(*node) for node in nodes]
    # Asked again it gives the same places and remembers nothing new.
    count = len(generalizer.values)
    assert count == len({tuple(pair) for pair in pairs})
    assert generalizer.intervals(low[::-1], high[::-1]).tolist() == places[::-1].tolist()
    assert len(generalizer.values) == count


@pytest.mark.parametrize(
    "attribute", [MANY, QuasiIdentifier("x", NumericDomain(Decimal(0), Decimal(199), Decimal(1), 0))]
)
def test_nodes_are_remembered_beyond_the_first_room(attribute: QuasiIdentifier) -> None:
    generalizer = Generalizer(attribute)
    codes = np.arange(200, dtype=np.int32)
    places = generalizer.intervals(codes, codes)
    low, high, labels, ncp = generalizer.columns(places)
    assert low.tolist() == high.tolist() == list(range(200))
    assert len(set(labels.tolist())) == 200
    assert ncp.tolist() == [0.0] * 200
    wide = generalizer.intervals(np.zeros(1, np.int32), np.full(1, 199, np.int32))
    assert generalizer.columns(wide)[3].tolist() == [attribute.ncp(*attribute.node(0, 199))]


def test_each_window_begins_without_the_sets_of_the_one_before() -> None:
    attribute = ATTRIBUTES[1]
    generalizer = Generalizer(attribute)
    for codes in ([0, 2], [1, 3]):
        generalize([generalizer], [attribute], np.array([codes], np.int32), np.zeros(2, np.int32), 1)
        assert generalizer.values == [attribute.publish_set(codes)]


def test_one_generalizer_too_few_is_an_error() -> None:
    generalizers = _generalizers()
    codes, classes = np.zeros((3, 2), np.int32), np.zeros(2, np.int32)
    found = generalize(generalizers, ATTRIBUTES, codes, classes, 1)
    with pytest.raises(ValueError, match="shorter"):
        generalize(generalizers[:2], ATTRIBUTES[:3], codes, classes, 1)
    with pytest.raises(ValueError, match="shorter"):
        raised(generalizers[:2], ATTRIBUTES, found, np.zeros((3, 1), np.int64))
