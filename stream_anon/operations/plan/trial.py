"""Try one setting on a sample: the engine itself, with the records arriving by a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.engine.window import SealedWindow
from stream_anon.errors import SettingsError
from stream_anon.judging.forecasting.replay import replayed
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import MOST_K_FOREST, Policy
from stream_anon.microdata.release import Release
from stream_anon.operations.plan.arrivals import Arrivals
from stream_anon.windowing.loss_law import WindowLoss

_QUANTILE = 0.95


@dataclass(frozen=True, slots=True)
class Setting:
    """What is tried.

    Parameters
    ----------
    l
        Distinct values of each sensitive attribute; None for what the policy asks, 1 for none.
    max_records, max_delay
        When a window closes: records, and seconds.
    """

    k: int
    l: int | None  # noqa: E741 - the letter of the paper
    engine: str
    max_records: int
    max_delay: float

    @property
    def promise(self) -> str:
        """Return k, and l if one is tried."""
        return f"k {self.k}" + (f", l {self.l}" if self.l is not None else "")


@dataclass(frozen=True, slots=True)
class Figures:
    """What a setting costs, over the windows that the sample fills.

    Parameters
    ----------
    windows
        Windows that became full or due; the one that the end of the sample cuts off is left out.
    records
        Records of these windows that were released or suppressed.
    mean_delay, late_delay, longest_delay
        Seconds from a record's arrival to the close of its window: the mean, what 95 % do not exceed, and the most.
        The time in which the engine closes a window and Kafka publishes it comes on top.
    suppressed
        Share of `records`.
    loss
        GCP: the mean NCP over `records`, where a suppressed record counts 1.
    least_individuals
        Of the smallest class; None if nothing was released.
    """

    windows: int
    records: int
    mean_delay: float
    late_delay: float
    longest_delay: float
    suppressed: float
    loss: float
    least_individuals: int | None

    @property
    def published(self) -> WindowLoss | None:
        """Return the published records of a mean window and their loss; None where nothing was published."""
        suppressed = round(self.suppressed * self.records)
        found = WindowLoss.of_published(self.loss, self.records - suppressed, suppressed)
        return None if found is None else WindowLoss(found.records // self.windows, found.loss)


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting, and its figures, or why it has none."""

    setting: Setting
    figures: Figures | None
    reason: str = ""


def with_setting(policy: Policy, setting: Setting, seed: int) -> Policy:
    """Return the policy with a setting in place of its own; SettingsError if these contradict each other."""
    engine, records = policy.engine, setting.max_records
    if policy.window.auto and setting.engine == "k-forest":
        records = min(records, MOST_K_FOREST)
    if setting.engine != engine.name:
        # What one engine is told, another one does not know.
        engine = replace(engine, relaxed=False, least_loss=False, order=None, rounds=1, name=setting.engine)
    return replace(
        policy,
        k=setting.k,
        diversity=diversity_with(policy, setting.l),
        engine=replace(engine, seed=seed),
        window=replace(policy.window, max_records=records, max_delay=setting.max_delay),
    )


def diversity_with(policy: Policy, l: int | None) -> dict[str, Diversity]:  # noqa: E741
    """Return the policy's criteria with another number of distinct values."""
    own = dict(policy.diversity)
    if l is None:
        return own
    names = [attribute.name for attribute in policy.counted]
    if l > 1:
        if not names:
            raise SettingsError("--l", "needs an attribute with role: sensitive")
        return {
            name: replace(own[name], distinct_l=l) if name in own else Diversity(distinct_l=l) for name in names
        }
    return {name: rest for name in names if name in own and (rest := _without_distinct(own[name])) is not None}


def _without_distinct(asked: Diversity) -> Diversity | None:
    try:
        return replace(asked, distinct_l=None)
    except SettingsError:  # it asked nothing else
        return None


def try_setting(policy: Policy, arrivals: Arrivals, setting: Setting, seed: int) -> Trial:
    """Return what a setting costs; a sample that fills none of its windows gives no figures.

    The same sample, setting and seed give the same figures. O(n) engine time for n records.
    """
    try:
        tried = with_setting(policy, setting, seed)
    except SettingsError as error:
        return Trial(setting, None, f"{error.key} {error.message}")
    batch = arrivals.judged_by(tried)
    times = arrivals.times[batch.offsets]
    outcomes = list(_outcomes(tried, batch, times, seed)) if len(batch) else []
    if not outcomes:
        return Trial(setting, None, _too_short(setting, times))
    return Trial(setting, _figures(outcomes, arrivals.times))


def _outcomes(
    policy: Policy, batch: CodedBatch, times: NDArray[np.float64], seed: int
) -> Iterator[tuple[SealedWindow, float, Release]]:
    draws = np.random.default_rng(seed)
    engine, closer = Engine(policy, draws=draws), Closer(policy)
    engine.open(0, 0)
    for window, closed in replayed(engine, batch, times):
        yield window, closed, closer.release(window, draws)


def _figures(outcomes: list[tuple[SealedWindow, float, Release]], times: NDArray[np.float64]) -> Figures:
    delays = np.concatenate([closed - times[window.offsets] for window, closed, _ in outcomes])
    releases = [release for _, _, release in outcomes]
    counts = [release.records_in - len(release.rejects) for release in releases]
    records = sum(counts)
    return Figures(
        windows=len(releases),
        records=records,
        mean_delay=float(delays.mean()),
        late_delay=float(np.quantile(delays, _QUANTILE, method="inverted_cdf")),
        longest_delay=float(delays.max()),
        suppressed=sum(sum(release.suppressed.values()) for release in releases) / records,
        loss=sum((r.gcp or 0.0) * count for r, count in zip(releases, counts, strict=True)) / records,
        least_individuals=min((r.achieved_k for r in releases if r.achieved_k is not None), default=None),
    )


def _too_short(setting: Setting, times: NDArray[np.float64]) -> str:
    seconds = float(times[-1] - times[0]) if len(times) else 0.0
    return (
        f"the sample is too short: {len(times):,} records in {seconds:,.1f} s fill no window of "
        f"{setting.max_records:,} records or {setting.max_delay:g} s"
    )
