"""Every partitioner that the conformance suite tests; a new one adds a line here and writes no tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stream_anon.clustering.forest.book import OrderBook
from stream_anon.clustering.forest.forest import Forest
from stream_anon.clustering.k_forest.partitioner import InsertionForest, KForest
from stream_anon.clustering.mondrian import Mondrian
from stream_anon.clustering.protocol import Partitioner
from stream_anon.privacy.cost import interval_cost
from tests.support.tables import Table, is_legal


def _forest(table: Table) -> Partitioner:
    return Forest(table.model, OrderBook(table.attributes, table.model, 0))


PARTITIONERS: dict[str, Callable[[Table], Partitioner]] = {
    "mondrian": lambda table: Mondrian(table.model),
    "forest": _forest,
    "k-forest": lambda table: KForest(table.model, table.criteria.k),
    "k-forest, as published": lambda table: KForest(table.model, table.criteria.k, as_published=True),
    "k-forest, by insertion": lambda table: InsertionForest(table.model, table.criteria.k),
}


def mondrian_oracle(table: Table) -> set[frozenset[int]]:
    """Strict Mondrian in a few lines: the classes as sets of rows."""
    rows, criteria = table.rows, table.criteria
    placed = _within_share(rows.individuals.tolist(), criteria.max_share)
    return _cut(table, placed) if placed and is_legal(rows, placed, criteria) else set()


def _within_share(people: Sequence[int], share: float) -> list[int]:
    """Keep each one's first rows, as many as may be without anybody holding more than the share."""
    for cap in range(len(people), 0, -1):
        kept = [i for i, person in enumerate(people) if people[:i].count(person) < cap]
        counts = [sum(people[i] == person for i in kept) for person in set(people)]
        if max(counts) <= share * len(kept):
            return kept
    return []


def _cut(table: Table, members: list[int]) -> set[frozenset[int]]:
    """Cut at the median of the attribute that costs most, if both sides are legal, else of the next."""
    columns = [[int(column[i]) for i in members] for column in table.rows.codes]
    spans = [(min(column), max(column)) for column in columns]
    cost = [interval_cost(table.model, j, low, high) for j, (low, high) in enumerate(spans)]
    for j in sorted(range(len(columns)), key=lambda j: -cost[j]):
        cuts = sorted(set(columns[j]))[:-1]
        if not cuts:
            continue
        middle = min(cuts, key=lambda cut: abs(2 * sum(code <= cut for code in columns[j]) - len(members)))
        left = [i for i in members if table.rows.codes[j, i] <= middle]
        right = [i for i in members if table.rows.codes[j, i] > middle]
        if is_legal(table.rows, left, table.criteria) and is_legal(table.rows, right, table.criteria):
            return _cut(table, left) | _cut(table, right)
    return {frozenset(members)}


ORACLES: dict[str, Callable[[Table], set[frozenset[int]]]] = {"mondrian": mondrian_oracle}
