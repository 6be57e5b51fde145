"""Costs of what `min_level` publishes; the law for every domain is in `tests/conformance/test_domains.py`."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.clustering.forest.cost_tables import reordered, tables_first
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.partitioners import partitioners
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.engine_choice import EngineChoice, Loss
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.domains.automatic import balanced
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs import cost, lowest_nodes
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.drawn_costs import DrawnCosts
from stream_anon.privacy.costs.lowest_nodes import LowestNodes
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective

FREE = (
    QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5)),
    QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0), weight=2.0),
    QuasiIdentifier("job", CategoricalDomain(balanced([str(i) for i in range(27)], 3))),
    QuasiIdentifier("day", DateDomain("%Y-%m-%d", dt.date(2020, 1, 1), dt.date(2023, 12, 31))),
    QuasiIdentifier("pay", NumericDomain(Decimal(0), Decimal(9999), Decimal(1), 0)),
)
LEVELS = (2, 3, 1, 1, 5)
BOUND = tuple(replace(attribute, min_level=level) for attribute, level in zip(FREE, LEVELS, strict=True))


def _same(first: CostModel, second: CostModel) -> bool:
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("loss", [Loss.NCP, Loss.PREC, Loss.DISCERNIBILITY])
def test_without_lowest_levels_no_bit_of_the_costs_changes(loss: Loss) -> None:
    model = objective(FREE, loss)
    lowest = LowestNodes(FREE)
    assert lowest.charged(model) is model
    own, other = (np.random.default_rng(4) for _ in range(2))
    assert _same(DrawnCosts(model, lowest).draw(own), DrawnCosts(model).draw(other))


def test_an_attribute_without_a_lowest_level_keeps_its_costs_beside_one_that_has_some() -> None:
    mixed = (BOUND[0], FREE[1], BOUND[2], FREE[3], BOUND[4])
    free, bound = objective(FREE, Loss.NCP), LowestNodes(mixed).charged(objective(mixed, Loss.NCP))
    draws = np.random.default_rng(0)
    for j in (1, 3):
        for _ in range(200):
            low, high = sorted(draws.integers(0, FREE[j].size, 2).tolist())
            assert interval_cost(bound, j, low, high) == interval_cost(free, j, low, high)
    assert all(interval_cost(bound, j, 7, 7) > interval_cost(free, j, 7, 7) for j in (0, 2, 4))


@pytest.mark.parametrize("most", [WHOLE_TABLE - 1, WHOLE_TABLE])
def test_the_largest_table_charges_like_the_first_domain_without_one(most: int) -> None:
    numbers = NumericDomain(Decimal(0), Decimal(most), Decimal(1), 0)
    attributes = [QuasiIdentifier("number", numbers, min_level=4)]
    model = LowestNodes(attributes).charged(objective(attributes, Loss.NCP))
    assert (model.kind[0] == TABLE) == (numbers.size <= WHOLE_TABLE)
    for code in (0, 100, most):
        first, last = attributes[0].node_at(code, 4)
        assert last > first
        assert interval_cost(model, 0, code, code) == pytest.approx(attributes[0].ncp(first, last), rel=1e-5)


@pytest.mark.parametrize("whole_table", [WHOLE_TABLE, 0])
def test_an_interval_costs_as_the_lowest_nodes_of_both_its_ends(
    whole_table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "WHOLE_TABLE", whole_table)
    monkeypatch.setattr(lowest_nodes, "WHOLE_TABLE", whole_table)
    model = LowestNodes(BOUND).charged(cost.cost_model(BOUND))
    draws = np.random.default_rng(5)
    for j, attribute in enumerate(BOUND):
        for _ in range(100):
            low, high = sorted(draws.integers(0, attribute.domain.size, 2).tolist())
            published = attribute.lifted(*attribute.node(low, high))
            assert interval_cost(model, j, low, high) == pytest.approx(
                attribute.weight * attribute.ncp(*published), abs=1e-5
            )
        first, last = attribute.node_at(attribute.domain.size // 3, attribute.min_level)
        ends = attribute.lifted(*attribute.node(first, last + 1))
        assert interval_cost(model, j, first, last + 1) == pytest.approx(
            attribute.weight * attribute.ncp(*ends), abs=1e-5
        )


def test_a_table_costs_the_same_from_either_end() -> None:
    model = LowestNodes(BOUND).charged(objective(BOUND, Loss.NCP))
    size, start = BOUND[1].size, int(model.start[1])
    table = model.table[start : start + size**2].reshape(size, size)
    assert (table == table.T).all()


@pytest.mark.parametrize("seed", range(3))
def test_drawn_costs_charge_nothing_for_what_lies_within_a_lowest_node_and_grow_beyond_it(seed: int) -> None:
    drawn = DrawnCosts(objective(BOUND, Loss.NCP), LowestNodes(BOUND)).draw(np.random.default_rng(seed))
    draws = np.random.default_rng(seed)
    for j, attribute in enumerate(BOUND):
        for _ in range(200):
            low, high = sorted(draws.integers(0, attribute.domain.size, 2).tolist())
            first, last = attribute.node_at(low, attribute.min_level)
            whole = interval_cost(drawn, j, first, last)
            assert interval_cost(drawn, j, low, low) == whole > 0
            assert interval_cost(drawn, j, low, min(high, last)) == whole
            assert interval_cost(drawn, j, low, high) >= whole
            if high < attribute.domain.size - 1:
                assert interval_cost(drawn, j, low, high) <= interval_cost(drawn, j, low, high + 1)


def test_attributes_in_another_order_keep_their_costs() -> None:
    model = LowestNodes(BOUND).charged(objective(BOUND, Loss.NCP))
    order = tables_first(model)
    assert order.tolist() != sorted(order.tolist()), "some have a table and some have none"
    other = reordered(model, order)
    for place, j in enumerate(order.tolist()):
        for low, high in ((0, 0), (0, 7), (3, 20)):
            assert interval_cost(other, place, low, high) == interval_cost(model, j, low, high)


def _released_loss(attributes: tuple[QuasiIdentifier, ...], maker: Policy, codes: NDArray[np.int32]) -> float:
    """Return the loss of one window whose classes are formed by another policy's engine."""
    n = codes.shape[1]
    policy = replace(maker, attributes=attributes)
    batch = CodedBatch(
        codes,
        np.empty((0, n), np.int64),
        np.arange(n, dtype=np.int64),
        np.zeros(n, np.int32),
        np.arange(n, dtype=np.int64),
        [()] * n,
        Rejects.of([]),
    )
    draws = np.random.default_rng(0)
    engine = Engine(policy, draws=draws, partitioner=partitioners(maker, draws=draws))
    engine.open(0, 0)
    (window,) = engine.add(batch, 0.0)
    release = Closer(policy).release(window, draws)
    assert release.released == n
    return float(release.gcp or 0.0)


@pytest.mark.parametrize("engine", ["forest", "k-forest"])
def test_engines_that_charge_what_is_published_lose_less(engine: str) -> None:
    draws = np.random.default_rng(3)
    codes = np.stack([draws.integers(0, attribute.domain.size, 1000) for attribute in FREE]).astype(np.int32)
    window, choice = WindowLimits(max_records=1000), EngineChoice(engine, seed=0)
    free, bound = (Policy(own, 5, EVERY_RECORD, window=window, engine=choice) for own in (FREE, BOUND))
    before, after = (_released_loss(BOUND, maker, codes) for maker in (free, bound))
    assert after < 0.99 * before
