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
from stream_anon.recoding.recoders.recoder import (
    Alternative,
    Choice,
    Holder,
    Recoding,
    RecodingGoal,
    Situation,
    Step,
    Table,
)

Combination = tuple[int, ...]


@dataclass(frozen=True)
class MuArgus:
    """Protect combinations of two and three attributes, by generalizing and by blanking single values.

    1. Each attribute is generalized until each of its values has k individuals.
    2. An outlier is a row with a combination of values that fewer than k individuals share; a combination takes one
       attribute from each of two or three of the sets. The data's holder chooses an attribute and a level for it,
       sees the outliers again, and so on, until they choose nothing more: by `choices`, or at the call. Without
       either, while outliers are more than `outliers` of the records, the attribute in the most rare combinations
       is generalized by a level, of several the first of the policy.
    3. In each row that is an outlier still, the value in the most of its rare combinations is blanked (published as
       the root), of several that of the first attribute. This is repeated until there is no outlier.

    Combinations of more attributes than three are not looked at: the method does not guarantee k.

    Parameters
    ----------
    identifying, more, most
        The sets of attributes: identifying, more identifying, most identifying. An attribute in none of them is
        only generalized by itself.
    outliers
        Share of the records that may be outliers before values are blanked, where nobody chooses.
    choices
        What the holder chooses, one after another; none at all if it is empty.
    complete
        Suppress the groups that stay below k.
    """

    identifying: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    outliers: float = 0.05
    choices: tuple[Choice, ...] | None = None
    complete: bool = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table; `below_k` says how many records stay in groups that fall short."""
        protected = _Protected(table, asked, list(_combinations(self._sets(table))))
        if self.choices is not None:
            protected.follow(self.choices)
        elif asked.holder is not None:
            protected.ask(asked.holder)
        else:
            protected.generalize(self.outliers)
        protected.blank()
        return replace(protected.recoding(complete=self.complete), warnings=self._warnings(table.names))

    def _warnings(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return which combinations are not looked at because the sets are not what the method is about."""
        sets = {"identifying": self.identifying, "more": self.more, "most": self.most}
        empty = [key for key, own in sets.items() if not own]
        found = []
        if empty:
            seen = (
                "only combinations of two attributes are" if len(empty) == 1 else "no combination of attributes is"
            )
            found.append(f"mu-argus runs without its three sets (nothing in {', '.join(empty)}): {seen} looked at")
        outside = [name for name in names if not any(name in own for own in sets.values())]
        if outside and len(empty) < 2:
            found.append(f"mu-argus: no combination with {' or '.join(outside)} is looked at, in none of its sets")
        return tuple(found)

    def _sets(self, table: Table) -> list[list[int]]:
        sets: list[list[int]] = []
        for key in ("identifying", "more", "most"):
            sets.append([])
            for name in getattr(self, key):
                place = table.place(name, f"method.{key}")
                if any(place in own for own in sets):
                    raise SettingsError(f"method.{key}", f"{name} is in a set already")
                sets[-1].append(place)
        return sets


