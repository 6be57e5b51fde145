"""How the sensitive values of a class are spread, counted from records alone: no code of the gate's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, inf, log, log2
from typing import Any

from stream_anon.audit.verdict import Kind
from stream_anon.microdata.diversity import Disclosure, Diversity, Surest

_ROUNDED = 1e-6  # a figure that was computed otherwise
NULL = "null"  # a missing value of a family, which has no such text
CLOSE = 1e-9  # sums of floats in another order differ by less


@dataclass(slots=True)
class Shown:
    """The values of a sensitive attribute in some records, and how many records have none.

    Of lists `values` counts the records that hold each item, `lists` those that hold any, and `whole_lists` those
    that hold the same items. With `null_is_value` a missing value is a value of its own, in a family.
    """

    values: Counter[Any] = field(default_factory=Counter)
    missing: int = 0
    lists: int = 0
    whole_lists: Counter[frozenset[Any]] = field(default_factory=Counter)
    null_is_value: bool = False

    def add(self, value: Any) -> None:
        """Count one record's value; of a list each item once."""
        if value is None and self.null_is_value:
            self.values[NULL] += 1
        elif value is None or value == []:
            self.missing += 1
        elif isinstance(value, list):
            self.lists += 1
            held = frozenset(value)
            self.values.update(held)
            self.whole_lists[held] += 1
        else:
            self.values[value] += 1

    def breaks(self, families: Iterable[frozenset[Any]]) -> bool:
        """Return whether one of the families has a value here and not all; `NULL` is a missing one."""
        return any(not family.isdisjoint(self.values) and not family <= self.values.keys() for family in families)

    @property
    def distinct(self) -> int:
        """Return the number of values; of lists how often the most frequent item goes into their number."""
        if self.lists:
            return self.lists // max(self.values.values())
        return len(self.values)

    @classmethod
    def together(cls, parts: Iterable[Shown]) -> Shown:
        """Return what the records of all parts show."""
        answer = cls()
        for part in parts:
            answer.values.update(part.values)
            answer.missing += part.missing
            answer.lists += part.lists
            answer.whole_lists.update(part.whole_lists)
        return answer

    @property
    def records(self) -> int:
        """Return the number of records."""
        return self.missing + (self.lists or self.values.total())

    @property
    def unknown_bits(self) -> float:
        """Return the entropy of a record's value times the number of records; a missing value is one too."""
        records = self.records
        counts = [*(self.whole_lists or self.values).values(), *([self.missing] if self.missing else [])]
        return sum((count * log2(records / count) for count in counts), 0.0)

    @property
    def most(self) -> int:
        """Return how many records have the most frequent value; of lists, hold the most frequent item."""
        return max(self.missing, *self.values.values(), 0)

    @property
    def entropy_l(self) -> float:
        """Return the exponential of the entropy, 1 for no value."""
        total = self.values.total()
        return exp(-sum(count / total * log(count / total) for count in self.values.values()))

    @property
    def alpha(self) -> float:
        """Return the share of the most frequent value, 0 for no value."""
        return max(self.values.values(), default=0) / max(self.values.total(), 1)

    def recursive_c(self, least: int) -> float:
        """Return what c must exceed: r1 / (r_l + .. + r_m), infinite for fewer than l values."""
        counts = sorted(self.values.values(), reverse=True)
        rest = sum(counts[least - 1 :])
        return counts[0] / rest if rest else inf

    def distance(self, whole: Shown, ordered: bool) -> float:
        """Return the earth mover's distance from the distribution of all records, missing ones beside it.

        Both have at least one record.
        """
        here, there = self.values.total(), whole.values.total()
        values = sorted(whole.values) if ordered else list(whole.values)
        gaps = [self.values[value] / max(here, 1) - whole.values[value] / there for value in values]
        moved = accumulate(gaps) if ordered else gaps
        distance = sum(map(abs, moved)) / (max(len(values) - 1, 1) if ordered else 2)
        missing = abs(self.missing / (here + self.missing) - whole.missing / (there + whole.missing))
        return max(distance if here else 0.0, missing)

    def ratios(self, whole: Shown) -> list[float]:
        """Return for each value of all records its share here over its share there; last, of missing ones alike."""
        here, there = self.values.total(), whole.values.total()
        ratios = [self.values[value] * there / (max(here, 1) * count) for value, count in whole.values.items()]
        if whole.missing:
            records, all_records = here + self.missing, there + whole.missing
            ratios.append(self.missing * all_records / (max(records, 1) * whole.missing))
        return ratios

    def delta(self, whole: Shown) -> float:
        """Return what delta must exceed: the largest logarithm of a ratio, infinite if a value is absent."""
        return max((abs(log(ratio)) if ratio else inf for ratio in self.ratios(whole)), default=0.0)

    def beta(self, whole: Shown) -> float:
        """Return the largest relative gain of a value's share, 0 where none gained."""
        return max([0.0, *(ratio - 1 for ratio in self.ratios(whole))])


