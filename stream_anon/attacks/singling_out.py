"""Guess a description that fits one person only (WP216: singling out; Cohen and Nissim, PNAS 2020)."""

from __future__ import annotations

from math import exp, lgamma

import numpy as np

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known


def single_out(scene: AttackScene, attempts: int, draws: np.random.Generator) -> AttackResult:
    """Count how often what one released record shows fits one person of the input.

    A guess takes a record at random, and of its columns some at random: their values describe a person. As Giomi et
    al. (PETS 2023) have it. In a larger crowd fewer descriptions fit one person: each is tried on crowds of equal
    size, as many people as the smaller group has. Of the people in the release it is a random crowd with the person
    whose record it is, of the others a random one; the chance of a success is computed. O(n q) a guess, n records.

    `chance` is that of a description that was made without the release and fits a share w of all people, w being
    counted over both groups: it fits exactly one of n with n w (1 - w)^(n - 1).
    """
    groups = scene.inside, scene.outside
    sizes = [len(np.unique(own.people)) for own in groups]
    n = min(sizes)
    names = [*scene.insensitive, *scene.weighed, *scene.sensitive]
    width = len(scene.inside.codes)
    inside = outside = expected = 0.0
    for record in draws.integers(0, len(scene.released), attempts).tolist():
        chosen = draws.permutation(width + len(names))[: draws.integers(1, width + len(names) + 1)]
        places = sorted(place for place in chosen.tolist() if place < width)
        shown = [names[place - width] for place in chosen.tolist() if place >= width]
        fits = [_people(scene.released, own, record, places, shown) for own in groups]
        inside += _alone(fits[0], sizes[0], n)
        outside += fits[1] * n / sizes[1] * _alone(fits[1], sizes[1], n)
        weight = sum(fits) / sum(sizes)
        expected += n * weight * (1 - weight) ** (n - 1)
    return AttackResult(
        "singling-out",
        attempts,
        min(inside, attempts),
        chance=min(1.0, expected / attempts),
        control=(attempts, min(outside, attempts)),
    )


def _alone(fits: int, people: int, crowd: int) -> float:
    """Return the chance that one of some people is in a random crowd without the others of them; 0 for nobody.

    Parameters
    ----------
    fits
        How many they are.
    people
        Of whom the crowd is drawn, this one aside, who is in it.
    """
    if fits < 2 or people - fits < crowd - 1:
        return float(fits == 1)
    left = lgamma(people - fits + 1) - lgamma(people - fits - crowd + 2)
    return exp(left - lgamma(people) + lgamma(people - crowd + 1))


def _people(released: HeldRelease, known: Known, record: int, places: list[int], shown: list[str]) -> int:
    """Return how many people have what a record shows in some columns."""
    rows = released.fitting(int(released.classes[record]), known, places)
    for name in shown:
        rows = rows[known.passed[name][rows] == released.passed[name][record]]
    return len(np.unique(known.people[rows]))
