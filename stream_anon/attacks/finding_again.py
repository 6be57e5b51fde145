"""Find the record of a person whose quasi-identifiers and insensitive values are known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known


def find_again(scene: AttackScene, targets: Known, k: int, by: tuple[str, ...] = ()) -> AttackResult:
    """Count the people who are found with a greater chance than one in k, which the policy promises.

    Whoever looks for a person takes one of the people whose records contradict nothing that is known of them. Their
    number is the fewest people that these records can be of; see `fewest_people`. O(c q) a target, and what
    `HeldRelease.fitting` takes for each class that fits one.

    Parameters
    ----------
    targets
        Some of those in the release.
    k
        As the policy has it; 1 where it has none, and then nobody is above it.
    by
        Names of what is known besides.
    """
    released, surest, above = scene.released, 0.0, 0
    names = [*scene.insensitive, *by]
    fewest: dict[tuple[int, int, tuple[int, ...]], int] = {}
    near = released.nearest(targets)
    for row, (wrong, classes) in enumerate(near):
        if wrong:
            continue
        alike = released.showing(released.records_of(classes), names, targets, row)
        if not len(alike):
            continue
        shown = tuple(int(targets.passed[name][row]) for name in names)
        numbers, counts = np.unique(released.classes[alike], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        # Several windows may hold the same people: of several classes the one with most people counts.
        among = 0
        for number, count in zip(numbers[order].tolist(), counts[order].tolist(), strict=True):
            if among >= count:  # no record is of two people: what follows has fewer of either
                break
            key = number, count, shown
            if key not in fewest:
                fewest[key] = fewest_people(
                    released, scene.inside, number, count, dict(zip(names, shown, strict=True))
                )
            among = max(among, fewest[key])
        surest = max(surest, 1 / among)
        above += among < k
    return AttackResult("found-again", len(targets), above, ", ".join(by), chance=0.0, surest=surest)


def fewest_people(released: HeldRelease, inside: Known, number: int, count: int, shown: Mapping[str, int]) -> int:
    """Return how many people some records of a class are of at the least.

    Those with most records that fit may have given all of theirs to it. Of a whole class more may be known.

    Parameters
    ----------
    count
        How many records of the class show these values.
    shown
        By name of what passes; with none it is all records of the class.
    """
    known = 0 if released.people is None or shown else int(released.people[number])
    rows = released.fitting(number, inside, range(len(inside.codes)))
    if released.windows is not None and inside.windows is not None:
        rows = rows[inside.windows[rows] == released.windows[number]]
    for name, value in shown.items():
        rows = rows[inside.passed[name][rows] == value]
    given = np.cumsum(np.sort(np.unique(inside.people[rows], return_counts=True)[1])[::-1])
    return max(known, int(np.searchsorted(given, count)) + 1)
