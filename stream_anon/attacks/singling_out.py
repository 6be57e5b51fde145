"""Guess a description that fits one person only (WP216: singling out; Cohen and Nissim, PNAS 2020)."""

from __future__ import annotations

import numpy as np

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known

MOST_ROWS = 100_000


def single_out(scene: AttackScene, attempts: int, draws: np.random.Generator) -> AttackResult:
    """Count how often what one released record shows fits one person of the input.

    A guess takes a record at random, and of its columns some at random: their values describe a person. It is tried
    on as many records of people who are in the release as of others, since in a larger crowd fewer descriptions fit
    one person. As Giomi et al. (PETS 2023) have it. O(n q) a guess, of up to 100,000 records n.

    `chance` is that of a description that was made without the release and fits a share w of all people, w being
    counted over both groups: it fits exactly one of n with n w (1 - w)^(n - 1).
    """
    n = min(len(scene.inside), len(scene.outside), MOST_ROWS)
    groups = [own.take(draws.permutation(len(own))[:n]) for own in (scene.inside, scene.outside)]
    names = [*scene.insensitive, *scene.weighed, *scene.sensitive]
    width = len(scene.inside.codes)
    hits, expected = np.zeros(2), 0.0
    for record in draws.integers(0, len(scene.released), attempts).tolist():
        chosen = draws.permutation(width + len(names))[: draws.integers(1, width + len(names) + 1)]
        places = sorted(place for place in chosen.tolist() if place < width)
        shown = [names[place - width] for place in chosen.tolist() if place >= width]
        fits = [_people(scene.released, own, record, places, shown) for own in groups]
        hits += [fit == 1 for fit in fits]
        weight = sum(fits) / (2 * n)
        expected += n * weight * (1 - weight) ** (n - 1)
    return AttackResult(
        "singling-out",
        attempts,
        float(hits[0]),
        chance=min(1.0, expected / attempts),
        control=(attempts, float(hits[1])),
    )


def _people(released: HeldRelease, known: Known, record: int, places: list[int], shown: list[str]) -> int:
    """Return how many people have what a record shows in some columns."""
    rows = released.fitting(int(released.classes[record]), known, places)
    for name in shown:
        rows = rows[known.passed[name][rows] == released.passed[name][record]]
    return len(np.unique(known.people[rows]))
