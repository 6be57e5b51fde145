"""Every partitioner that the conformance suite tests; a new one adds a line here and writes no tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from stream_anon.clustering.cell_partitioner import CellPartitioner, Inside
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.forest.ordering.current_order import OrderBook
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.k_forest.partitioner import KForest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.partitioning import UNKNOWN, Outlook, Partitioner
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.choices.engine_choice import Loss
from stream_anon.microdata.choices.label_counts import LabelCounts
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel
from stream_anon.privacy.costs.objective import objective
from stream_anon.recoding.full_domain import FullDomain
from tests.support.tables import Table, is_legal


def settled_book(table: Table) -> OrderBook:
    """Return an order as if it had been learned before: a window that closes changes nothing."""
    return OrderBook(table.attributes, table.model, 0, Digits.of(table.attributes).cold_order())


def _forest(table: Table) -> Partitioner:
    return Forest(table.model, OrderBook(table.attributes, table.model, 0))


def _open_forest(table: Table) -> Partitioner:
    return Forest(table.model, settled_book(table), k=table.criteria.k)


_OTHERS = (Loss.PREC, Loss.DISCERNIBILITY, Loss.CLASSIFICATION)
# By the attributes themselves, kept alive with their tables: names may come again with other domains.
_MODELS: dict[object, tuple[Sequence[QuasiIdentifier], CostModel]] = {}


def _kept(loss: Loss, table: Table, make: Callable[[], CostModel]) -> CostModel:
    key = (loss, *(id(a.domain) for a in table.attributes), *(a.weight for a in table.attributes))
    if key not in _MODELS:
        _MODELS[key] = table.attributes, make()
    return _MODELS[key][1]


def _other_losses(table: Table) -> CostModel:
    """Return the tables of another loss than NCP; k and the attributes decide which, so that all get a turn."""
    names = [a.name for a in table.attributes]
    loss = _OTHERS[(table.criteria.k + len("".join(names)) + int(names[0][1:])) % len(_OTHERS)]
    if loss is Loss.CLASSIFICATION and any(a.domain.size > WHOLE_TABLE for a in table.attributes):
        loss = Loss.DISCERNIBILITY

    def make() -> CostModel:
        draws = np.random.default_rng(0)
        sizes = [a.size for a in table.attributes]
        codes = np.array([draws.integers(0, size, 200) for size in sizes], np.int32)
        labels = LabelCounts.of(codes, draws.integers(0, 3, 200), sizes)
        return objective(table.attributes, loss, labels)

    return _kept(loss, table, make)


def _forest_of_another_loss(table: Table) -> Partitioner:
    model = _other_losses(table)
    return Forest(model, OrderBook(table.attributes, model, 0))


def _forest_of_sets(table: Table) -> Partitioner:
    attributes = tuple(_as_set(attribute) for attribute in table.attributes)
    model = _kept(Loss.NCP, table, lambda: objective(attributes, Loss.NCP))
    return Forest(model, OrderBook(attributes, model, 0))


def _as_set(attribute: QuasiIdentifier) -> QuasiIdentifier:
    categorical = isinstance(attribute.domain, CategoricalDomain)
    return replace(attribute, publication=PublishedForm.VALUES) if categorical else attribute


def levels_of(table: Table) -> list[int | None]:
    """Return highest levels for the attributes, by k and their places; where there are several not for the last."""
    heights = [attribute.domain.height for attribute in table.attributes]
    levels: list[int | None] = [(table.criteria.k + place) % (top + 1) for place, top in enumerate(heights)]
    return [*levels[:-1], None] if len(levels) > 1 else levels


def fixed_levels_of(table: Table) -> list[int | None]:
    """Return a level for every attribute."""
    return [level or 0 for level in levels_of(table)]


def _within(make: Callable[[Table], Inside]) -> Callable[[Table], Partitioner]:
    """Return an engine that works within the nodes of the highest levels."""
    return lambda table: CellPartitioner(FullDomain(table.attributes, levels_of(table)).groups, make(table))


PARTITIONERS: dict[str, Callable[[Table], Partitioner]] = {
    "mondrian": lambda table: Mondrian(table.model),
    "mondrian, relaxed": lambda table: Mondrian(table.model, relaxed=True),
    "mondrian, least loss": lambda table: Mondrian(table.model, least_loss=True),
    "mondrian, relaxed, least loss": lambda table: Mondrian(table.model, relaxed=True, least_loss=True),
    "mondrian, other losses": lambda table: Mondrian(_other_losses(table), least_loss=True),
    "forest": _forest,
    "forest, 3 rounds": lambda table: Forest(table.model, OrderBook(table.attributes, table.model, 0), 3),
    "forest, classes in 2 rounds": lambda table: Forest(table.model, settled_book(table), 2, table.criteria.k),
    "forest, line": _open_forest,
    "forest, classes": _open_forest,
    "forest, unknown end": _open_forest,
    "forest, other losses": _forest_of_another_loss,
    "forest, sets": _forest_of_sets,
    "k-forest": lambda table: KForest(table.model, table.criteria.k),
    "full-domain": lambda table: CellPartitioner(FullDomain(table.attributes, fixed_levels_of(table)).groups),
    "limited mondrian": _within(lambda table: Mondrian(table.model)),
    "limited forest": _within(lambda table: Forest(table.model, settled_book(table))),
    "limited k-forest": _within(lambda table: KForest(table.model, table.criteria.k)),
}

LIMITS: dict[str, Callable[[Table], list[int | None]]] = {
    "full-domain": fixed_levels_of,
    "limited mondrian": levels_of,
    "limited forest": levels_of,
    "limited k-forest": levels_of,
}
"""Of engines that publish nothing above some levels: which these are. They may leave a row without a class."""
UNLIMITED = [name for name in PARTITIONERS if name not in LIMITS]
"""Engines that place every row of a window that may be one class."""

# Somewhat more rows come than are expected, so that there are several late ones.
OUTLOOKS: dict[str, Callable[[int], Outlook]] = {
    "forest, line": lambda n: Outlook(max(n * 14 // 15, 1), 20_000.0),
    "forest, classes": lambda n: Outlook(max(n * 14 // 15, 1), 1.0),
    "forest, classes in 2 rounds": lambda n: Outlook(max(n * 14 // 15, 1), 1.0),
    "forest, unknown end": lambda _: Outlook(None, 1.0),
}


def feed(engine: str, partitioner: Partitioner, rows: Columns, whole: int) -> None:
    """Add rows of a window of so many rows and do all preparation that is due."""
    partitioner.add(rows, OUTLOOKS.get(engine, lambda _: UNKNOWN)(whole))
    partitioner.check_invariants()
    while (work := partitioner.preparation()) is not None:
        work()
        partitioner.check_invariants()


def mondrian_oracle(table: Table, *, relaxed: bool = False, least_loss: bool = False) -> set[frozenset[int]]:
    """Mondrian in a few lines: the classes as sets of rows."""
    rows, criteria = table.rows, table.criteria
    placed = _within_share(rows.individuals.tolist(), criteria.max_share)
    legal = bool(placed) and is_legal(rows, placed, criteria, placed)
    members = sorted(placed, key=lambda i: rows.codes[:, i].tolist())
    return _cut(table, placed, members, relaxed, least_loss) if legal else set()


def _within_share(people: Sequence[int], share: float) -> list[int]:
    """Keep each one's first rows, as many as may be without anybody holding more than the share."""
    for cap in range(len(people), 0, -1):
        kept = [i for i, person in enumerate(people) if people[:i].count(person) < cap]
        counts = [sum(people[i] == person for i in kept) for person in set(people)]
        if max(counts) <= share * len(kept):
            return kept
    return []


