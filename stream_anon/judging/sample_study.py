"""What a sample says about a run, or a table about its release: pure functions of a policy and records.

The engine itself makes the forecast, on the sample in order of time. Nothing that leaves here holds a person's
value: only counts, shares, and names that the policy declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.part_losses import PartLosses, loss_of
from stream_anon.formats.codecs import codec_of
from stream_anon.judging.disguises.resembling import Disguise
from stream_anon.judging.forecasting.forecast import Forecast, Outcome, forecast_of, released_by, shares_in_windows
from stream_anon.judging.forecasting.loss_by_delay import LossByDelay, loss_by_delay
from stream_anon.judging.missing_values import MissingValues
from stream_anon.judging.one_table import becomes_one
from stream_anon.judging.one_table import whole as as_one_window
from stream_anon.judging.rest_values import RestValues, rest_values
from stream_anon.judging.singling import Singled, singled
from stream_anon.judging.spellings import Spelling, spellings
from stream_anon.judging.tally import RareValues, Tally
from stream_anon.measures.disclosure import disclosed_by
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason
from stream_anon.microdata.diversity import Disclosure
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec

LEAST_SAMPLED, MOST_SAMPLED = 10_000, 50_000  # records in all; two windows, if they hold a number between these


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
        The set of one, of two and of three quasi-identifiers that singles most people out, and how many sets were
        not looked at.
    ignored
        Further records, which are neither published nor dead letters.
    whole
        Whether these are all records of the input.
    given_away
        What classes of the forecast give away, by sensitive attribute; empty without a class.
    rest
        What would be published as the rest of an attribute, whose values no family lists.
    by_delay
        What the stream loses at its rate; None for a table, and for a sample of one moment.
    disguises
        Fields that pass as they are, and look like identifiers.
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
    whole: bool = False
    given_away: Mapping[str, Disclosure] = field(default_factory=dict)
    rest: tuple[RestValues, ...] = ()
    by_delay: LossByDelay | None = None
    disguises: tuple[Disguise, ...] = ()

    @property
    def rejected_share(self) -> float:
        """Return the share of records that would become dead letters."""
        return 1 - self.fit / self.records if self.records else 0.0


def sampled_by(policy: Policy) -> int:
    """Return how many records a sample should have."""
    return min(max(2 * policy.window.max_records, LEAST_SAMPLED), MOST_SAMPLED)


def study(policy: Policy, sample: Sample, codec: Codec | None = None) -> Study:
    """Return what a sample tells about a run under a policy; O(n log n), a few microseconds a record.

    Parameters
    ----------
    codec
        What reads the input; without it records are JSON.
    """
    codec = codec or codec_of(policy)
    batch = codec.decode(sample.values, 0, np.arange(len(sample), dtype=np.int64))
    seen = _Seen(policy)
    seen.add(batch)
    windows, full = released_by(policy, batch, sample.times[batch.offsets]) if len(batch) else ([], False)
    found = seen.study(batch, windows, full, codec.inner(sample.values), sample.seconds)
    return replace(found, by_delay=_by_delay(policy, windows, sample))


def _by_delay(policy: Policy, windows: Sequence[Outcome], sample: Sample) -> LossByDelay | None:
    """Return what the windows of a sample, and parts of the largest, tell about its rate."""
    if not windows or not sample.seconds:
        return None
    seen = [loss for _, release in windows if (loss := loss_of(release)) is not None]
    largest = max(windows, key=lambda each: each[1].released)
    seen += PartLosses(policy, np.random.default_rng(0)).of(*largest, policy.crowd)
    return loss_by_delay(seen, len(sample) / sample.seconds, policy.window)


def study_table(policy: Policy, batches: Iterable[CodedBatch], texts: Sequence[bytes | None]) -> Study:
    """Return what all records of a table tell about its release; see `study`.

    All of them are counted. The forecast and people who are singled out are of the first ones, as many as a sample
    has: these become one table, as all of them will, which loses less. A policy with a method has no forecast.

    Parameters
    ----------
    texts
        The first records as JSON, for the spelling of ids and of keys; empty where they are not known.
    """
    seen, first, whole = _Seen(policy), [CodedBatch.none(len(policy.quasi_identifiers), len(policy.diverse))], True
    for batch in batches:
        seen.add(batch)
        if sum(map(len, first)) < sampled_by(policy):
            first.append(batch)
        else:
            whole = False
    batch = CodedBatch.concatenate(first)
    windows: list[Outcome] = []
    if len(batch) and policy.method is None:
        one = becomes_one(policy)
        windows, _ = released_by(
            as_one_window(policy) if one else policy, batch, np.zeros(len(batch)), rest=whole or one
        )
    return seen.study(batch, windows, bool(windows), texts, 0.0, whole=True)


class _Seen:
    """What is counted in all records, and the study of some of them."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self._tally = policy, Tally(policy)
        self._faults: Counter[tuple[int, int]] = Counter()
        self._people: list[NDArray[np.int64]] = []
        self._ignored = 0

    def add(self, batch: CodedBatch) -> None:
        self._tally.add(batch)
        dead = batch.rejects.dead
        self._faults.update(zip(dead.reasons.tolist(), dead.attributes.tolist(), strict=True))
        self._ignored += len(batch.rejects) - len(dead)
        self._people.append(batch.individuals)

    def study(
        self,
        batch: CodedBatch,
        windows: Sequence[Outcome],
        full: bool,
        texts: Iterable[bytes | None],
        seconds: float,
        whole: bool = False,
    ) -> Study:
        policy, tally = self._policy, self._tally
        sets, left = singled(policy, batch) if len(batch) else ((), 0)
        return Study(
            records=tally.records,
            ignored=self._ignored,
            seconds=seconds,
            fit=tally.fit,
            individuals=len(np.unique(np.concatenate(self._people))) if self._people else 0,
            rejects=_reject_counts(policy, self._faults),
            rare=tally.rare(shares_in_windows(policy, windows)),
            forecast=forecast_of(windows, full) if windows else None,
            missing=tally.missing(texts),
            spellings=spellings(policy, texts),
            singled=sets,
            singled_left=left,
            whole=whole,
            given_away=disclosed_by(policy, [release for _, release in windows]),
            rest=rest_values(policy, batch, texts),
            disguises=tally.disguises(),
        )


def _reject_counts(policy: Policy, counts: Counter[tuple[int, int]]) -> tuple[RejectCount, ...]:
    return tuple(
        RejectCount(Reason(reason).label, None if place == NO_ATTRIBUTE else policy.attributes[place].name, records)
        for (reason, place), records in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
