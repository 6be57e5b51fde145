"""Guess the value of people who return, by what all of their classes have in common.

A value that stays is in each class of its person: each window leaves fewer, though every window keeps what it
promises (Ganta, Kasiviswanathan, Smith: Composition attacks and auxiliary information in data privacy, KDD 2008).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, Known

MOST_VISITS = 100
"""Records of one person that are looked at, the first ones."""
_SAME = 1e-9  # logarithms of likelihoods that differ by less are the same


def intersect(scene: AttackScene, secret: str, most: int, draws: np.random.Generator) -> AttackResult | None:
    """Count how often the likeliest value of somebody who has several records is their own.

    Known of somebody are the true quasi-identifiers and insensitive values of each record, the window that it came
    to, and that the secret stays the same. Records that may be theirs are those of the window's classes that
    contradict nothing. Of the values that occur among these most often, counted in windows, the likeliest is
    taken: how much more frequent it is among them than in the whole release, multiplied over the windows, times how
    frequent it is. O(c q) a record, c classes in its window.

    Parameters
    ----------
    secret
        A sensitive attribute.
    most
        People of each group who are attacked.

    Returns
    -------
    None where nobody returns with the same value. `surest` is one by the number of values that are left of who has
    the fewest.
    """
    inside, outside = (_returning(scene, known, secret, most, draws) for known in (scene.inside, scene.outside))
    if not len(inside):
        return None
    usual = int(scene.everywhere(secret).argmax())
    successes, fewest = _guessed(scene, inside, secret, usual)
    others, _ = _guessed(scene, outside, secret, usual)
    truth = np.array([own[0] for own in _each(scene.truth(secret, inside), inside)])
    return AttackResult(
        "intersection",
        len(truth),
        successes,
        secret,
        float((truth == usual).mean()),
        control=(len(np.unique(outside.people)), others),
        surest=1 / fewest if fewest else None,
    )


def _returning(scene: AttackScene, known: Known, secret: str, most: int, draws: np.random.Generator) -> Known:
    """Return the records of some people who have several, and one value in all of them; ordered by person."""
    ordered = known.take(np.argsort(known.people, kind="stable"))
    _, number, counts = np.unique(ordered.people, return_inverse=True, return_counts=True)
    if not len(counts):
        return ordered
    first = np.cumsum(counts) - counts
    truth = scene.truth(secret, ordered)
    stays = (counts > 1) & (np.minimum.reduceat(truth, first) == np.maximum.reduceat(truth, first))
    chosen = np.zeros(len(counts), np.bool_)
    chosen[draws.permutation(np.flatnonzero(stays))[:most]] = True
    early = np.arange(len(ordered)) - first[number] < MOST_VISITS
    return ordered.take(np.flatnonzero(chosen[number] & early))


def _each(values: NDArray[np.int64], people: Known) -> list[NDArray[np.int64]]:
    """Return values of records, ordered by person, person by person."""
    return np.split(values, np.flatnonzero(np.diff(people.people)) + 1) if len(values) else []


def _guessed(scene: AttackScene, people: Known, secret: str, usual: int) -> tuple[float, int]:
    """Return how many guesses are right, and the fewest values that anybody has left, their own among them.

    Parameters
    ----------
    people
        Their records, ordered by person.
    usual
        What is guessed of somebody whom no class fits.
    """
    released = scene.released
    shown = released.passed[secret]
    share = np.bincount(shown) / len(released)
    near = _near(scene, people)
    right, fewest = 0.0, 0
    rows = _each(np.arange(len(people)), people)
    for own, truth in zip(rows, _each(scene.truth(secret, people), people), strict=True):
        visits = [_shares(shown[near[row]]) for row in own.tolist() if row in near]
        if not visits:
            right += usual == truth[0]
            continue
        labels, place = np.unique(np.concatenate([found for found, _ in visits]), return_inverse=True)
        often = np.bincount(place)
        in_windows = np.bincount(place, np.log(np.concatenate([shares for _, shares in visits])))
        likely = in_windows + (1 - often) * np.log(share[labels])
        common = often == often.max()
        values, sure = _of_values(scene, secret, labels[common], likely[common])
        best = values[sure >= sure.max() - _SAME]
        right += float((best == truth[0]).sum()) / len(best)
        if often.max() == len(visits) and truth[0] in values:
            fewest = min(fewest or len(values), len(values))
    return right, fewest


def _shares(shown: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    found, counts = np.unique(shown, return_counts=True)
    return found, counts / len(shown)


def _near(scene: AttackScene, people: Known) -> dict[int, NDArray[np.int64]]:
    """Return for each record that a class of its window fits the released records that may be it."""
    released = scene.released
    near: dict[int, NDArray[np.int64]] = {}
    for part in released.compared(people):
        for row, wrong, classes in part.each():
            if not wrong and len(classes):
                records = released.records_of(classes)
                alike = released.showing(records, scene.insensitive, people, row)
                near[row] = alike if len(alike) else records
    return near


def _of_values(
    scene: AttackScene, secret: str, labels: NDArray[np.int64], likely: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the values behind what is published, and the logarithm of how likely each is."""
    families = scene.families.get(secret)
    if families is None:
        return labels, likely
    values = np.flatnonzero(np.isin(families.label_of, labels))
    place = np.searchsorted(labels, families.label_of[values])
    return values, likely[place] + np.log(families.within[values])
