"""An auditor of differential privacy: searches for two neighbouring windows and an event that tells them apart.

What it returns is a lower bound on epsilon that is wrong as seldom as it is told to be, whatever was searched: the
pair is chosen by some runs, the event by others, and judged by runs of its own (Ding et al., CCS 2018; Jagielski et
al., NeurIPS 2020; Clopper and Pearson, 1934).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, log
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from stream_anon.measures.boxes import Boxes
from stream_anon.microdata.columns import Columns

CONFIDENCE = 0.999
_COUNTS = (0, 1, 2, 5, 100)
"""How many records the victim may have."""


@dataclass(frozen=True)
class Victim:
    """What one person sends: so many records with one value, which are published or suppressed."""

    records: int
    value: int
    published: bool


@dataclass(frozen=True)
class World:
    """A window of one quasi-identifier, and what was published of it."""

    others: tuple[int, ...]
    victim: Victim

    @property
    def columns(self) -> Columns:
        """Return the rows; the victim's come last."""
        codes = np.array([*self.others, *[self.victim.value] * self.victim.records], np.int32)
        individuals = np.minimum(np.arange(len(codes)), len(self.others)).astype(np.int32)
        return Columns(codes[None], individuals, np.empty((0, len(codes)), np.int32))

    @property
    def unpublished(self) -> int:
        """Return how many rows are suppressed: a tenth of the others', and the victim's."""
        return len(self.others) // 10 + (0 if self.victim.published else self.victim.records)

    def boxes(self, values: int) -> Boxes:
        """Return a class for each value, all of one size: the release is the same in both worlds."""
        each = np.arange(values, dtype=np.int32)[None]
        return Boxes(each, each, np.full(values, len(self.others) * 9 // 10 // values))


@dataclass(frozen=True)
class Neighbours:
    """Two windows that differ in the records of one person.

    Parameters
    ----------
    others
        The values of all other people, who send one record each.
    """

    others: tuple[int, ...]
    victims: tuple[Victim, Victim]

    def runs(self, mechanism: Mechanism, many: int, chance: Random) -> tuple[NDArray[np.float64], ...]:
        """Return what a mechanism answers to each of the two windows."""
        return tuple(mechanism(World(self.others, victim), many, chance) for victim in self.victims)


Mechanism = Callable[[World, int, Random], NDArray[np.float64]]
"""Runs on a world so many times, with chance of its own: float64[runs, figures], without NaN."""


@dataclass(frozen=True)
class Audit:
    """The pair that was found, and the bound that it shows."""

    epsilon: float
    pair: Neighbours


def audit(
    mechanism: Mechanism,
    seed: int,
    people: int,
    values: int,
    *,
    tries: int = 40,
    runs: int = 300,
    final: int = 20_000,
) -> Audit:
    """Return the best lower bound on epsilon that a search among windows of so many people and values finds.

    Parameters
    ----------
    tries
        Pairs that are looked at, with `runs` runs of each window: drawn anew, or the best one changed a little. The
        best of them are looked at again, with ten times as many runs.
    final
        Runs of each window of the best pair, a half to choose the event, a half to judge it.
    """
    draws, chance = np.random.default_rng(seed), Random(seed)

    def apart(pair: Neighbours, many: int) -> float:
        return float(np.abs(np.subtract(*_standardized(*pair.runs(mechanism, many, chance)))).sum())

    found = [(-1.0, _drawn(draws, people, values))]
    for trial in range(tries):
        pair = _changed(found[0][1], draws, values) if trial % 2 else _drawn(draws, people, values)
        found = sorted([*found, (apart(pair, runs), pair)], key=lambda each: -each[0])
    best = max((pair for _, pair in found[: 1 + tries // 10]), key=lambda pair: apart(pair, 10 * runs))
    return Audit(lower_bound(*best.runs(mechanism, final, chance)), best)


def _standardized(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the mean figures of two windows, as multiples of how far single figures are from them."""
    means = first.mean(axis=0), second.mean(axis=0)
    spread = (np.abs(first - means[0]).mean(axis=0) + np.abs(second - means[1]).mean(axis=0)) / 2
    return tuple(mean / np.maximum(spread, 1e-9) for mean in means)


def _drawn(draws: np.random.Generator, people: int, values: int) -> Neighbours:
    """Return a pair at random: values evenly frequent, one of them rare, or all but one person's alike."""
    kind = draws.integers(3)
    rare = np.minimum(draws.geometric(0.4, people) - 1, values - 1)
    others = (draws.integers(0, values, people), rare, np.zeros(people, np.int64))[kind]
    return Neighbours(tuple(others.tolist()), (_victim(draws, values), _victim(draws, values)))


def _victim(draws: np.random.Generator, values: int) -> Victim:
    return Victim(int(draws.choice(_COUNTS)), int(draws.integers(values)), bool(draws.integers(2)))


def _changed(pair: Neighbours, draws: np.random.Generator, values: int) -> Neighbours:
    which = int(draws.integers(2))
    victims = list(pair.victims)
    victims[which] = _victim(draws, values)
    return replace(pair, victims=(victims[0], victims[1]))


def lower_bound(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return a lower bound on epsilon from runs on two windows; below 0 if the runs tell nothing.

    An event is that the sum, or the least, of the figures as they point from one window to the other is on one
    side of a threshold. The first half of the runs chooses the event, the second half says how often it occurs at
    least on the one window and at most on the other.
    """
    learn, judge = zip(*(np.split(each, [len(each) // 2]) for each in (first, second)), strict=True)
    mean = (learn[0].mean(axis=0) + learn[1].mean(axis=0)) / 2
    ends = _standardized(*learn)
    scale = (ends[0] - ends[1]) / np.maximum(np.abs(learn[0] - mean).mean(axis=0), 1e-9)

    def events(runs: tuple[NDArray[np.float64], ...]) -> Iterator[tuple[NDArray[np.float64], ...]]:
        pointing = [(each - mean) * scale for each in runs]
        for a, b in (tuple(each.sum(axis=1) for each in pointing), tuple(each.min(axis=1) for each in pointing)):
            yield a, b
            yield -b, -a

    found = [
        (_bound(a, b, threshold), threshold, judged)
        for (a, b), judged in zip(events(learn), events(judge), strict=True)
        for threshold in np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, 101))).tolist()
    ]
    _, threshold, (a, b) = max(found, key=lambda each: each[0])
    return _bound(a, b, threshold)


def _bound(first: NDArray[np.float64], second: NDArray[np.float64], threshold: float) -> float:
    least, most = _least(first >= threshold), _most(second >= threshold)
    return log(least / most) if least > 0 else -inf


def _least(events: NDArray[np.bool_]) -> float:
    """Return the least probability of an event; it and `_most` are wrong together with 1 - `CONFIDENCE` at most."""
    many, all_ = int(events.sum()), len(events)
    return float(beta.ppf((1 - CONFIDENCE) / 2, many, all_ - many + 1)) if many else 0.0


def _most(events: NDArray[np.bool_]) -> float:
    many, all_ = int(events.sum()), len(events)
    return float(beta.ppf(1 - (1 - CONFIDENCE) / 2, many + 1, all_ - many)) if many < all_ else 1.0
