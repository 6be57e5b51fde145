"""How the sensitive values of a class are spread, counted from records alone: no code of the gate's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, inf, log
from typing import Any

from stream_anon.audit.verdict import Kind
from stream_anon.microdata.policy import Diversity

CLOSE = 1e-9  # sums of floats in another order differ by less


@dataclass(slots=True)
class Shown:
    """The values of a sensitive attribute in some records, and how many records have none."""

    values: Counter[Any] = field(default_factory=Counter)
    missing: int = 0

    def add(self, value: Any) -> None:
        """Count one record's value."""
        if value is None:
            self.missing += 1
        else:
            self.values[value] += 1

    @classmethod
    def together(cls, parts: Iterable[Shown]) -> Shown:
        """Return what the records of all parts show."""
        answer = cls()
        for part in parts:
            answer.values.update(part.values)
            answer.missing += part.missing
        return answer

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


def faults(shown: Shown, whole: Shown, asked: Diversity) -> list[Kind]:
    """Return what a class's values violate."""
    found = []
    if len(shown.values) < asked.values:
        found.append(Kind.TOO_FEW_VALUES)
    recursion, closeness = asked.recursive_cl, asked.t_closeness
    if (
        (asked.entropy_l is not None and log(shown.entropy_l) < log(asked.entropy_l) - CLOSE)
        or (recursion is not None and shown.recursive_c(recursion.l) >= recursion.c - CLOSE)
        or (asked.alpha is not None and shown.alpha > asked.alpha + CLOSE)
    ):
        found.append(Kind.UNEVEN_VALUES)
    if closeness is not None and shown.distance(whole, asked.ordered) > closeness.t + CLOSE:
        found.append(Kind.DISTANT_VALUES)
    return found