class _Protected:
    """A table on its way: the level of each attribute, the values that are blanked, and what was done.

    It begins with each attribute on the first level at which each of its values has k individuals.

    Parameters
    ----------
    combined
        The combinations that are looked at, as places of attributes.
    """

    def __init__(self, table: Table, asked: RecodingGoal, combined: Sequence[Combination]) -> None:
        self._table, self._asked, self._combined = table, asked, combined
        self._blanks = np.zeros(table.rows.codes.shape, np.bool_)
        self._steps: list[Step] = []
        self._vector = [self._alone(place) for place in range(len(table.levels))]

    def _alone(self, place: int) -> int:
        own = self._table.levels[place]
        for level in range(own.height + 1):
            nodes = own.nodes[level, self._table.places[place]].astype(np.int64)
            least = people(nodes, own.sizes[level], self._table.individuals).min()
            if least >= self._asked.k or level == own.height:
                if level:
                    told = {"level": own.numbers[level]}
                    self._steps.append(Step(f"generalized {own.name}, whose values were too rare", told))
                return level
        raise AssertionError("the root is a level")

    def generalize(self, most: float) -> None:
        """Generalize while outliers are more than a share of the records."""
        table, vector = self._table, self._vector
        while True:
            rare = self._rare(vector, self._combined)
            often = self._by_attribute(rare).sum(axis=1)
            rows = int(self._outliers(rare).sum())
            raisable = [
                place for place, own in enumerate(table.levels) if often[place] and vector[place] < own.height
            ]
            if rows <= most * len(table) or not raisable:
                return
            place = max(raisable, key=lambda own: (often[own], -own))
            vector[place] += 1
            self._steps.append(Step(f"generalized {table.names[place]}", {"outliers before": rows}))

    def follow(self, choices: Sequence[Choice]) -> None:
        """Generalize as the policy chooses."""
        for choice in choices:
            place = self._table.place(choice.attribute, "method.choices")
            height = self._table.attributes[place].domain.height
            if not 1 <= choice.level <= height:
                raise SettingsError(
                    "method.choices", f"{choice.attribute} can be generalized to levels 1 to {height}"
                )
            self._choose(choice)

    def ask(self, holder: Holder) -> None:
        """Generalize as the holder chooses, who is asked while there are outliers and something to choose."""
        table, vector, combined = self._table, self._vector, self._combined
        places = sorted({place for combination in combined for place in combination})
        while True:
            rare = self._rare(vector, combined)
            rows = int(self._outliers(rare).sum())
            if not rows:
                return
            alternatives = []
            for place in places:
                kept = [own for own, each in zip(rare, combined, strict=True) if place not in each]
                touched = [own for own in combined if place in own]
                for level in range(vector[place] + 1, table.levels[place].height + 1):
                    changed = self._rare([*vector[:place], level, *vector[place + 1 :]], touched)
                    left = int(self._outliers([*kept, *changed]).sum())
                    number = table.levels[place].numbers[level]
                    alternatives.append(Alternative(Choice(table.names[place], number), left))
            if not alternatives:
                return
            choice = holder(Situation(len(table), rows, table.named(vector), tuple(alternatives)))
            if choice is None:
                return
            if choice not in [own.choice for own in alternatives]:
                raise ValueError("what was chosen is none of the alternatives")
            self._choose(choice)

    def _choose(self, choice: Choice) -> None:
        """Raise an attribute to the chosen level; one that stands there or higher already stays."""
        place = self._table.names.index(choice.attribute)
        own = self._table.levels[place]
        self._vector[place] = max(self._vector[place], own.at_most(choice.level))
        told = {"asked for": choice.level, "level": own.numbers[self._vector[place]]}
        self._steps.append(Step(f"generalized {choice.attribute}, as was chosen", told))

    def blank(self) -> None:
        """Blank values until there is no outlier; each round blanks one in each row that is one."""
        names = self._table.names
        while True:
            rare = self._rare(self._vector, self._combined)
            rows = np.flatnonzero(self._outliers(rare))
            if not len(rows):
                return
            chosen = self._by_attribute(rare)[:, rows].argmax(axis=0)
            self._blanks[chosen, rows] = True
            counts = np.bincount(chosen, minlength=len(names)).tolist()
            told = {name: count for name, count in zip(names, counts, strict=True) if count}
            self._steps.append(Step("blanked a value of each outlier", {"outliers": len(rows), **told}))

    def recoding(self, *, complete: bool) -> Recoding:
        """Return what becomes of the table; groups that fall short are suppressed where it is to be complete."""
        table, blanks = self._table, self._blanks
        low, high = table.bounds(self._vector)
        tops = table.bounds([own.height for own in table.levels])
        low, high = np.where(blanks, tops[0], low), np.where(blanks, tops[1], high)
        groups, count = table.grouped(low, high)
        short = self._asked.short(table, groups, count)
        below = short[groups]
        sizes = np.bincount(groups, minlength=count)[short]
        figures = {"levels": dict(table.named(self._vector)), "blanked": int(blanks.sum())}
        stay = {"groups": int(short.sum()), "records": int(below.sum())}
        if len(sizes):
            stay["the largest"] = int(sizes.max())
        steps = (*self._steps, Step("answer", figures), Step("below what was asked", stay))
        found = Recoding(low, high, np.zeros(len(table), np.bool_), steps, int(below.sum()))
        return replace(found, suppressed=below, below_k=0) if complete else found

    def _rare(self, vector: Sequence[int], combined: Sequence[Combination]) -> list[NDArray[np.intp]]:
        """Return for each combination the rows whose values too few individuals share; a blank shares with all."""
        table = self._table
        nodes = [own.nodes[level, row] for own, level, row in zip(table.levels, vector, table.places, strict=True)]
        found = []
        for combination in combined:
            rows = np.flatnonzero(~self._blanks[list(combination)].any(axis=0))
            groups, count = grouped((nodes[place][rows] for place in combination), len(rows))
            short = people(groups, count, table.individuals[rows]) < self._asked.k
            found.append(rows[short[groups]])
        return found

    def _by_attribute(self, rare: Sequence[NDArray[np.intp]]) -> NDArray[np.int64]:
        """Return in how many rare combinations each cell is; int64[q, n], where n ends with the last rare row."""
        rows = max((int(own[-1]) + 1 for own in rare if len(own)), default=0)
        counts = np.zeros((len(self._vector), rows), np.int64)
        for own, combination in zip(rare, self._combined, strict=True):
            for place in combination:
                counts[place, own] += 1
        return counts

    def _outliers(self, rare: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
        marks = np.zeros(len(self._table), np.bool_)
        for own in rare:
            marks[own] = True
        return marks


def _combinations(sets: Sequence[Sequence[int]]) -> Iterator[Combination]:
    """Yield one attribute from each of two or three sets."""
    for size in (2, 3):
        for chosen in combinations(sets, size):
            yield from product(*chosen)
