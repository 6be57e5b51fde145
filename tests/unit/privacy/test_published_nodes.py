from __future__ import annotations

from dataclasses import replace

import numpy as np

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.generalization import GeneralizedClasses, Generalizer
from stream_anon.privacy.published_nodes import publish_nodes

LEAVES = CategoricalDomain(balanced(["a", "b", "c", "d"], 2))
NODES = QuasiIdentifier("x", LEAVES)
SETS = replace(NODES, name="y", publication=PublishedForm.VALUES)
ROOT = (0, NODES.unknown_code)


def _published(*pairs: tuple[tuple[int, int], tuple[int, int]]) -> GeneralizedClasses:
    """Publish nodes of `NODES` and `SETS`, a pair a class."""
    low, high = np.array(pairs, np.int32).transpose(2, 1, 0)
    attributes = (NODES, SETS)
    return publish_nodes([Generalizer(own) for own in attributes], attributes, low, high)


def test_each_class_gets_the_node_that_was_given() -> None:
    found = _published(((0, 1), (2, 2)), ((3, 3), (2, 3)), (ROOT, ROOT), ((4, 4), (4, 4)))
    assert list(found.values[0]) == [LEAVES.publish(0, 1), "d", "*", None]
    assert found.low[0].tolist() == [0, 3, 0, 4]
    assert found.high[0].tolist() == [1, 3, 5, 4]
    assert found.ncp[0].tolist() == [0.5, 0.0, 1.0, 0.0]
    assert found.members[0] is None


def test_an_attribute_that_publishes_sets_publishes_all_values_under_the_node() -> None:
    found = _published(((0, 0), (2, 2)), ((0, 0), (2, 3)), ((0, 0), ROOT), ((0, 0), (4, 4)))
    assert list(found.values[1]) == ["c", ["c", "d"], "*", None]
    assert found.low[1].tolist() == [2, 2, 0, 4]
    assert found.high[1].tolist() == [2, 3, 5, 4]
    assert found.ncp[1].tolist() == [0.0, 0.5, 1.0, 0.0]
    assert found.members[1] == [(2,), (2, 3), (), (4,)]


def test_labels_are_equal_where_published_values_are() -> None:
    found = _published(((0, 1), (0, 0)), ((2, 3), (0, 1)), ((0, 1), (0, 0)))
    assert [row[0] == row[1] for row in found.labels.tolist()] == [False, False]
    assert [row[0] == row[2] for row in found.labels.tolist()] == [True, True]


def test_sets_of_an_earlier_window_are_forgotten() -> None:
    generalizer = Generalizer(SETS)
    for low, high in ((0, 1), (2, 3)):
        bounds = np.array([[low]], np.int32), np.array([[high]], np.int32)
        publish_nodes([generalizer], [SETS], *bounds)
    assert generalizer.values == [["c", "d"]]


def test_no_class_publishes_nothing() -> None:
    empty = np.empty((2, 0), np.int32)
    found = publish_nodes([Generalizer(NODES), Generalizer(SETS)], (NODES, SETS), empty, empty)
    assert found.low.shape == found.labels.shape == found.ncp.shape == (2, 0)
    assert [list(values) for values in found.values] == [[], []]
