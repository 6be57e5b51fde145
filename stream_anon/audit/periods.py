"""Under which policies windows were released, when, and what each change of policy weakened."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from stream_anon.audit.judges import Judge
from stream_anon.audit.verdict import Change, Period
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.privacy.certificate import Certificate
from stream_anon.privacy.promises import promises_of, stated_in
from stream_anon.privacy.succession import InputLife, covered, unfollowed
from stream_anon.privacy.weakening import weakened

_MOST_PERIODS = 1_000


@dataclass
class _JudgedPeriod:
    period: Period
    judge: Judge
    stated: dict[str, Any]  # the engine and the terms, as certificates say
    starts: dict[InputLife, int] = field(default_factory=dict)  # of its first window on each partition
    ends: dict[InputLife, int] = field(default_factory=dict)  # of its last one

    def cover(self, certificate: Certificate) -> None:
        for life, start, end in covered(certificate.inputs):
            self.starts[life] = min(start, self.starts.get(life, start))
            self.ends[life] = max(end, self.ends.get(life, end))


def _least(*found: int | None) -> int | None:
    return min((k for k in found if k is not None), default=None)


class Periods:
    """Collects what certificates say of their policies.

    Attributes
    ----------
    accepted
        Windows by accepted risk.
    least
        Least number of individuals in a class of all windows, those of periods that are not kept too; None without
        a class.
    """

    def __init__(self) -> None:
        self.least: int | None = None
        self._held: dict[tuple[str, bool, str], _JudgedPeriod] = {}
        self.accepted: Counter[str] = Counter()

    def add(self, certificate: Certificate, judge: Judge) -> None:
        """Record a window and its judge."""
        if len(self.accepted) < _MOST_PERIODS:
            self.accepted.update(set(certificate.accepted))
        self.least = _least(self.least, certificate.achieved.k)
        stated = stated_in(certificate)
        key = (judge.promises, judge.on_trust, repr((stated, certificate.asked if judge.on_trust else None)))
        closed, revision = certificate.closed, certificate.revision
        if key not in self._held:
            if len(self._held) >= _MOST_PERIODS:
                return
            asked, least = certificate.asked.k, certificate.achieved.k
            new = Period(judge.promises, judge.on_trust, asked, revision, closed, closed, 1, least=least)
            self._held[key] = _JudgedPeriod(new, judge, stated)
            self._held[key].cover(certificate)
            return
        held = self._held[key]
        held.cover(certificate)
        old = held.period
        held.period = replace(
            old,
            revision=max(old.revision, revision),
            first=min(old.first, closed),
            last=max(old.last, closed),
            windows=old.windows + 1,
            least=_least(old.least, certificate.achieved.k),
        )

    def finish(self, given: Judge) -> tuple[tuple[Period, ...], Change | None]:
        """Return the periods in the order of their first windows, and what the given policy would change.

        Offsets tell this order, and which window is the last one; where periods share no partition, times do. Each
        is compared with the one before, and the given policy with that of the last window; None where this is the
        same.
        """
        ordered = _in_order(self._held.values())
        before: _JudgedPeriod | None = None
        periods = []
        for held in ordered:
            change = None if before is None else _change(before, held)
            periods.append(replace(held.period, change=change))
            before = held
        unsurpassed = [ordered[n] for n in unfollowed([held.ends for held in ordered])]
        last = max(unsurpassed, key=lambda held: held.period.last, default=None)
        if last is None or last.judge.promises == given.promises:
            return tuple(periods), None
        return tuple(periods), _change(last, replace(last, judge=given))


def _in_order(held: Iterable[_JudgedPeriod]) -> list[_JudgedPeriod]:
    """Return periods so that each comes after those that began before it on one of its partitions.

    Where offsets leave a choice, or contradict each other, the one whose first window closed first comes first.
    """
    waiting = sorted(held, key=lambda each: each.period.first)
    began: dict[InputLife, list[int]] = defaultdict(list)
    for each in waiting:
        for life, start in each.starts.items():
            began[life].append(start)
    for starts in began.values():
        starts.sort(reverse=True)
    ordered: list[_JudgedPeriod] = []
    while waiting:
        free = (n for n, each in enumerate(waiting) if all(began[p][-1] == s for p, s in each.starts.items()))
        each = waiting.pop(next(free, 0))
        for life, start in each.starts.items():
            began[life].remove(start)
        ordered.append(each)
    return ordered


def _change(before: _JudgedPeriod, after: _JudgedPeriod) -> Change:
    old, new = (promises_of(held.judge.policy) | held.stated for held in (before, after))
    if before.judge.on_trust or after.judge.on_trust:
        # One of them is known only by what it asks. The names that it uses are declared nowhere.
        old, new = (
            promises
            | {
                "asked": promises["asked"] | {"distinct_l": {}, "sensitive": {}},
                "individual": {"field": EVERY_RECORD},
            }
            | {"attributes": {}, "extra_levels": 0}
            for promises in (old, new)
        )
    return Change(
        tuple(str(one) for one in weakened(old, new)),
        tuple(one.place for one in weakened(new, old)),
    )
