"""Guess the sensitive value of a person whose other attributes are known (WP216: inference)."""

from __future__ import annotations

import numpy as np

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, Known
from stream_anon.measures.disclosure import SensitiveColumn, disclosure


def infer(scene: AttackScene, targets: Known, controls: Known, secret: str) -> AttackResult:
    """Count how often the most frequent value of the nearest records is a person's own.

    As Giomi et al. (PETS 2023) have it; of equally near records all vote, and of equally frequent values each is
    taken with the same chance. O(c q) a target.

    Parameters
    ----------
    secret
        The attribute that is guessed. All quasi-identifiers, and the insensitive attributes, are known.
    """
    values = scene.released.passed[secret]
    everywhere = np.bincount(values)
    inside, surest = _right(scene, targets, secret)
    outside, _ = _right(scene, controls, secret)
    chance = float((targets.passed[secret] == int(everywhere.argmax())).mean())
    return AttackResult(
        "inference", len(targets), inside, secret, chance, control=(len(controls), outside), surest=surest
    )


def _right(scene: AttackScene, people: Known, secret: str) -> tuple[float, float]:
    """Return how many guesses are right, and the largest share that a guessed value has of its records."""
    released, right, surest = scene.released, 0.0, 0.0
    values = released.passed[secret]
    for row, (_, classes) in enumerate(released.nearest(people.codes, range(len(people.codes)))):
        records = released.records_of(classes)
        for name in scene.insensitive:
            alike = records[released.passed[name][records] == people.passed[name][row]]
            records = alike if len(alike) else records
        counts = np.bincount(values[records])
        best = np.flatnonzero(counts == counts.max())
        right += float((best == people.passed[secret][row]).sum()) / len(best)
        surest = max(surest, float(counts.max()) / len(records))
    return right, surest


def homogeneous(scene: AttackScene, secret: str) -> AttackResult:
    """Count the records in classes that show one value only: it is known of everybody in them; O(m log m).

    The homogeneity attack (Machanavajjhala et al.: l-diversity, ICDE 2006).
    """
    released = scene.released
    found = disclosure(released.classes, SensitiveColumn.of(released.passed[secret].tolist()))
    return AttackResult("homogeneity", len(released), found.alike, secret)
