"""The methods that are compared: this project's engines, and baselines that are no engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.anonypyx import anonypyx_classes
from benchmarks.baselines.iab import iab_classes
from benchmarks.baselines.sort_and_cut import sort_and_cut
from benchmarks.tables import Table
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.order_file import learned_from, order_of
from stream_anon.clustering.k_forest.partitioner import KForest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.partitioning import Partitioner
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.drawn_costs import DrawnCosts
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.criteria import Criteria


@dataclass(frozen=True)
class Setting:
    """What is the same for all methods in one cell of the table; `book` has learned from the first window."""

    table: Table
    model: CostModel
    book: OrderBook
    criteria: Criteria

    @cached_property
    def costs(self) -> DrawnCosts:
        """Return costs to draw from, made once as for a service."""
        return DrawnCosts(self.model)


def learned_book(table: Table, model: CostModel, first: Columns, k: int) -> OrderBook:
    """Return a book with an order learned from `first`, as `stream-anon learn` does, that stays as it is."""
    order = learned_from(first.codes, table.attributes, model, k, 0)
    return OrderBook(table.attributes, model, 0, order_of(order, table.attributes))


Classes = Callable[[Setting, Columns], NDArray[np.int32]]


@dataclass(frozen=True)
class Method:
    """One method.

    Parameters
    ----------
    classes
        The class of each row of one window.
    growth
        How its time grows with the window, as a power: to leave out what would take too long.
    as_sets
        It publishes sets of categories and tight ranges, and is scored by them.
    engine
        It knows all criteria.
    """

    classes: Classes
    growth: float = 1.1
    as_sets: bool = False
    engine: bool = False


def engine(make: Callable[[Setting], Partitioner], growth: float = 1.1) -> Method:
    """Return a method from a partitioner."""

    def classes(setting: Setting, rows: Columns) -> NDArray[np.int32]:
        partitioner = make(setting)
        partitioner.add(rows)
        return partitioner.close(rows, setting.criteria)

    return Method(classes, growth, engine=True)


def drawn_forest(setting: Setting) -> Partitioner:
    """Return a forest by costs drawn from the system's entropy, as a service without a seed makes one."""
    return Forest(setting.costs.draw(fresh_draws()), setting.book)


PLAIN = "sort + cut"
CASTLE = "CASTLE"
ANONYPYX = "anonypyx Mondrian"
METHODS: Mapping[str, Method] = {
    PLAIN: Method(lambda s, rows: sort_and_cut(rows, s.book, s.model, s.criteria.k)),
    "forest": engine(lambda s: Forest(s.model, s.book)),
    "forest, drawn costs": engine(drawn_forest),
    "forest, 2 rounds": engine(lambda s: Forest(s.model, s.book, 2)),
    "forest, 3 rounds": engine(lambda s: Forest(s.model, s.book, 3)),
    "forest, a first window": engine(lambda s: Forest(s.model, OrderBook(s.table.attributes, s.model, 0))),
    "k-forest": engine(lambda s: KForest(s.model, s.criteria.k), 2.0),
    "mondrian": engine(lambda s: Mondrian(s.model)),
    "mondrian, relaxed": engine(lambda s: Mondrian(s.model, relaxed=True)),
    "mondrian, least loss": engine(lambda s: Mondrian(s.model, least_loss=True)),
    # It expands as many tables of a large window as of a small one.
    "IAB": Method(lambda s, rows: iab_classes(s.table.attributes, rows, s.criteria.k), 0.5),
    ANONYPYX: Method(lambda s, rows: anonypyx_classes(s.table.attributes, rows.codes, s.criteria.k), as_sets=True),
}
