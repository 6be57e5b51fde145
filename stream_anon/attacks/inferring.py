"""Guess the sensitive value of a person whose other attributes are known (WP216: inference)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, Known
from stream_anon.measures.disclosure import SensitiveColumn, disclosure

_LIKELY = 0.5


def infer(scene: AttackScene, targets: Known, controls: Known, secret: str) -> AttackResult:
    """Count how often the most frequent value of the nearest records is a person's own.

    As Giomi et al. (PETS 2023) have it; of equally near records all vote, and of equally frequent values each is
    taken with the same chance. O(c q) a target.

    Parameters
    ----------
    secret
        The attribute that is guessed. All quasi-identifiers, and the insensitive attributes, are known.
    """
    inside, surest = _right(scene, targets, secret)
    outside, _ = _right(scene, controls, secret)
    everywhere = _everywhere(scene, secret)
    chance = float((scene.truth(secret, targets) == int(everywhere.argmax())).mean())
    return AttackResult(
        "inference", len(targets), inside, secret, chance, control=(len(controls), outside), surest=surest
    )


def _right(scene: AttackScene, people: Known, secret: str) -> tuple[float, float]:
    """Return how many guesses are right, and the largest share that a guessed value has of its records."""
    right, surest = 0.0, 0.0
    truth = scene.truth(secret, people).tolist()
    for row, records in enumerate(_records_like(scene, people)):
        counts = scene.votes(secret, records)
        best = np.flatnonzero(counts == counts.max())
        right += float((best == truth[row]).sum()) / len(best)
        surest = max(surest, float(counts.max()) / len(records))
    return right, surest


def _records_like(scene: AttackScene, people: Known) -> Iterator[NDArray[np.int64]]:
    """Yield the nearest records to each person: those of the nearest classes that show what else is known.

    All records where the person's window has no class.
    """
    released = scene.released
    for row, (_, classes) in enumerate(released.nearest(people)):
        records = released.records_of(classes) if len(classes) else np.arange(len(released))
        for name in scene.insensitive:
            alike = released.showing(records, [name], people, row)
            records = alike if len(alike) else records
        yield records


def _everywhere(scene: AttackScene, secret: str) -> NDArray[np.float64]:
    return scene.votes(secret, np.arange(len(scene.released)))


def tell_by_skewness(scene: AttackScene, targets: Known, controls: Known, secret: str) -> AttackResult:
    """Count the people of whom a class makes likely what is true of them, and was not likely before.

    The skewness attack (Li, Li, Venkatasubramanian: t-closeness, ICDE 2007), with one half as the bound: something
    is said of a person if more than half of the nearest records have a value that at most half of the whole release
    has. Nothing is said of others. O(c q) a target.
    """
    usual = _everywhere(scene, secret) / len(scene.released)
    inside, surest = _said(scene, targets, secret, usual)
    outside, _ = _said(scene, controls, secret, usual)
    return AttackResult(
        "skewness", len(targets), inside, secret, chance=0.0, control=(len(controls), outside), surest=surest
    )


def _said(scene: AttackScene, people: Known, secret: str, usual: NDArray[np.float64]) -> tuple[int, float]:
    """Return of how many people something true is said, and the largest share that a value has of its records."""
    right, surest = 0, 0.0
    truth = scene.truth(secret, people).tolist()
    for row, records in enumerate(_records_like(scene, people)):
        counts = scene.votes(secret, records)
        best = int(counts.argmax())
        share = float(counts[best]) / len(records)
        if share > _LIKELY >= usual[best]:
            right += truth[row] == best
            surest = max(surest, share)
    return right, surest


def homogeneous(scene: AttackScene, secret: str) -> AttackResult:
    """Count the records in classes that show one value only: it is known of everybody in them; O(m log m).

    The homogeneity attack (Machanavajjhala et al.: l-diversity, ICDE 2006).
    """
    released = scene.released
    found = disclosure(released.classes, SensitiveColumn.of(released.passed[secret].tolist()))
    return AttackResult("homogeneity", len(released), found.alike, secret)
