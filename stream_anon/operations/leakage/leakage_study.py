"""What the attributes of a table leak, before and after a release: sets of them, ranked.

No value of anybody leaves here: names of attributes, bits and shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stream_anon.errors import InputError, SettingsError
from stream_anon.measures.disclosure import SensitiveColumn, disclosure
from stream_anon.measures.leakage import Exposure, exposure, leakage_after
from stream_anon.measures.ranking import ranked
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.diversity import Disclosure
from stream_anon.operations.disclosures import documents
from stream_anon.operations.leakage.presence_shares import PresenceLeakage, presence_leakage
from stream_anon.operations.studied_records import OriginalTable, Released
from stream_anon.rounding import in_percent

SCHEMA = 1
LARGEST_SET = 3
MOST_SETS = 2_000


@dataclass(frozen=True, slots=True)
class LeakageRequest:
    """What is to be ranked.

    Parameters
    ----------
    disclosed
        Names of quasi-identifiers that the attacker knows already.
    largest
        Attributes in a set, at the most.
    most
        Sets that are looked at, at the most.
    threshold
        Share of all that can leak above which a set leaks too much; None for no such bound.
    singled_out
        Share of individuals above which a set singles out too many of them; None for no such bound.
    """

    disclosed: tuple[str, ...] = ()
    largest: int = LARGEST_SET
    most: int = MOST_SETS
    threshold: float | None = None
    singled_out: float | None = None


@dataclass(frozen=True, slots=True)
class SetLeakage:
    """A set of attributes, by name.

    Parameters
    ----------
    bits, normalized
        What it leaks beyond what is disclosed, and the share that is of all that can leak.
    unique
        The share of individuals whom it singles out together with what is disclosed.
    after
        Bits and share for who holds the release instead of the table; None without one.
    """

    attributes: tuple[str, ...]
    bits: float
    normalized: float
    unique: float
    after: tuple[float, float] | None = None

    @property
    def judged(self) -> float:
        """Return the share that a threshold is compared with: after the release, where there is one."""
        return self.normalized if self.after is None else self.after[1]

    def shares(self, asked: LeakageRequest) -> list[str]:
        """Return what leaks, what leaks after a release if there is one, and who is singled out, in percent."""
        leaked = [self.normalized, *([] if self.after is None else [self.after[1]])]
        told = [in_percent(share, bound=asked.threshold) for share in leaked]
        return [*told, in_percent(self.unique, bound=asked.singled_out)]


@dataclass(frozen=True, slots=True)
class SensitiveLeakage:
    """What is given away of a sensitive attribute.

    Parameters
    ----------
    before
        By all quasi-identifiers of a record, as the policy codes them.
    after
        By the class of a released record; None without a release.
    """

    attribute: str
    before: Disclosure
    after: Disclosure | None = None


@dataclass(frozen=True, slots=True)
class LeakageReport:
    """What sets of attributes leak, by size, most first.

    Parameters
    ----------
    uncertainty
        Bits that tell one individual from all others.
    whole
        Whether all records of the source were looked at.
    released, suppressed
        Records of the release and those of the table that are not in it; None without a release.
    measured, implied, left
        See `stream_anon.measures.ranking.Ranking`.
    sensitive
        What is given away of each sensitive attribute.
    presence
        What is told of somebody's presence; None where the policy has no bound on it.
    """

    source: str
    asked: LeakageRequest
    records: int
    individuals: int
    rejected: int
    whole: bool
    uncertainty: float
    sets: tuple[SetLeakage, ...]
    measured: int
    implied: int
    left: int
    released: int | None = None
    suppressed: int | None = None
    sensitive: tuple[SensitiveLeakage, ...] = ()
    presence: PresenceLeakage | None = None

    @property
    def disclosed(self) -> dict[str, Disclosure]:
        """Return what classes of the release give away, by sensitive attribute; nothing without a release."""
        return {each.attribute: each.after for each in self.sensitive if each.after is not None}

    @property
    def above(self) -> tuple[SetLeakage, ...]:
        """Return the sets that leak more than the threshold allows."""
        threshold = self.asked.threshold
        return () if threshold is None else tuple(each for each in self.sets if each.judged > threshold)

    @property
    def singling_out(self) -> tuple[SetLeakage, ...]:
        """Return the sets that single out more individuals than is allowed, in the table whatever was released."""
        most = self.asked.singled_out
        return () if most is None else tuple(each for each in self.sets if each.unique > most)

    @property
    def judged_well(self) -> bool:
        """Return whether no set is above a bound that was asked for."""
        return not self.above and not self.singling_out

    def document(self) -> dict[str, Any]:
        """Return the report as an object that JSON can hold; schemas/leakage.schema.json describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "individuals": self.individuals,
            "records": self.records,
            "rejected": self.rejected,
            "whole": self.whole,
            "bits": self.uncertainty,
            "disclosed": list(self.asked.disclosed),
            "released": self.released,
            "suppressed": self.suppressed,
            "sets": [_set_document(each) for each in self.sets],
            "measured": self.measured,
            "implied": self.implied,
            "left": self.left,
            "threshold": self.asked.threshold,
            "above": len(self.above),
            "singled_out": self.asked.singled_out,
            "singling_out": len(self.singling_out),
            "sensitive": {
                "before": documents({each.attribute: each.before for each in self.sensitive}),
                "after": None if self.released is None else documents(self.disclosed),
            },
            **({} if self.presence is None else {"presence": asdict(self.presence)}),
        }


