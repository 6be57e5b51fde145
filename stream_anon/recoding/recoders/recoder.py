"""What every recoder takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.measures.grouping import dense, grouped, people
from stream_anon.microdata.attributes import QuasiIdentifier
from stream_anon.microdata.batch import MISSING_KEY
from stream_anon.recoding.lattice.attribute_levels import AttributeLevels, by_name, levels_of
from stream_anon.recoding.lattice.rows import Rows


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of one table.

    Parameters
    ----------
    attributes
        The quasi-identifiers, in the row order of the codes.
    rows
        At least one.
    labels
        int64[n], equal for rows of one class, for methods that keep classes apart; None where nobody named a class
        attribute.
    passed
        Returns for each row what is published of it as it is: something hashable. None where nothing is but the
        sensitive values of `rows`. Only methods that count rows of the whole table ask.
    """

    attributes: tuple[QuasiIdentifier, ...]
    rows: Rows
    labels: NDArray[np.int64] | None = None
    passed: Callable[[], Sequence[Hashable]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def levels(self) -> tuple[AttributeLevels, ...]:
        """Return the levels of each quasi-identifier."""
        return tuple(levels_of(own, codes) for own, codes in zip(self.attributes, self.rows.codes, strict=True))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the quasi-identifiers."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Return int64[q, n], the place of each code in the levels of its attribute."""
        return np.array([own.places(row) for own, row in zip(self.levels, self.rows.codes, strict=True)], np.int64)

    @cached_property
    def individuals(self) -> NDArray[np.int64]:
        """Return dense numbers of the individuals; int64[n]."""
        return dense(self.rows.individuals)[0]

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """Return dense numbers of the sensitive values, -1 for a missing one; int64[s, n]."""
        numbers = np.array([dense(row)[0] for row in self.rows.sensitive], np.int64).reshape(-1, len(self))
        return np.where(self.rows.sensitive == MISSING_KEY, -1, numbers)

    @cached_property
    def passing(self) -> NDArray[np.int64]:
        """Return numbers that are equal for rows of which the same is published as it is; int64[n]."""
        if self.passed is None:
            return grouped(self.rows.sensitive, len(self))[0]
        numbers: dict[Hashable, int] = {}
        return np.array([numbers.setdefault(own, len(numbers)) for own in self.passed()], np.int64)

    def bounds(self, levels: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what is published of each cell: int32[q, n] and int32[q, n].

        Parameters
        ----------
        levels
            The level of each attribute, or int64[q, n], that of each cell.
        """
        cells = list(zip(self.levels, levels, self.places, strict=True))
        return (
            np.array([own.low[level, place] for own, level, place in cells], np.int32),
            np.array([own.high[level, place] for own, level, place in cells], np.int32),
        )

    def grouped(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[NDArray[np.int64], int]:
        """Return the group of each row that is published alike, int64[n], 0..g-1, and g; O(q n)."""
        spans = [attribute.size for attribute in self.attributes]
        cells = zip(low.astype(np.int64), high, spans, strict=True)
        return grouped((lows * span + highs for lows, highs, span in cells), len(self))

    def place(self, name: str, setting: str) -> int:
        """Return the place of a quasi-identifier; SettingsError if a setting names something else."""
        if name not in self.names:
            raise SettingsError(setting, f"{name} is not a quasi-identifier of the policy")
        return self.names.index(name)

    def named(self, vector: Sequence[int]) -> Mapping[str, int]:
        """Return levels of the lattice as levels of the hierarchies, by attribute."""
        return by_name(self.levels, vector)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a method leaves to the data's holder: an attribute, and the level to which it is generalized."""

    attribute: str
    level: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that can be chosen.

    Parameters
    ----------
    outliers
        Records that would be outliers afterwards.
    """

    choice: Choice
    outliers: int


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a method stands when it asks: counts and names that the policy declares, never a record's value.

    Parameters
    ----------
    records
        All of the table.
    outliers
        Those with a rare combination of values.
    levels
        The level of its hierarchy on which each attribute stands.
    alternatives
        By attribute in the order of the policy, then by level; at least one.
    """

    records: int
    outliers: int
    levels: Mapping[str, int]
    alternatives: tuple[Alternative, ...]


Holder: TypeAlias = Callable[[Situation], Choice | None]
"""Chooses one of the alternatives, or None to generalize nothing more."""


@dataclass(frozen=True, slots=True)
class RecodingGoal:
    """What a recoding must reach.

    Parameters
    ----------
    k
        Least individuals in a group.
    l
        Least distinct values of each sensitive attribute in a group; 1 asks for none.
    most_suppressed
        Records that may be suppressed, for methods that search for levels.
    holder
        Decides what a method leaves to the data's holder; without one its options do.
    draws
        For methods that choose among equals by chance; another generator asks for the same.
    """

    k: int
    l: int = 1  # noqa: E741 - the letter of the paper
    most_suppressed: int = 0
    holder: Holder | None = None
    draws: np.random.Generator | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.k < 1 or self.l < 1 or self.most_suppressed < 0:
            raise ValueError("k and l must be at least 1, and what may be suppressed at least 0")

    def short(self, table: Table, groups: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
        """Return which groups fall short of k or l; bool[count].

        Parameters
        ----------
        groups
            int64[n], the group of each row of the table, 0..count-1, negative for rows in none.
        """
        inside = groups >= 0
        held = groups[inside]
        short = people(held, count, table.individuals[inside]) < self.k
        if self.l > 1:
            for row in table.values:
                there = inside & (row >= 0)
                span = int(row.max(initial=0)) + 1
                pairs = np.unique(groups[there] * span + row[there])
                short |= np.bincount(pairs // span, minlength=count) < self.l
        return short


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a recoder did: counts, levels, and names that the policy declares; never a row's value."""

    action: str
    figures: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {_told(value)}" for name, value in self.figures.items())
        return f"{self.action}: {told}" if told else self.action


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return "[" + ", ".join(f"{name} {_told(own)}" for name, own in value.items()) + "]"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_told, value)) + "]"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Recoding:
    """What becomes of each cell and row.

    Parameters
    ----------
    low, high
        int32[q, n], the bounds of the published node.
    suppressed
        bool[n].
    steps
        How it came about.
    below_k
        Records, neither suppressed nor in a group that meets what was asked; 0 for methods that guarantee it.
    warnings
        What its options leave unprotected, in whole sentences.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    suppressed: NDArray[np.bool_]
    steps: tuple[Step, ...]
    below_k: int = 0
    warnings: tuple[str, ...] = ()


class Recoder(Protocol):
    """Recodes a table at once.

    A recoder is a frozen dataclass whose fields are the options of its method. The conformance suite says what must
    hold: each cell becomes a node above it, the same table gives the same answer, and each group of rows that are
    published alike meets what was asked, or is suppressed, where the method guarantees that.
    """

    across_groups: ClassVar[bool]
    """Whether it promises more, which may break when a whole group is suppressed."""

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return what becomes of the table.

        Raises
        ------
        SettingsError
            If an option names no attribute of the table, or the table is beyond the method.
        """
        ...