@dataclass(frozen=True, slots=True)
class Bound:
    """One figure that is asked of every class.

    Parameters
    ----------
    figure
        Its name among what a certificate says was achieved.
    asked
        What it must not exceed, or must reach.
    shown
        Returns what a class shows, given all records of its window.
    fault
        What a class violates that exceeds it.
    strict
        It must not be equal either.
    rising
        More is better; it is compared by its logarithm.
    """

    figure: str
    asked: float
    shown: Callable[[Shown, Shown], float]
    fault: Kind
    strict: bool = False
    rising: bool = False

    def is_met(self, shown: Shown, whole: Shown) -> bool:
        """Return whether a class meets it."""
        figure = self.shown(shown, whole)
        if self.rising:
            return log(figure) >= log(self.asked) - CLOSE
        return figure < self.asked - CLOSE if self.strict else figure <= self.asked + CLOSE


def bounds(asked: Diversity) -> list[Bound]:
    """Return the bounds on frequencies that are asked for."""
    recursion, closeness = asked.recursive_cl, asked.t_closeness
    found = []
    if asked.entropy_l is not None:
        found.append(Bound("entropy_l", asked.entropy_l, _entropy_l, Kind.UNEVEN_VALUES, rising=True))
    if recursion is not None:
        rank = recursion.l
        tilt = Bound(
            "recursive_c", recursion.c, lambda own, _: own.recursive_c(rank), Kind.UNEVEN_VALUES, strict=True
        )
        found.append(tilt)
    if asked.alpha is not None:
        found.append(Bound("alpha", asked.alpha, lambda own, _: own.alpha, Kind.UNEVEN_VALUES))
    if closeness is not None:
        found.append(
            Bound("t", closeness.t, lambda own, whole: own.distance(whole, asked.ordered), Kind.DISTANT_VALUES)
        )
    if asked.delta_disclosure is not None:
        found.append(Bound("delta", asked.delta_disclosure, Shown.delta, Kind.DISTANT_VALUES, strict=True))
    if asked.beta_likeness is not None:
        found.append(Bound("beta", asked.beta_likeness, Shown.beta, Kind.DISTANT_VALUES))
    return found


def disclosed(parts: Sequence[Shown], whole: Shown) -> Disclosure:
    """Return what classes give away of a sensitive attribute beside the distribution of their window.

    Parameters
    ----------
    parts, whole
        What the classes show, and all of them together.
    """
    records = max(whole.records, 1)
    prior = whole.unknown_bits / records
    worst = max(((part.most / part.records, part.records) for part in parts if part.records), default=None)
    return Disclosure(
        whole.records,
        prior,
        max(0.0, prior - sum(part.unknown_bits for part in parts) / records),
        whole.most / records,
        None if worst is None else Surest(worst[1], worst[0]),
        sum(part.records for part in parts if part.most == part.records),
    )


def faults(shown: Shown, whole: Shown, asked: Diversity) -> list[Kind]:
    """Return what a class's values violate, each once."""
    few = [Kind.TOO_FEW_VALUES] if shown.distinct < asked.values else []
    return [*few, *dict.fromkeys(each.fault for each in bounds(asked) if not each.is_met(shown, whole))]


def is_true(achieved: Mapping[str, float], parts: Sequence[Shown], whole: Shown, asked: Diversity) -> bool:
    """Return whether a certificate states each requested figure, within its bound and not embellished.

    Parameters
    ----------
    achieved
        The figures by name.
    parts, whole
        What the classes show, and all of them together.
    """
    asks = bounds(asked)
    if achieved.keys() != {each.figure for each in asks}:
        return False
    for each in asks:
        sign = -1 if each.rising else 1
        worst = max((sign * each.shown(shown, whole) for shown in parts), default=0.0)
        if not worst - _ROUNDED <= sign * achieved[each.figure] <= sign * each.asked + _ROUNDED:
            return False
    return True


def _entropy_l(shown: Shown, whole: Shown) -> float:  # noqa: ARG001 - as of other bounds
    return shown.entropy_l
