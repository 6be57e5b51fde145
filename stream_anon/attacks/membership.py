"""Tell who is in the release of people of whom everything is known (Homer et al. 2008; Shokri et al. 2017)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known

_LEVELS = 500


def tell_members(scene: AttackScene, targets: Known, controls: Known) -> AttackResult:
    """Count how many people who are in the release are said to be, beside how many who are not.

    Somebody is said to be in it if enough records are like theirs: those that contradict nothing that is known of
    them, each divided by the number of tuples that its class stands for. How much is enough is learned from half of
    the people of both kinds, and tried on the others. O(c q) a person.
    """
    inside, outside = (likeness(scene, own) for own in (targets, controls))
    if min(len(inside), len(outside)) < 2:
        return AttackResult("membership", 0, 0.0, control=(0, 0.0))
    enough = _threshold(inside[::2], outside[::2])
    found, false = inside[1::2], outside[1::2]
    return AttackResult(
        "membership",
        len(found),
        float((found >= enough).sum()),
        control=(len(false), float((false >= enough).sum())),
    )


def likeness(scene: AttackScene, people: Known) -> NDArray[np.float64]:
    """Return how many records are like each person's, float64[n]; see `tell_members`."""
    released, names = scene.released, [*scene.insensitive, *scene.sensitive]
    tuples = _tuples(released)
    found = np.zeros(len(people))
    for row, (wrong, classes) in enumerate(released.nearest(people)):
        if wrong:
            continue
        records = released.showing(released.records_of(classes), names, people, row)
        found[row] = (1 / tuples[released.classes[records]]).sum()
    return found


def _tuples(released: HeldRelease) -> NDArray[np.float64]:
    """Return how many tuples each class stands for, float64[c]."""
    every = np.arange(len(released.boxes))
    widths = [released.boxes.width(place, every) for place in range(len(released.boxes.low))]
    return np.asarray(np.prod(widths, axis=0), np.float64)


def _threshold(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Return the least likeness at which most more of those inside than of those outside are above it."""
    levels = np.unique(np.concatenate([inside, outside]))
    levels = levels[:: max(1, len(levels) // _LEVELS)]
    gained = [float((inside >= level).mean() - (outside >= level).mean()) for level in levels]
    return float(levels[int(np.argmax(gained))])
