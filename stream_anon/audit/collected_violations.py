"""Collect violations: the worst first, and a bounded number of each kind; and what classes give away."""

from __future__ import annotations

from collections import Counter

from stream_anon.audit.verdict import Kind, Violation
from stream_anon.microdata.diversity import Disclosure

MOST_OF_A_KIND = 100
WORST_FIRST = (
    Kind.IDENTIFYING_FIELD,
    Kind.UNDECLARED_FIELD,
    Kind.WRONG_SCHEMA,
    Kind.TOO_FEW_INDIVIDUALS,
    Kind.TOO_FEW_RECORDS,
    Kind.TOO_FEW_SHIELDED,
    Kind.WRONG_ACHIEVED_SHIELD,
    Kind.TOO_FEW_VALUES,
    Kind.BROKEN_FAMILY,
    Kind.UNEVEN_VALUES,
    Kind.DISTANT_VALUES,
    Kind.OVERLAP,
    Kind.LIVES_MIXED,
    Kind.EXTRA_RECORDS,
    Kind.UNCERTIFIED_CLASS,
    Kind.WRONG_DIGEST,
    Kind.ILLEGAL_VALUE,
    Kind.ILLEGAL_CLASS_VALUE,
    Kind.METADATA,
)
"""The kinds that show a person, or a promise broken; the others follow in the order of `Kind`."""


class CollectedViolations:
    """Collects violations; equal ones are counted, not repeated, and one kind cannot crowd out another."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Kind, str | None, int | None, str | None], int] = {}
        self._listed: Counter[Kind] = Counter()
        self._more: Counter[Kind] = Counter()
        self._disclosed: dict[str, Disclosure] = {}

    def add(
        self,
        kind: Kind,
        batch: str | None = None,
        number: int | None = None,
        attribute: str | None = None,
        count: int = 1,
    ) -> None:
        """Note a violation."""
        key = (kind, batch, number, attribute)
        if key not in self._counts:
            if self._listed[kind] >= MOST_OF_A_KIND:
                self._more[kind] += 1
                return
            self._listed[kind] += 1
        self._counts[key] = self._counts.get(key, 0) + count

    def disclose(self, attribute: str, found: Disclosure) -> None:
        """Note what the classes of a window give away of a sensitive attribute: no violation by itself."""
        known = self._disclosed.get(attribute)
        self._disclosed[attribute] = found if known is None else known.joined(found)

    @property
    def disclosed(self) -> dict[str, Disclosure]:
        """Return what the classes of all windows give away, by attribute."""
        return dict(self._disclosed)

    def listed(self) -> tuple[Violation, ...]:
        """Return what was found, worst first."""
        ordered = sorted(self._counts.items(), key=lambda item: _RANK[item[0][0]])
        return tuple(Violation(*key, count) for key, count in ordered)

    def totals(self) -> dict[Kind, int]:
        """Return how many violations each kind has, worst first."""
        totals = self._listed + self._more
        return {kind: totals[kind] for kind in sorted(totals, key=_RANK.__getitem__)}

    @property
    def more(self) -> int:
        """Return the number of violations that are not listed."""
        return self._more.total()


_RANK = {kind: rank for rank, kind in enumerate(dict.fromkeys((*WORST_FIRST, *Kind)))}
