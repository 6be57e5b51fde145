"""What the engine would make of records, window by window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.judging.forecasting.replay import replayed
from stream_anon.judging.tally import Rarity
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.payload import taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release, Suppression

Outcome = tuple[SealedWindow, Release]
"""A window, and what becomes of it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the engine makes of a sample, or of all records of a file.

    Parameters
    ----------
    windows
        Windows that it filled. The last one is cut off by the end of a sample, and counts only if there is no
        other; that of a file of which all records were replayed counts, since its release ends there too.
    whole
        False if the only window is one that the end of a sample cut off: a run's windows hold more.
    above
        Windows that suppress more records than `max_suppressed`.
    short
        Windows with fewer than k individuals or too few sensitive values for a single class.
    individuals
        Median number of individuals in a window.
    suppressed
        Records by reason.
    """

    windows: int
    whole: bool
    short: int
    records: int
    individuals: int
    released: int
    suppressed: dict[str, int]
    achieved_k: int | None
    gcp: float | None
    above: int = 0

    @property
    def over_limit(self) -> float:
        """Return the share of records beyond their individual's limit."""
        return self.suppressed.get(str(Suppression.OVER_LIMIT), 0) / self.records if self.records else 0.0

    @property
    def suppressed_share(self) -> float:
        """Return the share of records that would not be published."""
        return sum(self.suppressed.values()) / self.records if self.records else 0.0


def shares_in_windows(policy: Policy, windows: Sequence[Outcome]) -> list[float | None]:
    """Return for each field that passes which share of what is published is rare within its window."""
    rare, total = [0] * len(policy.passed), sum(release.released for _, release in windows)
    for window, release in windows:
        people = window.columns.individuals[release.order].tolist()
        for place, column in enumerate(zip(*taken(release.payload, release.order), strict=True)):
            rarity = Rarity(policy.crowd)
            rarity.add(column, people)
            rare[place] += rarity.records
    return [records / total if total else None for records in rare]


def released_by(
    policy: Policy, batch: CodedBatch, arrivals: NDArray[np.float64], rest: bool = False
) -> tuple[list[Outcome], bool]:
    """Run records through the engine by their times of arrival; return the windows, and whether they are whole.

    The window that the end of the records cuts off counts if there is no other, or with `rest`.
    """
    # The draws decide window lengths between 0.9 and 1 times max_delay; nothing here is published.
    draws = np.random.default_rng(0)
    engine = Engine(policy, draws=draws)
    engine.open(0, 0)
    sealed = [window for window, _ in replayed(engine, batch, arrivals)]
    last = engine.seal(float(arrivals[-1]))
    closer = Closer(policy)
    windows = [*sealed, last] if last and (rest or not sealed) else sealed
    return [(window, closer.release(window, draws)) for window in windows], bool(sealed)


def forecast_of(windows: Sequence[Outcome], whole: bool) -> Forecast:
    """Return what becomes of the records of these windows; `whole` unless the only one is cut off."""
    releases = [release for _, release in windows]
    records = sum(release.records_in for release in releases)
    suppressed: Counter[str] = Counter()
    for release in releases:
        suppressed.update({str(reason): count for reason, count in release.suppressed.items()})
    return Forecast(
        windows=len(windows),
        whole=whole,
        short=sum(Suppression.SHORTFALL in release.suppressed for release in releases),
        records=records,
        individuals=int(np.median([window.individuals for window, _ in windows])) if windows else 0,
        released=sum(release.released for release in releases),
        suppressed=dict(suppressed),
        achieved_k=min((r.achieved_k for r in releases if r.achieved_k is not None), default=None),
        gcp=sum((r.gcp or 0.0) * r.records_in for r in releases) / records if records else None,
        above=sum(release.above_max_suppressed for release in releases),
    )
