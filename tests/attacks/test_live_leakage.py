"""What a service shows of its windows' leakage: does it tell of one person what the release does not?"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log2
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.measures.leakage import Population, leakage, leakage_after
from stream_anon.measures.window_leakage import before
from stream_anon.measures.window_leakage.after import shares_after
from stream_anon.measures.window_leakage.before import (
    EPSILON,
    exact_counts,
    least_told,
    noisy_counts,
    shares_before,
)
from stream_anon.microdata.columns import Columns
from tests.attacks.auditor import Mechanism, Neighbours, Victim, World, audit, lower_bound
from tests.attacks.conftest import Measured
from tests.attacks.town import Service, share, town_policy, townspeople

VALUES = 10
LIMIT = float(EPSILON)
BOUND = exp(LIMIT) / (1 + exp(LIMIT))


def _shown(world: World, runs: int, chance: Random) -> NDArray[np.float64]:
    """Return what the service shows of a window, float64[runs, 2]: the share before, -1 for none, and after."""
    columns, after = world.columns, float(shares_after(world.boxes(VALUES))[0])
    told = [shares_before(columns, 1000, chance.randrange) for _ in range(runs)]
    return np.array([[-1.0 if each is None else each[0], after] for each in told])


def _counted(world: World, runs: int, chance: Random) -> NDArray[np.float64]:
    """Return the noisy numbers that what is shown is computed of, of a window that could not be larger."""
    columns, most = world.columns, len(world.others) + 1
    told = [noisy_counts(columns, most, chance.randrange) for _ in range(runs)]
    return np.array([[people, *bits] for people, bits in told], np.float64)


def _as_it_was(world: World, runs: int, chance: Random) -> NDArray[np.float64]:
    """Return what was shown once: suppressed rows matched everybody, with noise made for one person's values."""
    columns, boxes, unpublished = world.columns, world.boxes(VALUES), world.unpublished
    n = int(columns.individuals.max()) + 1
    rows = np.minimum(np.arange(n), columns.codes.shape[1] - 1)
    people = Population(columns.codes[:, rows])
    after = leakage_after(people, boxes, (0,), unpublished) / log2(int(boxes.records.sum()) + unpublished)
    exact = [leakage(people, (0,)) / log2(n), after]
    noise = np.random.default_rng(chance.getrandbits(64)).laplace(
        0.0, (2 + log2(np.e) / log2(n)) / n / LIMIT, (runs, 2)
    )
    return np.clip(np.round(exact + noise, 2), 0.0, 1.0)


def _right(mechanism: Mechanism, pair: Neighbours, trials: int = 4000) -> float:
    """Return how often somebody is right who sees what is shown of one of two windows and takes the likelier one.

    He knows how often each answer comes from each window, by as many runs of his own.
    """
    half = trials // 2
    runs = pair.runs(mechanism, trials, Random(0))
    answers, places = np.unique(np.concatenate(runs), axis=0, return_inverse=True)
    mine, true = (
        [np.bincount(each[part], minlength=len(answers)) for each in np.split(places.ravel(), 2)]
        for part in (slice(half), slice(half, None))
    )
    first = mine[0] > mine[1]
    tied = mine[0] == mine[1]
    won = true[0][first].sum() + true[1][~first & ~tied].sum() + (true[0] + true[1])[tied].sum() / 2
    return float(won / (2 * (trials - half)))


def test_records_that_stay_unpublished_are_not_seen_in_what_a_window_leaks(measured: Measured) -> None:
    """Promised: what is shown depends on the published table, and on one record of each person behind noise.

    One person sends 1 or 100 records, none of which is published. Who knows all else guesses which.
    """
    others = tuple(place % VALUES for place in range(800))
    pair = Neighbours(others, (Victim(1, 3, published=False), Victim(100, 3, published=False)))
    was, now = _right(_as_it_was, pair), _right(_shown, pair)
    assert was > 0.98
    assert now <= BOUND
    measured(
        f"one person's records stay unpublished: whether they are 1 or 100 was seen in {100 * was:.1f} % "
        f"of the windows' leakage as it was shown once, and is in {100 * now:.1f} % as it is shown now; "
        "50 % by chance"
    )


