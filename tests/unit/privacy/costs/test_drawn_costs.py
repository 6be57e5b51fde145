"""Drawn costs stay costs: wider intervals cost more, and only the ratios change."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.dates import DateDomain
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.domains.walk import TABLE
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.drawn_costs import DrawnCosts
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective

TREE = Hierarchy.from_tree({"north": {"hill": ["a", "b", "c"], "lake": ["d", "e"]}, "south": ["f", "g"]})
NODES = (
    QuasiIdentifier("city", CategoricalDomain(TREE), weight=2.0),
    QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),
    QuasiIdentifier("sex", CategoricalDomain(Hierarchy.flat(["f", "m", "x"]))),
    QuasiIdentifier("day", DateDomain("%Y-%m-%d", dt.date(2024, 1, 1), dt.date(2024, 3, 31))),
    QuasiIdentifier("income", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, (Decimal(5), Decimal(20)))),
)
OTHERS = (
    QuasiIdentifier("tight", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0, tight=True)),
    QuasiIdentifier("set", CategoricalDomain(TREE), publication=PublishedForm.VALUES),
    QuasiIdentifier("zip", PrefixDomain(5, "0123456789", 5)),
)
PLAIN = objective((*NODES, *OTHERS), Loss.NCP)


def table_of(model: CostModel, j: int) -> NDArray[np.float64]:
    size = int(model.domain[j]) + 2
    return np.array([[interval_cost(model, j, min(a, b), max(a, b)) for b in range(size)] for a in range(size)])


@pytest.mark.parametrize("loss", [Loss.NCP, Loss.PREC, Loss.DISCERNIBILITY])
def test_an_interval_never_costs_less_than_one_inside(loss: Loss) -> None:
    model = objective((*NODES, *OTHERS), loss)
    for seed in range(5):
        drawn = DrawnCosts(model).draw(np.random.default_rng(seed))
        for j in range(len(NODES) + 2):
            table, n = table_of(drawn, j), int(drawn.domain[j])
            assert (table == table.T).all()
            assert not np.diag(table)[: n + 1].any()
            assert (table[: n + 1, n + 1] == table.max()).all()  # with an unknown value nothing is left
            inside = np.triu(table[:n, :n])
            assert (np.diff(inside, axis=1)[np.triu_indices(n, 0, n - 1)] >= 0).all()
            assert (np.diff(table[:n, :n], axis=0)[np.tril_indices(n - 1, -1, n)] >= 0).all()


@pytest.mark.parametrize("loss", [Loss.NCP, Loss.PREC, Loss.DISCERNIBILITY])
def test_the_cost_of_suppressing_a_row_stays_the_same(loss: Loss) -> None:
    model = objective((*NODES, *OTHERS), loss)
    drawn = DrawnCosts(model).draw(np.random.default_rng(3))
    whole = sum(interval_cost(drawn, j, 0, int(drawn.domain[j]) + 1) for j in range(len(drawn.kind)))
    assert whole == pytest.approx(model.weight.sum(), rel=1e-4)


def test_steps_between_neighbours_are_drawn_where_nodes_are_published_and_weights_everywhere() -> None:
    drawn = DrawnCosts(PLAIN).draw(np.random.default_rng(1))
    for j in range(len(PLAIN.kind)):
        before, after = ([interval_cost(model, j, code, code + 1) for code in range(4)] for model in (PLAIN, drawn))
        ratios = np.round([b / a for a, b in zip(before, after, strict=True) if a], 4)
        assert (len(set(ratios.tolist())) > 1) == (j < len(NODES))
        assert (ratios != 1).all()
    assert PLAIN.kind[-1] != TABLE
    assert drawn.share[-2] / PLAIN.share[-2] == pytest.approx(drawn.weight[-2] / PLAIN.weight[-2])


def test_each_draw_is_another_and_the_same_generator_draws_the_same() -> None:
    costs = DrawnCosts(PLAIN)
    one, other = np.random.default_rng(4), np.random.default_rng(4)
    first, second = costs.draw(one), costs.draw(one)
    assert not np.allclose(first.table, second.table, rtol=1e-3)
    assert (first.table == costs.draw(other).table).all()
    assert (PLAIN.table == objective((*NODES, *OTHERS), Loss.NCP).table).all()  # nothing is written into the model


def test_the_spread_of_the_draws_is_the_documented_one() -> None:
    draws, costs = np.random.default_rng(0), DrawnCosts(objective(OTHERS[2:], Loss.NCP))
    assert costs.draw(draws).weight[0] == pytest.approx(1.0)  # a single attribute has nothing to be weighed against
    pair = DrawnCosts(objective((OTHERS[2], OTHERS[2]), Loss.NCP))
    logs = [np.diff(np.log(pair.draw(draws).weight))[0] for _ in range(2000)]
    assert np.std(logs) == pytest.approx(0.1 * np.sqrt(2), rel=0.1)
