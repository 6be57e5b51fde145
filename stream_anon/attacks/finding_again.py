"""Find the record of a person whose quasi-identifiers and insensitive values are known."""

from __future__ import annotations

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
    fewest: dict[int, int] = {}
    near = released.nearest(targets.codes, range(len(targets.codes)))
    for row, (wrong, classes) in enumerate(near):
        if wrong:
            continue
        alike = released.showing(released.records_of(classes), [*scene.insensitive, *by], targets, row)
        if not len(alike):
            continue
        # Several windows may hold the same people: of several classes the one with most people counts.
        among = 0
        for number in classes[np.argsort(-released.boxes.records[classes], kind="stable")].tolist():
            # No record is of two people: what follows has fewer of either.
            if among >= min(len(alike), released.boxes.records[number]):
                break
            if number not in fewest:
                fewest[number] = fewest_people(released, scene.inside, number)
            among = max(among, fewest[number])
        among = min(among, len(alike))
        surest = max(surest, 1 / among)
        above += among < k
    return AttackResult("found-again", len(targets), above, ", ".join(by), chance=0.0, surest=surest)


def fewest_people(released: HeldRelease, inside: Known, number: int) -> int:
    """Return how many people the records of a class are of, or at the least.

    Where it is not known, those with most records that fit the class may have given all of theirs to it.
    """
    if released.people is not None:
        return int(released.people[number])
    rows = released.fitting(number, inside, range(len(inside.codes)))
    if released.windows is not None and inside.windows is not None:
        rows = rows[inside.windows[rows] == released.windows[number]]
    given = np.cumsum(np.sort(np.unique(inside.people[rows], return_counts=True)[1])[::-1])
    return int(np.searchsorted(given, released.boxes.records[number])) + 1
