"""What the engines minimise, against plain counts."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.clustering.forest.line.cut import cut_line
from stream_anon.clustering.mondrian import mondrian_classes
from stream_anon.clustering.rules import rules_of
from stream_anon.measures.loss import discernibility
from stream_anon.microdata.attributes import PublishedForm, QuasiIdentifier
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.labels import LabelCounts
from stream_anon.microdata.policy import Loss
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.criteria import Criteria
from tests.support.effort import examples

TREE = CategoricalDomain(Hierarchy.from_tree({"g": {"h": ["a", "b"], "i": ["c"]}, "j": ["d", "e"], "f": None}))
ATTRIBUTES = (
    QuasiIdentifier("tree", TREE, 2.0),
    QuasiIdentifier("tight", NumericDomain(Decimal(0), Decimal(9), Decimal(1), 0, tight=True)),
    QuasiIdentifier("halves", CategoricalDomain(balanced([str(i) for i in range(12)]))),
)


def _lost(counts: list[list[int]], codes: range) -> float:
    """Bits lost by publishing the codes as one, in a few lines."""
    whole = [sum(row[t] for row in counts) + 1 for t in range(len(counts[0]))]
    share = [count / sum(whole) for count in whole]
    mixtures = {
        v: [(c + 10 * p) / (sum(counts[v]) + 10) for c, p in zip(counts[v], share, strict=True)] for v in codes
    }
    weight = {v: (sum(counts[v]) + 1) / sum(sum(counts[o]) + 1 for o in codes) for v in codes}
    mixed = [sum(weight[v] * mixtures[v][t] for v in codes) for t in range(len(share))]
    return _entropy(mixed) - sum(weight[v] * _entropy(mixtures[v]) for v in codes)


def _entropy(shares: list[float]) -> float:
    return -sum(p * math.log2(p) for p in shares if p > 0)


@examples(30)
@given(st.data())
def test_the_bits_of_the_target_are_those_counted_by_hand(data: st.DataObject) -> None:
    draws = np.random.default_rng(data.draw(st.integers(0, 1000)))
    sizes = [attribute.size for attribute in ATTRIBUTES]
    n = data.draw(st.sampled_from([1, 20, 400]))
    codes = np.array([draws.integers(0, size, n) for size in sizes], np.int32)
    labels = (codes[0] // 3 + draws.integers(0, 2, n)).astype(np.int64)
    counted = LabelCounts.of(codes, labels, sizes)
    model = objective(ATTRIBUTES, Loss.CLASSIFICATION, counted)
    plain = objective(ATTRIBUTES, Loss.NCP)
    counts = [own.tolist() for own in counted.counts]
    roots = []
    for attribute, own in zip(ATTRIBUTES, counts, strict=True):
        inside = [(a, b) for a in range(attribute.domain.size) for b in range(a, attribute.domain.size)]
        nodes = {attribute.node(a, b) for a, b in inside}
        bits = {
            (a, b): _lost(own[: attribute.domain.size], range(a, min(b, attribute.domain.size - 1) + 1))
            for a, b in nodes
        }
        roots.append((bits, max(bits.values())))
    most = max(root for _, root in roots)
    j = data.draw(st.integers(0, 2))
    attribute, (bits, _) = ATTRIBUTES[j], roots[j]
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, attribute.domain.size - 1)] * 2)))
    a, b = attribute.node(low, high)
    # Never less than a node inside.
    own = max(value for (c, d), value in bits.items() if a <= c and d <= b)
    told = own / most if most > 1e-9 else 0.0  # of one label alone nothing can be lost
    expected = 0.9 * told * attribute.weight + 0.1 * interval_cost(plain, j, low, high)
    assert interval_cost(model, j, low, high) == pytest.approx(expected, abs=1e-5)
    assert interval_cost(model, j, high, high) == pytest.approx(0, abs=1e-5)
    worst = interval_cost(model, j, 0, attribute.domain.size - 1)
    assert interval_cost(model, j, high, attribute.unknown_code) == pytest.approx(worst, rel=0.3)


def test_losing_what_tells_of_the_target_costs_more_than_losing_what_does_not() -> None:
    attributes = [QuasiIdentifier(name, CategoricalDomain(Hierarchy.flat(["u", "v"]))) for name in ("tells", "not")]
    codes = np.array([[0, 0, 1, 1] * 50, [0, 1, 0, 1] * 50], np.int32)
    model = objective(attributes, Loss.CLASSIFICATION, LabelCounts.of(codes, codes[0].astype(np.int64), [4, 4]))
    assert interval_cost(model, 0, 0, 1) == pytest.approx(1, abs=1e-3)
    assert interval_cost(model, 1, 0, 1) == pytest.approx(0.1, abs=1e-3)
    with pytest.raises(ValueError, match="labels"):
        objective(attributes, Loss.CLASSIFICATION)


def test_rounding_errors_do_not_become_the_loss_where_nothing_tells() -> None:
    attribute = QuasiIdentifier("says nothing", CategoricalDomain(Hierarchy.flat(["u", "v", "w"])))
    codes, labels = np.repeat(np.arange(3), 33).astype(np.int32), np.tile(np.arange(3), 33)
    model = objective([attribute], Loss.CLASSIFICATION, LabelCounts.of(codes[None], labels, [5]))
    assert interval_cost(model, 0, 0, 2) == pytest.approx(0.1, abs=1e-6)


def test_for_prec_a_node_costs_its_level_over_the_height() -> None:
    model = objective(ATTRIBUTES, Loss.PREC)
    assert interval_cost(model, 0, 0, 1) == pytest.approx(2 * 1 / 3)  # "h": level 1 of 3, weight 2
    assert interval_cost(model, 0, 0, 2) == pytest.approx(2 * 2 / 3)


def _classes(sizes: list[int]) -> int:
    return discernibility(np.array(sizes), 0)


@pytest.mark.parametrize("n", [40, 41, 47, 103])
def test_discernibility_gives_classes_no_larger_than_needed(n: int) -> None:
    """The least sum of squares of n rows in classes of k and more: as many classes as there can be, all alike."""
    k = 4
    best = _classes([n // (n // k) + (i < n % (n // k)) for i in range(n // k)])
    points = np.sort(np.random.default_rng(1).integers(0, 6, (n, 1)), axis=0).astype(np.int32)
    arguments = (points, np.arange(n), np.full(n, n, np.int64))
    found = {}
    for loss in (Loss.NCP, Loss.DISCERNIBILITY):
        ends = cut_line(*arguments, objective(ATTRIBUTES[:1], loss), k, 2 * k - 1, np.empty(n + 1), None)
        found[loss] = _classes([b - a for a, b in pairwise([0, *ends.tolist()])])
    assert found[Loss.NCP] > found[Loss.DISCERNIBILITY]  # equal rows stay together
    # A record pays its class's size and less than 1 of NCP: so much more the squares may be at most.
    assert best <= found[Loss.DISCERNIBILITY] < best + n


def test_mondrian_forms_smaller_classes_for_discernibility() -> None:
    draws = np.random.default_rng(2)
    n = 300
    codes = np.array([np.minimum(draws.geometric(0.4, n) - 1, 5), draws.integers(0, 10, n)], np.int32)
    rows = Columns(codes, np.arange(n, dtype=np.int32), np.empty((0, n), np.int32))
    rules = rules_of(rows, Criteria(4, 0.5, np.empty(0, np.int64)))
    squares = {}
    for loss in (Loss.NCP, Loss.DISCERNIBILITY):
        model = objective(ATTRIBUTES[:2], loss)
        answer = mondrian_classes(codes, model, np.arange(n), rules, False, True)
        squares[loss] = _classes(np.bincount(answer).tolist())
    assert squares[Loss.DISCERNIBILITY] < squares[Loss.NCP]


def test_for_discernibility_a_record_pays_its_class_and_less_than_one_of_loss() -> None:
    model = objective(ATTRIBUTES, Loss.DISCERNIBILITY)
    assert model.crowd == 1
    assert model.weight.tolist() == [0.5, 0.25, 0.25]
    whole = [interval_cost(model, j, 0, attribute.domain.size - 1) for j, attribute in enumerate(ATTRIBUTES)]
    assert whole == [pytest.approx(0.5), pytest.approx(0.25), pytest.approx(0.25)]
    assert objective(ATTRIBUTES, Loss.NCP).crowd == 0


def test_for_classification_a_set_is_taken_for_all_values_between_its_ends() -> None:
    letters = CategoricalDomain(Hierarchy.flat(["u", "v", "w"]))
    attribute = QuasiIdentifier("set", letters, publication=PublishedForm.VALUES)
    codes = np.array([[0, 1, 2] * 20], np.int32)
    model = objective([attribute], Loss.CLASSIFICATION, LabelCounts.of(codes, codes[0].astype(np.int64), [5]))
    assert model.share.tolist() == [0]
    assert objective([attribute], Loss.NCP).share.tolist() == [pytest.approx(1 / 3)]


def test_every_interval_costs_the_worst_of_the_nodes_inside_it() -> None:
    draws = np.random.default_rng(4)
    attributes = (
        *ATTRIBUTES,
        QuasiIdentifier("numbers", NumericDomain(Decimal(0), Decimal(6), Decimal(1), 0)),
        QuasiIdentifier("set", TREE, publication=PublishedForm.VALUES),
    )
    sizes = [attribute.size for attribute in attributes]
    codes = np.array([draws.integers(0, size, 300) for size in sizes], np.int32)
    labels = (codes[0] + codes[1] // 3 + codes[2] // 4 + codes[3] // 2).astype(np.int64) % 3
    counted = LabelCounts.of(codes, labels, sizes)
    model, plain = objective(attributes, Loss.CLASSIFICATION, counted), objective(attributes, Loss.NCP)
    bits = []
    for attribute, own in zip(attributes, counted.counts, strict=True):
        n = attribute.domain.size
        nodes = {_node(attribute, a, b) for a in range(n) for b in range(a, n)}
        bits.append({(a, b): _lost(own.tolist()[:n], range(a, b + 1)) for a, b in nodes})
    most = max(max(own.values()) for own in bits)
    for j, attribute in enumerate(attributes):
        n = attribute.domain.size

        def expected(lost: float, low: int, high: int, j: int = j, weight: float = attribute.weight) -> float:
            return 0.9 * lost / most * weight + 0.1 * interval_cost(plain, j, low, high)

        for low in range(n):
            for high in range(low, n):
                a, b = _node(attribute, low, high)
                worst = max(value for (c, d), value in bits[j].items() if a <= c and d <= b)
                assert interval_cost(model, j, low, high) == pytest.approx(expected(worst, low, high), abs=1e-5)
                assert interval_cost(model, j, high, low) == interval_cost(model, j, low, high)
            for high in (attribute.missing_code, attribute.unknown_code):
                whole = expected(max(bits[j].values()), low, high)
                assert interval_cost(model, j, low, high) == pytest.approx(whole, abs=1e-5)
        assert interval_cost(model, j, attribute.missing_code, attribute.missing_code) == 0


def _node(attribute: QuasiIdentifier, low: int, high: int) -> tuple[int, int]:
    """Return the codes for which a target is lost: of sets and tight ranges those between the ends."""
    if attribute.name in {"tight", "set"}:
        return low, high
    a, b = attribute.node(low, high)
    return a, min(b, attribute.domain.size - 1)


def test_an_attribute_of_one_value_has_nothing_to_lose() -> None:
    only = QuasiIdentifier("only", CategoricalDomain(Hierarchy.flat(["u"])))
    other = QuasiIdentifier("other", CategoricalDomain(Hierarchy.flat(["u", "v"])))
    codes = np.array([[0] * 40, [0, 1] * 20], np.int32)
    counted = LabelCounts.of(codes, codes[1].astype(np.int64), [3, 4])
    model = objective([only, other], Loss.CLASSIFICATION, counted)
    assert interval_cost(model, 0, 0, 0) == 0
    assert interval_cost(model, 1, 0, 1) == pytest.approx(1)
    alone = objective([only], Loss.CLASSIFICATION, LabelCounts.of(codes[:1], codes[1].astype(np.int64), [3]))
    assert interval_cost(alone, 0, 0, 0) == 0
