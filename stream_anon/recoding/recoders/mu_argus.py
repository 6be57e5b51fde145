"""mu-Argus (Hundepool and Willenborg 1996, as Sweeney 2002 describes it): combinations of two and three."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.measures.grouping import grouped, people
from stream_anon.recoding.recoders.protocol import Asked, Recoding, Step, Table

Combination = tuple[int, ...]


@dataclass(frozen=True)
class MuArgus:
    """Protect combinations of two and three attributes, by generalizing and by blanking single values.

    1. Each attribute is generalized until each of its values has k individuals.
    2. An outlier is a row with a combination of values that fewer than k individuals share; a combination takes one
       attribute from each of two or three of the sets. While outliers are more than `outliers` of the records, the
       attribute in the most rare combinations is generalized, of several the first of the policy.
    3. In each row that is an outlier still, the value in the most of its rare combinations is blanked (published as
       the root), of several that of the first attribute. This is repeated until there is no outlier.

    Combinations of more attributes than three are not looked at: the method does not guarantee k.

    Parameters
    ----------
    identifying, more, most
        The sets of attributes: identifying, more identifying, most identifying. An attribute in none of them is
        only generalized by itself.
    outliers
        Share of the records that may be outliers before values are blanked.
    complete
        Suppress the groups that stay below k.
    """

    identifying: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    outliers: float = 0.05
    complete: bool = False
    guarantees: ClassVar[bool] = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: Asked) -> Recoding:
        """Return the table; `below_k` says how many records stay in groups that fall short."""
        sets = self._sets(table)
        steps: list[Step] = []
        vector = [self._alone(table, place, asked, steps) for place in range(len(table.levels))]
        combined = list(_combinations(sets))
        blanks = np.zeros(table.rows.codes.shape, np.bool_)
        while True:
            rare = _rare(table, vector, blanks, combined, asked)
            often = _by_attribute(rare, combined, len(vector)).sum(axis=1)
            rows = int(_outliers(rare, len(table)).sum())
            raisable = [
                place for place, own in enumerate(table.levels) if often[place] and vector[place] < own.height
            ]
            if rows <= self.outliers * len(table) or not raisable:
                break
            place = max(raisable, key=lambda own: (often[own], -own))
            vector[place] += 1
            steps.append(Step(f"generalized {table.names[place]}", {"outliers before": rows}))
        self._blank(table, vector, blanks, combined, asked, steps)
        return self._finished(table, vector, blanks, asked, steps)

    def _sets(self, table: Table) -> list[list[int]]:
        seen: set[str] = set()
        for key in ("identifying", "more", "most"):
            for name in getattr(self, key):
                if name not in table.names:
                    raise SettingsError(f"method.{key}", f"{name} is no quasi-identifier of the policy")
                if name in seen:
                    raise SettingsError(f"method.{key}", f"{name} is in a set already")
                seen.add(name)
        return [[table.names.index(name) for name in own] for own in (self.identifying, self.more, self.most)]

    def _alone(self, table: Table, place: int, asked: Asked, steps: list[Step]) -> int:
        own = table.levels[place]
        for level in range(own.height + 1):
            nodes = own.nodes[level, table.places[place]].astype(np.int64)
            if people(nodes, own.sizes[level], table.individuals).min() >= asked.k or level == own.height:
                if level:
                    told = {"level": own.numbers[level]}
                    steps.append(Step(f"generalized {own.name}, whose values were too rare", told))
                return level
        raise AssertionError("the root is a level")

    def _blank(
        self,
        table: Table,
        vector: Sequence[int],
        blanks: NDArray[np.bool_],
        combined: Sequence[Combination],
        asked: Asked,
        steps: list[Step],
    ) -> None:
        """Blank values until there is no outlier; each round blanks one in each row that is one."""
        while True:
            rare = _rare(table, vector, blanks, combined, asked)
            rows = np.flatnonzero(_outliers(rare, len(table)))
            if not len(rows):
                return
            chosen = _by_attribute(rare, combined, len(vector))[:, rows].argmax(axis=0)
            blanks[chosen, rows] = True
            counts = np.bincount(chosen, minlength=len(vector)).tolist()
            told = {name: count for name, count in zip(table.names, counts, strict=True) if count}
            steps.append(Step("blanked a value of each outlier", {"outliers": len(rows), **told}))

    def _finished(
        self,
        table: Table,
        vector: Sequence[int],
        blanks: NDArray[np.bool_],
        asked: Asked,
        steps: list[Step],
    ) -> Recoding:
        low, high = table.bounds(vector)
        tops = table.bounds([own.height for own in table.levels])
        low, high = np.where(blanks, tops[0], low), np.where(blanks, tops[1], high)
        groups, count = table.grouped(low, high)
        short = asked.short(table, groups, count)
        below = short[groups]
        sizes = np.bincount(groups, minlength=count)[short]
        figures = {"levels": dict(table.named(vector)), "blanked": int(blanks.sum())}
        stay = {"groups": int(short.sum()), "records": int(below.sum())}
        if len(sizes):
            stay["the largest"] = int(sizes.max())
        steps += [Step("answer", figures), Step("below what was asked", stay)]
        found = Recoding(low, high, np.zeros(len(table), np.bool_), tuple(steps), int(below.sum()))
        return replace(found, suppressed=below, below_k=0) if self.complete else found


def _combinations(sets: Sequence[Sequence[int]]) -> Iterator[Combination]:
    """Yield one attribute from each of two or three sets."""
    for size in (2, 3):
        for chosen in combinations(sets, size):
            yield from product(*chosen)


def _rare(
    table: Table,
    vector: Sequence[int],
    blanks: NDArray[np.bool_],
    combined: Sequence[Combination],
    asked: Asked,
) -> list[NDArray[np.intp]]:
    """Return for each combination the rows whose values too few individuals share; a blank shares with all."""
    nodes = [own.nodes[level, row] for own, level, row in zip(table.levels, vector, table.places, strict=True)]
    found = []
    for combination in combined:
        rows = np.flatnonzero(~blanks[list(combination)].any(axis=0))
        groups, count = grouped((nodes[place][rows] for place in combination), len(rows))
        short = people(groups, count, table.individuals[rows]) < asked.k
        found.append(rows[short[groups]])
    return found


def _by_attribute(
    rare: Sequence[NDArray[np.intp]], combined: Sequence[Combination], attributes: int
) -> NDArray[np.int64]:
    """Return in how many rare combinations each cell is; int64[q, n], where n ends with the last rare row."""
    rows = max((int(own[-1]) + 1 for own in rare if len(own)), default=0)
    counts = np.zeros((attributes, rows), np.int64)
    for own, combination in zip(rare, combined, strict=True):
        for place in combination:
            counts[place, own] += 1
    return counts


def _outliers(rare: Sequence[NDArray[np.intp]], rows: int) -> NDArray[np.bool_]:
    marks = np.zeros(rows, np.bool_)
    for own in rare:
        marks[own] = True
    return marks
