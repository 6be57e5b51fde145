"""What a sample of the input says about a run: pure functions of a policy and raw values.

The engine itself makes the forecast, on the sample in order of time. Nothing that leaves here holds a person's
value: only counts, shares, and names that the policy declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.codecs import codec_of
from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.window import SealedWindow
from stream_anon.measures.disclosure import disclosed_by
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason, Rejects
from stream_anon.microdata.coding import Passed
from stream_anon.microdata.diversity import Disclosure
from stream_anon.microdata.payload import Payload, taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release, Suppression
from stream_anon.ports import Codec
from stream_anon.service.starting.missing_values import MissingValues, missing_values
from stream_anon.service.starting.replay import replayed
from stream_anon.service.starting.singling import Singled, singled
from stream_anon.service.starting.spellings import Spelling, spellings

MOST_LINKABLE = 0.05  # a field may pass if at most this share of its values is rare

_Outcome = tuple[SealedWindow, Release]  # a window, and what becomes of it


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Raw records of the input in order of time.

    Parameters
    ----------
    values
        As they are in the topic; None for a record without a value.
    times
        float64[n], ascending seconds: the broker's timestamps, in the place of a run's arrival times.
    """

    values: Sequence[bytes | None]
    times: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.times):
            raise ValueError("a sample has one time for each value")
        if (np.diff(self.times) < 0).any():
            raise ValueError("a sample's times must ascend")

    def __len__(self) -> int:
        return len(self.values)

    @property
    def seconds(self) -> float:
        """Return the time between its first and its last record."""
        return float(self.times[-1] - self.times[0]) if len(self.times) else 0.0


@dataclass(frozen=True, slots=True)
class RejectCount:
    """Records of the sample that would become dead letters for one reason."""

    reason: str
    attribute: str | None
    records: int


