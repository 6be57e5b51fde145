"""DeFinetti: who learns from all groups of Anatomy finds more people's values than one group alone shows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.recoding.anatomy import anatomized, is_anatomized
from tests.attacks.conftest import Measured
from tests.attacks.town import share

PEOPLE, ILLNESSES, FEATURES, VALUES, ROUNDS = 3_000, 20, 3, 10, 50


def _people(follows: float, draws: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return quasi-identifiers, int64[q, n], and illnesses, the first twice as frequent as the last, int64[n].

    In a share `follows` of the people a quasi-identifier is the one usual for the illness, else any.
    """
    weights = np.linspace(2, 1, ILLNESSES)
    illness = draws.choice(ILLNESSES, PEOPLE, p=weights / weights.sum())
    usual = draws.integers(0, VALUES, (FEATURES, ILLNESSES))[:, illness]
    other = draws.integers(0, VALUES, usual.shape)
    return np.where(draws.random(usual.shape) < follows, usual, other), illness


def _beliefs(
    known: NDArray[np.int64], groups: NDArray[np.int64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how likely each person has each illness, from the two published tables alone; float64[n, v].

    Naive Bayes, as Kifer (SIGMOD 2009) learns it: how often a quasi-identifier's value goes with an illness over
    all groups tells which row of a group is whose, and that tells how often the value goes with it.

    Parameters
    ----------
    known
        int64[q, n], the quasi-identifiers that the first table publishes as they are.
    groups
        int64[n], the group that it gives for each row.
    counts
        float64[g, v], the second table: how often each group holds each illness.
    """
    held = counts[groups]
    beliefs = held / held.sum(axis=1, keepdims=True)
    for _ in range(ROUNDS):
        likely = np.log(held, out=np.full_like(held, -np.inf), where=held > 0)
        for row in known:
            often = np.ones((VALUES, ILLNESSES))
            np.add.at(often, row, beliefs)
            likely += np.log(often / often.sum(axis=0))[row]
        beliefs = np.exp(likely - likely.max(axis=1, keepdims=True))
        for _ in range(5):  # towards tables in which each group's beliefs sum up to what it holds
            beliefs /= beliefs.sum(axis=1, keepdims=True)
            sums = np.zeros_like(counts)
            np.add.at(sums, groups, beliefs)
            beliefs *= np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)[groups]
    return beliefs


@pytest.mark.parametrize("follows", [0.0, 0.2, 0.3])
@pytest.mark.parametrize("l", [3, 5, 7])
def test_groups_of_anatomy_hide_less_than_their_sizes_say(l: int, follows: float, measured: Measured) -> None:  # noqa: E741
    """Promised: no value has more than 1/l of a group. Measured: how many people's values all groups tell.

    The attacker knows everybody's quasi-identifiers, which are published, and nobody's illness.
    """
    draws = np.random.default_rng(l)
    known, illness = _people(follows, draws)
    groups = anatomized(illness, l, draws)
    assert is_anatomized(groups, illness, l)
    counts = np.zeros((int(groups.max()) + 1, ILLNESSES))
    np.add.at(counts, (groups, illness), 1)
    named = float(np.mean(_beliefs(known, groups, counts).argmax(axis=1) == illness))
    measured(
        f"anatomy, l = {l}, 3,000 people, each of three quasi-identifiers goes with the illness for {follows:.0%}: "
        f"{share(round(named * PEOPLE), PEOPLE)} named rightly, by the group alone {share(1, l)}"
    )
    if follows:
        assert named > 1.2 / l
    else:
        assert named < 1.2 / l  # where nothing is to be learned, nothing is