def test_what_a_window_leaks_does_not_tell_which_value_somebody_has(measured: Measured) -> None:
    """Promised: what is told of the original records of a window is differentially private.

    The attacker knows everybody's records but one, and all that was released. The victim's age is one of two that
    their class may hold. Of exact shares the one that fits names it. Of those that are told he takes the likelier
    age.
    """
    policy = town_policy(5)
    people = townspeople(1000, 7)
    release = Service(policy).release(people)
    attributes, classes = policy.quasi_identifiers, release.classes
    codes = np.array([[each.code(one[each.name]) for one in people] for each in attributes], np.int32)
    widest = int(np.argmax(classes.high[0] - classes.low[0]))
    victim = int(np.flatnonzero(release.class_of_row == widest)[0])
    ages = np.arange(classes.low[0, widest], min(classes.high[0, widest] + 1, 100))
    frequent = np.array([(codes[0] == age).sum() for age in ages])
    worlds = []
    for age in (ages[frequent.argmin()], ages[frequent.argmax()]):
        codes[0, victim] = age
        nobody_twice, nothing = np.arange(len(people), dtype=np.int32), np.empty((0, len(people)), np.int32)
        worlds.append(Columns(codes.copy(), nobody_twice, nothing))
    exact = [exact_counts(world)[1][0] / (1000 * log2(1000)) for world in worlds]
    assert exact[0] != exact[1], "an exact share would name the age in every case"

    below, trials, right = Random(2).randrange, 2000, 0
    for trial in range(trials):
        truth = trial % 2
        told = shares_before(worlds[truth], 1000, below)
        off = [abs((exact[0] if told is None else told[0]) - each) for each in exact]
        right += (off[1] < off[0]) == bool(truth)
    assert right / trials <= BOUND + 3 * np.sqrt(0.25 / trials)
    measured(
        "windows of 1,000 people, of whom the attacker knows all but one age: what is told of a window's leakage "
        f"names the right one of two ages in {share(right, trials)} of the cases; exact shares would in all, and "
        f"no attacker is right in more than {100 * BOUND:.1f} %"
    )


def test_an_auditor_who_searches_for_neighbours_finds_no_more_than_is_promised(measured: Measured) -> None:
    """Of windows of 30 people, which tell most of one; and as it is shown, of the fewest that are shown."""
    counted = audit(_counted, 0, 30, VALUES, tries=30, runs=200).epsilon
    shown = audit(_shown, 0, least_told(1, 1000) + 10, VALUES, tries=10, runs=100, final=4000).epsilon
    was = audit(_as_it_was, 0, 220, VALUES, tries=10, final=4000).epsilon
    assert max(counted, shown) <= LIMIT
    assert counted > LIMIT / 2, "the auditor is not blind"
    assert was > 4 * LIMIT
    measured(
        f"an auditor of the live leakage shows that epsilon is {max(counted, shown):.2f} at least (promised: "
        f"{LIMIT:g} at most), and that it was {was:.1f} when suppressed records counted"
    )


def _records_counted(world: World, runs: int, chance: Random) -> NDArray[np.float64]:
    """Return the noisy numbers if every record counted as somebody's."""
    rows, most = world.columns.codes.shape[1], len(world.others) + 100
    columns = replace(world.columns, individuals=np.arange(rows, dtype=np.int32))
    told = [noisy_counts(columns, most, chance.randrange) for _ in range(runs)]
    return np.array([[people, *bits] for people, bits in told], np.float64)


def test_an_auditor_finds_what_would_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """One person comes, often, to people who are all alike and unlike that one."""
    pair = Neighbours((0,) * 30, (Victim(0, 3, published=False), Victim(100, 3, published=False)))

    def found(mechanism: Mechanism) -> float:
        return lower_bound(*pair.runs(mechanism, 10_000, Random(0)))

    assert found(_records_counted) > LIMIT, "somebody who comes often would count often"
    scale = before._bits_noise
    with monkeypatch.context() as patch:
        patch.setattr(before, "_bits_noise", lambda *given: scale(*given) // 3)
        assert found(_counted) > LIMIT, "noise of a third of the size on bits"
    with monkeypatch.context() as patch:
        patch.setattr(before, "_PEOPLE_NOISE", before._PEOPLE_NOISE // 8)
        assert found(_counted) > LIMIT, "noise of an eighth of the size on people"
    assert found(_counted) <= LIMIT


@pytest.mark.soak
@pytest.mark.parametrize(("seed", "people"), [*enumerate((3, 10, 30, 100, 300, 900))])
def test_an_auditor_with_much_time_finds_no_more_than_is_promised(seed: int, people: int) -> None:
    found = audit(_counted, seed, people, VALUES, tries=200, runs=1000, final=100_000)
    assert LIMIT / 4 < found.epsilon <= LIMIT, found.pair.victims
    shown = audit(_shown, seed, least_told(1, 1000) + 10 * seed, VALUES, tries=100, runs=500, final=50_000)
    assert shown.epsilon <= LIMIT, shown.pair.victims