@dataclass(frozen=True, slots=True)
class RareValues:
    """How much of a field that passes is held by fewer than k individuals.

    Parameters
    ----------
    records
        Records whose value is rare.
    share
        Of all records that fit the policy; it decides.
    share_in_windows
        Of the records that the forecast's windows publish, the share whose value is rare within its window; None if
        they publish nothing. It matters since every record names its window, and k holds in each.
    values, rare
        Distinct values, and how many of them are rare.
    accepted
        Whether the policy says that somebody has weighed it.
    """

    attribute: str
    records: int
    share: float
    share_in_windows: float | None
    values: int
    rare: int
    accepted: bool

    @property
    def too_many(self) -> bool:
        """Return whether the field may not pass as it is."""
        return self.share > MOST_LINKABLE and not self.accepted

    @property
    def too_many_in_windows(self) -> bool:
        """Return whether somebody should weigh what the field reveals within a window."""
        return (self.share_in_windows or 0.0) > MOST_LINKABLE and not self.accepted


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the engine makes of the sample.

    Parameters
    ----------
    windows
        Windows that it filled. The last one is cut off by the end of the sample and counts only if there is no
        other.
    whole
        False if that window is the only one: a run's windows hold more.
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


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that a sample shows.

    Parameters
    ----------
    records
        Records of the sample, without those that are ignored.
    fit
        Records that fit the policy.
    individuals
        Distinct individuals among them.
    singled, singled_left
        The sets of one, two and three quasi-identifiers that single most people out, and how many were left out.
    ignored
        Further records, which are neither published nor dead letters.
    given_away
        What classes of the forecast give away, by sensitive attribute; empty without a class.
    """

    records: int
    seconds: float
    fit: int
    individuals: int
    rejects: tuple[RejectCount, ...]
    rare: tuple[RareValues, ...]
    forecast: Forecast | None
    missing: tuple[MissingValues, ...] = ()
    spellings: tuple[Spelling, ...] = ()
    singled: tuple[Singled, ...] = ()
    singled_left: int = 0
    ignored: int = 0
    given_away: Mapping[str, Disclosure] = field(default_factory=dict)

    @property
    def rejected_share(self) -> float:
        """Return the share of records that would become dead letters."""
        return 1 - self.fit / self.records if self.records else 0.0


def study(policy: Policy, sample: Sample, codec: Codec | None = None) -> Study:
    """Return what a sample tells about a run under a policy; O(n log n), a few microseconds a record.

    Parameters
    ----------
    codec
        What reads the input; without it records are JSON.
    """
    codec = codec or codec_of(policy)
    batch = codec.decode(sample.values, 0, np.arange(len(sample), dtype=np.int64))
    dead, texts = batch.rejects.dead, codec.inner(sample.values)
    windows, whole = _released(policy, batch, sample.times) if len(batch) else ([], False)
    sets, left = singled(policy, batch) if len(batch) else ((), 0)
    return Study(
        records=len(batch) + len(dead),
        ignored=len(batch.rejects) - len(dead),
        seconds=sample.seconds,
        fit=len(batch),
        individuals=len(np.unique(batch.individuals)),
        rejects=_reject_counts(policy, dead),
        rare=_rare_values(policy, batch, windows),
        forecast=_forecast(windows, whole) if len(batch) else None,
        missing=missing_values(policy, batch, texts),
        spellings=spellings(policy, texts),
        singled=sets,
        singled_left=left,
        given_away=disclosed_by(policy, [release for _, release in windows]),
    )


def _reject_counts(policy: Policy, rejects: Rejects) -> tuple[RejectCount, ...]:
    counts = Counter(zip(rejects.reasons.tolist(), rejects.attributes.tolist(), strict=True))
    return tuple(
        RejectCount(Reason(reason).label, None if place == NO_ATTRIBUTE else policy.attributes[place].name, records)
        for (reason, place), records in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _rare_values(policy: Policy, batch: CodedBatch, windows: Sequence[_Outcome]) -> tuple[RareValues, ...]:
    """Return for each field that passes how many records hold a value of fewer than k individuals."""
    published = [
        (taken(release.payload, release.order), window.columns.individuals[release.order])
        for window, release in windows
    ]
    total = sum(release.released for _, release in windows)
    found = []
    for place, attribute in enumerate(policy.passed):
        records, values, rare = _rarity(policy.k, place, batch.payload, batch.individuals)
        within = sum(_rarity(policy.k, place, payload, people)[0] for payload, people in published)
        found.append(
            RareValues(
                attribute.name,
                records,
                records / len(batch) if len(batch) else 0.0,
                within / total if total else None,
                values,
                rare,
                attribute.accept_linkable,
            )
        )
    return tuple(found)


def _rarity(k: int, place: int, payload: Payload, people: NDArray[np.integer]) -> tuple[int, int, int]:
    """Return how many records have a rare value, how many values there are, and how many of them are rare."""
    column = [passed[place] for passed in cast("Sequence[Passed]", payload)]
    held = Counter(value for value, _ in set(zip(column, people.tolist(), strict=True)))
    return sum(held[value] < k for value in column), len(held), sum(holders < k for holders in held.values())


def _released(policy: Policy, batch: CodedBatch, times: NDArray[np.float64]) -> tuple[list[_Outcome], bool]:
    """Run the sample through the engine by its own times; return the windows, and whether they are whole."""
    # The draws decide window lengths between 0.9 and 1 times max_delay; nothing here is published.
    draws = np.random.default_rng(0)
    engine = Engine(policy, draws=draws)
    engine.open(0, 0)
    arrivals = times[batch.offsets]
    sealed = [window for window, _ in replayed(engine, batch, arrivals, policy.window.max_records)]
    rest = engine.seal(float(arrivals[-1]))
    closer = Closer(policy)
    windows = sealed or ([rest] if rest else [])
    return [(window, closer.release(window, draws)) for window in windows], bool(sealed)


def _forecast(windows: Sequence[_Outcome], whole: bool) -> Forecast:
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
