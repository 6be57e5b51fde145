"""Plan: try settings on a sample, and say which of them are worth having and which meet what is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from stream_anon.engine.warming import warm_up
from stream_anon.errors import SettingsError
from stream_anon.judging.forecasting.loss_by_delay import LossByDelay, loss_by_delay
from stream_anon.microdata.policy import Policy
from stream_anon.operations.plan.arrivals import Arrivals
from stream_anon.operations.plan.sizing import Sizing, sizing
from stream_anon.operations.plan.trial import Figures, Setting, Trial, try_setting, with_setting

SCHEMA_VERSION = 1
MOST_SETTINGS = 1000
FEW_WINDOWS = 3
_HALVINGS = 4  # window sizes that are tried unless sizes are named: the policy's, and so many halves of it

Progress = Callable[[int], None]
"""Called with the number of settings that were tried so far."""


@dataclass(frozen=True, slots=True)
class PlanChoices:
    """What is tried: every combination.

    Parameters
    ----------
    k, l, engine, max_records, max_delay
        Empty: what the policy says; of `max_records` its half, quarter, eighth and sixteenth too, or of `max_delay`
        where nobody has chosen a number of records.
    """

    k: Sequence[int] = ()
    l: Sequence[int] = ()  # noqa: E741 - the letter of the paper
    engine: Sequence[str] = ()
    max_records: Sequence[int] = ()
    max_delay: Sequence[float] = ()

    def settings(self, policy: Policy) -> list[Setting]:
        """Return the settings to try, ordered by k, l, engine, window.

        Raises
        ------
        SettingsError
            If these are more than a thousand, or the policy is for whole files.
        """
        policy.check_streamed()
        window = policy.window
        delays: Sequence[float] = self.max_delay or (window.max_delay,)
        sizes: Sequence[int] = self.max_records or (window.max_records,)
        if window.auto and not (self.max_records or self.max_delay):
            delays = [window.max_delay / 2**i for i in range(_HALVINGS + 1)]
        elif not self.max_records and not window.auto:
            sizes = [n for i in range(_HALVINGS + 1) if (n := window.max_records >> i) >= policy.crowd]
        combinations = product(
            sorted(set(self.k or (policy.crowd,))),
            sorted(set(self.l)) or (None,),
            list(dict.fromkeys(self.engine or (policy.engine.name,))),
            sorted(set(sizes)),
            sorted(set(delays)),
        )
        found = [Setting(*values) for values in combinations]
        if len(found) > MOST_SETTINGS:
            raise SettingsError("plan", f"would try {len(found):,} settings; at most {MOST_SETTINGS:,} are allowed")
        return found


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What is asked of a setting; None asks nothing.

    Parameters
    ----------
    delay
        Most seconds from a record's arrival to the close of its window.
    suppressed, loss
        Largest shares.
    """

    delay: float | None = None
    suppressed: float | None = None
    loss: float | None = None

    @property
    def asked(self) -> bool:
        """Return whether anything is asked."""
        return any(limit is not None for limit in (self.delay, self.suppressed, self.loss))

    def met_by(self, figures: Figures) -> bool:
        """Return whether a setting meets all of it."""
        pairs = (
            (figures.longest_delay, self.delay),
            (figures.suppressed, self.suppressed),
            (figures.loss, self.loss),
        )
        return all(limit is None or figure <= limit for figure, limit in pairs)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the settings cost.

    Parameters
    ----------
    trials
        In the order in which they were tried.
    front
        Places of those on their Pareto front: no other setting of the same k and l is as good in delay, suppression
        and loss and better in one of them.
    answers
        For each k and l that were tried, the place of the cheapest setting that meets the limits; None where none
        does. Empty where nothing is asked.
    """

    arrivals: Arrivals
    seed: int
    limits: PlanLimits
    trials: tuple[Trial, ...]
    front: frozenset[int]
    answers: tuple[tuple[int, int | None, int | None], ...]

    @property
    def sizes(self) -> tuple[Sizing, ...]:
        """Return what the stream needs at each size of window; nothing if no length of a record is known."""
        arrivals = self.arrivals
        if arrivals.record_bytes is None:
            return ()
        windows = sorted({self._records(trial.setting) for trial in self.trials})
        return tuple(sizing(arrivals.rate, arrivals.record_bytes, window) for window in windows)

    def is_auto(self, setting: Setting) -> bool:
        """Return whether a window of a setting holds what comes within its delay."""
        window = self.arrivals.policy.window
        return window.auto and setting.max_records == window.max_records

    def _records(self, setting: Setting) -> int:
        comes = math.ceil(self.arrivals.rate * setting.max_delay)
        return min(setting.max_records, comes) if self.is_auto(setting) else setting.max_records

    @property
    def by_delay(self) -> tuple[tuple[Setting, LossByDelay], ...]:
        """Return what each k, l, engine and longest delay loses at the rate, by the windows that were tried.

        The setting is the one of the largest window among those that differ in nothing else.
        """
        alike: dict[Setting, list[Trial]] = {}
        for trial in self.trials:
            if trial.figures is not None:
                alike.setdefault(replace(trial.setting, max_records=0), []).append(trial)
        found, own = [], self.arrivals.policy.window
        for trials in alike.values():
            largest = max((trial.setting for trial in trials), key=lambda setting: setting.max_records)
            limits = replace(own, max_records=largest.max_records, max_delay=largest.max_delay)
            seen = [loss for trial in trials if (f := trial.figures) and (loss := f.published) is not None]
            told = loss_by_delay(seen, self.arrivals.rate, limits, self.limits.loss)
            found += [(largest, told)] if told is not None else []
        return tuple(found)

    @property
    def met(self) -> bool:
        """Return whether some setting meets what is asked."""
        return not self.limits.asked or any(place is not None for _, _, place in self.answers)

    def document(self) -> dict[str, Any]:
        """Return the plan as an object that JSON can hold; seconds and shares."""
        arrivals = self.arrivals
        return {
            "schema": SCHEMA_VERSION,
            "sample": {
                "records": arrivals.records,
                "rejected": arrivals.rejected,
                "rate": arrivals.rate,
                "timestamps": arrivals.timed,
                "record_bytes": arrivals.record_bytes,
            },
            "seed": self.seed,
            "limits": asdict(self.limits),
            "settings": [
                {
                    **asdict(trial.setting),
                    "figures": None if trial.figures is None else asdict(trial.figures),
                    "reason": trial.reason or None,
                    "front": place in self.front,
                }
                for place, trial in enumerate(self.trials)
            ],
            "sizes": [asdict(size) for size in self.sizes],
            "by_delay": [
                {"k": setting.k, "l": setting.l, "engine": setting.engine, **asdict(told)}
                for setting, told in self.by_delay
            ],
            "answers": [dict(zip(("k", "l", "setting"), answer, strict=True)) for answer in self.answers],
        }


def plan(
    policy: Policy, arrivals: Arrivals, choices: PlanChoices, limits: PlanLimits, seed: int, progress: Progress
) -> Plan:
    """Try all settings and compare them; the same sample, choices and seed give the same plan.

    The cheapest of the settings that meet the limits is the one that loses least information. Of several the one
    with the least delay counts, then the one with the smaller window, which takes less memory. Settings of another
    k or l promise something else, so each k and l has an answer of its own.

    Raises
    ------
    SettingsError
        If there are too many settings, or they are wrong.
    """
    settings = choices.settings(policy)
    trials = []
    for count, setting in enumerate(settings):
        progress(count)
        trials.append(try_setting(policy, arrivals, setting, seed))
    progress(len(settings))
    promises = dict.fromkeys((setting.k, setting.l) for setting in settings)
    answers = [(*promise, _cheapest(trials, promise, limits)) for promise in promises] if limits.asked else []
    return Plan(arrivals, seed, limits, tuple(trials), pareto_front(trials), tuple(answers))


def warm_engines(policy: Policy, choices: PlanChoices, seed: int) -> None:
    """Compile what the first setting of each engine needs, so that no figure and no progress waits for it."""
    for setting in {setting.engine: setting for setting in choices.settings(policy)}.values():
        warm_up(with_setting(policy, setting, seed))


def pareto_front(trials: Sequence[Trial]) -> frozenset[int]:
    """Return the places of the trials that no other one of the same k and l dominates; O(n^2)."""
    return frozenset(
        place
        for place, trial in enumerate(trials)
        if trial.figures is not None and not any(_dominates(other, trial) for other in trials)
    )


def _dominates(one: Trial, other: Trial) -> bool:
    if one.figures is None or other.figures is None:
        return False
    if (one.setting.k, one.setting.l) != (other.setting.k, other.setting.l):
        return False
    ours, theirs = _costs(one.figures), _costs(other.figures)
    return ours != theirs and all(mine <= its for mine, its in zip(ours, theirs, strict=True))


def _costs(figures: Figures) -> tuple[float, float, float]:
    return figures.longest_delay, figures.suppressed, figures.loss


def _cheapest(trials: Sequence[Trial], promise: tuple[int, int | None], limits: PlanLimits) -> int | None:
    meeting = [
        (trial.figures.loss, trial.figures.longest_delay, trial.setting.max_records, place)
        for place, trial in enumerate(trials)
        if (trial.setting.k, trial.setting.l) == promise
        and trial.figures is not None
        and limits.met_by(trial.figures)
    ]
    return min(meeting)[-1] if meeting else None
