"""Find the record of a person whose quasi-identifiers and insensitive values are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.measures.boxes import Boxes


def find_again(scene: AttackScene, targets: Known, k: int) -> AttackResult:
    """Count the people who are found with a greater chance than one in k, which the policy promises.

    Whoever looks for a person takes one of the people whose records contradict nothing that is known of them. Their
    number is the fewest people that these records can be of; see `fewest_people`. O(c q) a target, and O(n q) for
    each class that fits it.

    Parameters
    ----------
    targets
        Some of those in the release.
    k
        As the policy has it; 1 where it has none, and then nobody is above it.
    """
    released, surest, above = scene.released, 0.0, 0
    near = released.nearest(targets.codes, range(len(targets.codes)))
    for row, (wrong, classes) in enumerate(near):
        if wrong:
            continue
        records = released.records_of(classes)
        alike = records
        for name in scene.insensitive:
            alike = alike[released.passed[name][alike] == targets.passed[name][row]]
        if not len(alike):
            continue
        among = min(len(alike), fewest_people(released, scene.inside, classes))
        surest = max(surest, 1 / among)
        above += among < k
    return AttackResult("found-again", len(targets), above, chance=0.0, surest=surest)


def fewest_people(released: HeldRelease, inside: Known, classes: NDArray[np.int64]) -> int:
    """Return how many people the records of some classes are of at the least.

    Those with most records that fit a class may have given all of theirs to it. Several windows may hold the same
    people: of several classes the one with most people counts.
    """
    most = 0
    for number in classes.tolist():
        size = int(released.boxes.records[number])
        rows = fitting(released.boxes, number, inside.codes)
        given = np.cumsum(np.sort(np.unique(inside.people[rows], return_counts=True)[1])[::-1])
        most = max(most, int(np.searchsorted(given, size)) + 1)
    return most


def fitting(boxes: Boxes, number: int, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rows that a class stands for; O(n q)."""
    rows = np.arange(codes.shape[1])
    for place in range(len(codes)):
        rows = rows[boxes.cover(place, codes[place, rows], np.array([number]))[0]]
    return rows