def _set_document(each: SetLeakage) -> dict[str, Any]:
    found: dict[str, Any] = {
        "attributes": list(each.attributes),
        "bits": each.bits,
        "normalized": each.normalized,
        "unique": each.unique,
    }
    if each.after is not None:
        found["after"] = {"bits": each.after[0], "normalized": each.after[1]}
    return found


def study_leakage(table: OriginalTable, asked: LeakageRequest, released: Released | None = None) -> LeakageReport:
    """Return what sets of attributes of a table leak, and what is given away of its sensitive attributes.

    O(n log n) for each set; for a release see `Boxes.matches`.

    Raises
    ------
    SettingsError
        If something is disclosed that is not a quasi-identifier.
    InputError
        If the release is not one of this table.
    """
    names = [attribute.name for attribute in table.policy.quasi_identifiers]
    unknown = [name for name in asked.disclosed if name not in names]
    if unknown:
        raise SettingsError(
            "--disclosed", f"{unknown[0]!r} is not a quasi-identifier; these are {', '.join(names)}"
        )
    known = tuple(names.index(name) for name in asked.disclosed)
    others = [place for place in range(len(names)) if place not in known]
    people = table.population
    before = exposure(people, known)
    seen: dict[tuple[int, ...], Exposure] = {}

    def leak(chosen: tuple[int, ...]) -> float:
        seen[chosen] = exposure(people, (*known, *chosen))
        return max(0.0, seen[chosen].bits - before.bits)

    everything = people.uncertainty - before.bits
    found = ranked(leak, others, everything, asked.largest, asked.most)
    after = _After(table, released, known) if released is not None else None
    scale = people.uncertainty or 1.0
    sets = tuple(
        SetLeakage(
            tuple(names[place] for place in each.attributes),
            each.bits,
            each.bits / scale,
            1.0 if each.implied else seen[each.attributes].unique,
            None if after is None else after.leakage(each.attributes),
        )
        for each in found.sets
    )
    return LeakageReport(
        table.source,
        asked,
        people.rows,
        people.size,
        table.rejected,
        table.whole,
        people.uncertainty,
        sets,
        found.measured,
        found.implied,
        found.left,
        None if released is None else released.records,
        None if after is None else after.suppressed,
        _sensitive(table, released),
        presence_leakage(table, released),
    )


def _sensitive(table: OriginalTable, released: Released | None) -> tuple[SensitiveLeakage, ...]:
    people = table.population
    tuples, _ = people.groups(range(len(people.codes)))
    return tuple(
        SensitiveLeakage(
            own.name,
            disclosure(tuples, SensitiveColumn.of(table.passed[own.name])),
            None
            if released is None
            else disclosure(released.classes, SensitiveColumn.of(released.passed[own.name])),
        )
        for own in table.policy.passed
        if isinstance(own, Sensitive) and own.name in table.passed
    )


class _After:
    """Measures what a release of a table leaks."""

    def __init__(self, table: OriginalTable, released: Released, known: tuple[int, ...]) -> None:
        self.suppressed = table.suppressed_in(released)
        self._table, self._released, self._known = table, released, known
        self._all = float(np.log2(table.population.rows)) or 1.0
        self._disclosed = self._bits(known)

    def leakage(self, chosen: tuple[int, ...]) -> tuple[float, float]:
        """Return the bits that a set leaks beyond what is disclosed, and their share of all."""
        bits = max(0.0, self._bits((*self._known, *chosen)) - self._disclosed)
        return bits, bits / self._all

    def _bits(self, attributes: Sequence[int]) -> float:
        try:
            return leakage_after(self._table.population, self._released.boxes, attributes, self.suppressed)
        except ValueError as error:
            raise InputError(
                f"{self._released.source}: is not a release of {self._table.source}: {error}"
            ) from None
