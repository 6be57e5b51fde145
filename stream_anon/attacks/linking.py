"""Link two halves of what is known of a person, which lie in two places, by the release (WP216: linkability)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known


def link(
    scene: AttackScene, targets: Known, controls: Known, halves: tuple[Sequence[int], Sequence[int]]
) -> AttackResult:
    """Count how often the record that is nearest to one half of a person is the one nearest to the other.

    As Giomi et al. (PETS 2023) have it with one neighbour, which is drawn from those that are equally near: so an
    attempt succeeds with some chance. O(c q) a target.

    Parameters
    ----------
    halves
        The places of the quasi-identifiers that one source knows, and of those that the other does.
    """
    inside = _chances(scene.released, targets, halves)
    outside = _chances(scene.released, controls, halves)
    return AttackResult(
        "linkability",
        len(inside),
        sum(inside),
        control=(len(outside), sum(outside)),
        chance=1 / len(scene.released) if scene.released.windows is None else None,
        surest=max(inside),
    )


def _chances(released: HeldRelease, people: Known, halves: tuple[Sequence[int], Sequence[int]]) -> list[float]:
    sizes, found = released.boxes.records, []
    one, other = (released.nearest(people, half) for half in halves)
    for (_, first), (_, second) in zip(one, other, strict=True):
        both = int(sizes[np.intersect1d(first, second, assume_unique=True)].sum())
        found.append(both / max(1, int(sizes[first].sum()) * int(sizes[second].sum())))
    return found