def _cut(
    table: Table, placed: list[int], members: list[int], relaxed: bool, least_loss: bool
) -> set[frozenset[int]]:
    """Cut at the median of the attribute that costs most, if both sides are legal, else of the next.

    For the least loss, cut at the best of all legal places.
    """
    columns = [[int(column[i]) for i in members] for column in table.rows.codes]
    cost = [interval_cost(table.model, j, min(column), max(column)) for j, column in enumerate(columns)]
    legal = []
    for j in sorted(range(len(columns)), key=lambda j: -cost[j]):
        if len(set(columns[j])) == 1:
            continue
        left, right = (_halves if relaxed else _sides)(table, members, j)
        if all(is_legal(table.rows, side, table.criteria, placed) for side in (left, right)):
            legal.append((left, right))
    if not legal:
        return {frozenset(members)}
    best = min(legal, key=lambda cut: sum(_loss(table, side) for side in cut)) if least_loss else legal[0]
    return set.union(*(_cut(table, placed, side, relaxed, least_loss) for side in best))


def _sides(table: Table, members: list[int], j: int) -> tuple[list[int], list[int]]:
    """Cut between two codes, as near to the middle as can be."""
    column = table.rows.codes[j]
    cuts = sorted({int(column[i]) for i in members})[:-1]
    middle = min(cuts, key=lambda cut: abs(2 * sum(column[i] <= cut for i in members) - len(members)))
    return [i for i in members if column[i] <= middle], [i for i in members if column[i] > middle]


def _halves(table: Table, members: list[int], j: int) -> tuple[list[int], list[int]]:
    """Cut in the middle of the rows by code, and among equal ones by the other codes."""
    chosen = set(sorted(members, key=lambda i: int(table.rows.codes[j, i]))[: len(members) // 2])
    return [i for i in members if i in chosen], [i for i in members if i not in chosen]


def _loss(table: Table, members: list[int]) -> float:
    """What rows lose as one class."""
    columns = [[int(column[i]) for i in members] for column in table.rows.codes]
    costs = (interval_cost(table.model, j, min(column), max(column)) for j, column in enumerate(columns))
    return sum(costs) * len(members)


ORACLES: dict[str, Callable[[Table], set[frozenset[int]]]] = {
    "mondrian": mondrian_oracle,
    "mondrian, relaxed": lambda table: mondrian_oracle(table, relaxed=True),
    "mondrian, least loss": lambda table: mondrian_oracle(table, least_loss=True),
    "mondrian, relaxed, least loss": lambda table: mondrian_oracle(table, relaxed=True, least_loss=True),
}
