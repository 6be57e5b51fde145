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
    guarantees: ClassVar[bool] = False
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table; `below_k` says how many records stay in groups that fall short."""
        sets = self._sets(table)
        steps: list[Step] = []
        vector = [self._alone(table, place, asked, steps) for place in range(len(table.levels))]
        combined = list(_combinations(sets))
        blanks = np.zeros(table.rows.codes.shape, np.bool_)
        if self.choices is not None:
            self._follow(self.choices, table, vector, steps)
        elif asked.holder is not None:
            self._ask(asked.holder, table, vector, combined, asked, steps)
        else:
            self._generalize(table, vector, combined, asked, steps)
        self._blank(table, vector, blanks, combined, asked, steps)
        return replace(self._finished(table, vector, blanks, asked, steps), warnings=self._warnings(table.names))

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

    def _generalize(
        self,
        table: Table,
        vector: list[int],
        combined: Sequence[Combination],
        asked: RecodingGoal,
        steps: list[Step],
    ) -> None:
        """Generalize by the share of outliers."""
        blanks = np.zeros(table.rows.codes.shape, np.bool_)
        while True:
            rare = _rare(table, vector, blanks, combined, asked)
            often = _by_attribute(rare, combined, len(vector)).sum(axis=1)
            rows = int(_outliers(rare, len(table)).sum())
            raisable = [
                place for place, own in enumerate(table.levels) if often[place] and vector[place] < own.height
            ]
            if rows <= self.outliers * len(table) or not raisable:
                return
            place = max(raisable, key=lambda own: (often[own], -own))
            vector[place] += 1
            steps.append(Step(f"generalized {table.names[place]}", {"outliers before": rows}))

    def _follow(self, choices: Sequence[Choice], table: Table, vector: list[int], steps: list[Step]) -> None:
        """Generalize as the policy chooses."""
        for choice in choices:
            if choice.attribute not in table.names:
                raise SettingsError("method.choices", f"{choice.attribute} is not a quasi-identifier of the policy")
            place = table.names.index(choice.attribute)
            height = table.attributes[place].domain.height
            if not 1 <= choice.level <= height:
                raise SettingsError(
                    "method.choices", f"{choice.attribute} can be generalized to levels 1 to {height}"
                )
            _choose(choice, table, vector, steps)

    def _ask(
        self,
        holder: Holder,
        table: Table,
        vector: list[int],
        combined: Sequence[Combination],
        asked: RecodingGoal,
        steps: list[Step],
    ) -> None:
        """Generalize as the holder chooses, who is asked while there are outliers and something to choose."""
        blanks = np.zeros(table.rows.codes.shape, np.bool_)
        places = sorted({place for combination in combined for place in combination})
        while True:
            rare = _rare(table, vector, blanks, combined, asked)
            rows = int(_outliers(rare, len(table)).sum())
            if not rows:
                return
            alternatives = []
            for place in places:
                kept = [own for own, each in zip(rare, combined, strict=True) if place not in each]
                touched = [own for own in combined if place in own]
                for level in range(vector[place] + 1, table.levels[place].height + 1):
                    raised = [*vector[:place], level, *vector[place + 1 :]]
                    changed = _rare(table, raised, blanks, touched, asked)
                    left = int(_outliers([*kept, *changed], len(table)).sum())
                    number = table.levels[place].numbers[level]
                    alternatives.append(Alternative(Choice(table.names[place], number), left))
            if not alternatives:
                return
            choice = holder(Situation(len(table), rows, table.named(vector), tuple(alternatives)))
            if choice is None:
                return
            if choice not in [own.choice for own in alternatives]:
                raise ValueError("what was chosen is none of the alternatives")
            _choose(choice, table, vector, steps)

    def _sets(self, table: Table) -> list[list[int]]:
        seen: set[str] = set()
        for key in ("identifying", "more", "most"):
            for name in getattr(self, key):
                if name not in table.names:
                    raise SettingsError(f"method.{key}", f"{name} is not a quasi-identifier of the policy")
                if name in seen:
                    raise SettingsError(f"method.{key}", f"{name} is in a set already")
                seen.add(name)
        return [[table.names.index(name) for name in own] for own in (self.identifying, self.more, self.most)]

    def _alone(self, table: Table, place: int, asked: RecodingGoal, steps: list[Step]) -> int:
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
        asked: RecodingGoal,
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
        asked: RecodingGoal,
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


def _choose(choice: Choice, table: Table, vector: list[int], steps: list[Step]) -> None:
    """Raise an attribute to the chosen level; one that stands there or higher already stays."""
    place = table.names.index(choice.attribute)
    own = table.levels[place]
    vector[place] = max(vector[place], own.at_most(choice.level))
    told = {"asked for": choice.level, "level": own.numbers[vector[place]]}
    steps.append(Step(f"generalized {choice.attribute}, as was chosen", told))


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
    asked: RecodingGoal,
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
