"""Nodes of a lattice, counted one by one as a search asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stream_anon.errors import SettingsError
from stream_anon.measures.distance import every_level, published_levels, relative_distance
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels
from stream_anon.recoding.lattice.group_table import GroupTable
from stream_anon.recoding.lattice.lattice_shape import LatticeShape
from stream_anon.recoding.lattice.roll_up import RollUp
from stream_anon.recoding.lattice.rows import Rows
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table

MOST_NODES = 1 << 18
_MOST_KEPT = 48  # tables of groups from which others are rolled up
Vector = tuple[int, ...]


class Nodes:
    """Counts what a node would suppress; each is rolled up from the smallest table of a finer one that is kept.

    Parameters
    ----------
    levels
        Per quasi-identifier.
    rows
        The table, a row of codes for each of the levels.

    Attributes
    ----------
    counted
        Nodes whose groups were made.
    """

    def __init__(self, levels: Sequence[AttributeLevels], rows: Rows, asked: RecodingGoal) -> None:
        self._k = asked.k
        self._l = asked.l if len(rows.sensitive) else 1
        self._most_suppressed = asked.most_suppressed
        self._roll_up = RollUp(levels)
        bottom = (0,) * len(levels)
        self._kept: dict[Vector, GroupTable] = {bottom: self._roll_up.bottom(rows)}
        self._bottom = bottom
        self._suppressed: dict[Vector, int] = {}
        self.counted = 0

    def groups(self, vector: Vector) -> GroupTable:
        """Return the groups of a node; O(g log g) for g groups of the finer one."""
        if vector in self._kept:
            return self._kept[vector]
        finer = [own for own in self._kept if all(a <= b for a, b in zip(own, vector, strict=True))]
        start = min(finer, key=lambda own: (len(self._kept[own]), own))
        found = self._roll_up.climbed(self._kept[start], start, vector)
        while len(self._kept) > _MOST_KEPT:  # the bottom stays, and of the others the latest
            oldest = next(own for own in self._kept if own != self._bottom)
            del self._kept[oldest]
        self._kept[vector] = found
        return found

    def suppressed(self, vector: Vector) -> int:
        """Return the records in groups that fall short on a node."""
        if vector not in self._suppressed:
            self.counted += 1
            groups = self.groups(vector)
            short = groups.sizes() < self._k
            if self._l > 1:
                short |= groups.diversity() < self._l
            self._suppressed[vector] = int(groups.records[short].sum())
        return self._suppressed[vector]

    def satisfies(self, vector: Vector) -> bool:
        """Return whether a node suppresses no more than is allowed."""
        return self.suppressed(vector) <= self._most_suppressed


def shape_of(table: Table) -> LatticeShape:
    """Return the shape of a table's lattice; SettingsError if it has too many nodes to be searched."""
    heights = [own.height for own in table.levels]
    nodes = prod(height + 1 for height in heights)
    if nodes > MOST_NODES:
        raise SettingsError(
            "method.name",
            f"searches at most {MOST_NODES:,} nodes, and the levels of these attributes make {nodes:,}: choose "
            "datafly, tds or full-domain, or fewer levels",
        )
    return LatticeShape(heights)


def at_node(table: Table, vector: Sequence[int], asked: RecodingGoal, steps: Sequence[Step]) -> Recoding:
    """Return a table with each attribute on its level, and groups that fall short suppressed."""
    low, high = table.bounds(vector)
    groups, count = table.grouped(low, high)
    suppressed = asked.short(table, groups, count)[groups]
    told = {"levels": dict(table.named(vector)), "suppressed": int(suppressed.sum())}
    return Recoding(low, high, suppressed, (*steps, Step("answer", told)))


def costs(
    table: Table, figure: str, *, collapse_levels: bool = False
) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return what each level of each attribute costs; a node costs the sum over its attributes.

    All grow with the level. Suppressed records count as they would be published.

    Parameters
    ----------
    figure
        `prec` (1 - `measures.distance.prec`), `ncp` (mean over records), or `entropy` (bits lost, Gionis and Tassa
        2007).
    collapse_levels
        Of `prec`: levels that part the table's values alike count as one. Otherwise the hierarchy counts as given.
    """
    found = []
    for attribute, own, places in zip(table.attributes, table.levels, table.places, strict=True):
        records = np.bincount(places, minlength=len(own.codes))
        counts = records.astype(np.float64)
        if figure == "prec":
            counted = own.numbers if collapse_levels else every_level(attribute)
            levels, height = published_levels(attribute, own.low, own.high, counted), np.array([len(counted) - 1])
            cost = np.array([relative_distance(row[None], height, records) for row in levels]) / len(
                table.attributes
            )
        elif figure == "ncp":
            bounds = zip(own.low, own.high, strict=True)
            shares = [
                [attribute.ncp(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]
                for low, high in bounds
            ]
            cost = np.array(shares) @ counts / len(table) / len(table.attributes)
        else:
            alone = float(counts @ np.log2(np.maximum(counts, 1)))
            sums = [np.bincount(nodes, weights=counts) for nodes in own.nodes]
            cost = np.array([float(held @ np.log2(np.maximum(held, 1))) for held in sums]) - alone
        found.append(cost)
    return found


def cost_of(by_level: Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]], vector: Sequence[int]) -> float:
    """Return the cost of a node, rounded so that equal sums in another order are equal."""
    return round(float(sum(own[level] for own, level in zip(by_level, vector, strict=True))), 9)
