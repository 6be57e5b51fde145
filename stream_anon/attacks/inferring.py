"""Guess the sensitive value of a person whose other attributes are known (WP216: inference)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, Known
from stream_anon.measures.disclosure import SensitiveColumn, disclosure

_LIKELY = 0.5
_TOLERANCE = 0.05


def infer(scene: AttackScene, targets: Known, controls: Known, secret: str) -> AttackResult:
    """Count how often the most frequent value of the nearest records is a person's own.

    As Giomi et al. (PETS 2023) have it; of equally near records all vote, and of equally frequent values each is
    taken with the same chance. A number is right within 5 %. O(c q) a target.

    Parameters
    ----------
    secret
        The attribute that is guessed. All quasi-identifiers, and the insensitive attributes, are known.
    """
    guesses = Guesses.of(scene.numbers[secret]) if secret in scene.numbers else None
    inside, surest = _right(scene, targets, secret, guesses)
    outside, _ = _right(scene, controls, secret, guesses)
    everywhere = scene.everywhere(secret)
    usual = np.array([(everywhere if guesses is None else guesses.right(everywhere)).argmax()])
    chance = np.mean([_hits(usual, own, guesses) for own in scene.truth(secret, targets).tolist()])
    return AttackResult(
        "inference", len(targets), inside, secret, float(chance), control=(len(controls), outside), surest=surest
    )


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """For which of v numbers each of them is near enough to be a right guess: within 5 % of the guess.

    Parameters
    ----------
    place
        int64[v], the place of each in their order.
    first, end
        int64[v], from which place up to which, without, the numbers are near.
    """

    place: NDArray[np.int64]
    first: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Guesses:
        """Return those of numbers; a missing one, which is not a number, is near to itself."""
        order = np.argsort(numbers, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        near = _TOLERANCE * np.abs(numbers)
        ordered = numbers[order]
        first, end = (
            np.searchsorted(ordered, numbers - near),
            np.searchsorted(ordered, numbers + near, side="right"),
        )
        return cls(place, first, end)

    def right(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return of how many records each number would be a right guess, float64[v]; 0 of one that none has.

        Parameters
        ----------
        counts
            How many records have each number, float64[v] or fewer.
        """
        ordered = np.zeros(len(self.place) + 1)
        ordered[self.place[: len(counts)] + 1] = counts
        until = np.cumsum(ordered)
        found = until[self.end] - until[self.first]
        found[: len(counts)] *= counts > 0
        found[len(counts) :] = 0
        return found

    def hit(self, guessed: NDArray[np.int64], truth: int) -> NDArray[np.bool_]:
        """Return which guesses are right of somebody."""
        at = self.place[truth]
        return np.asarray((self.first[guessed] <= at) & (at < self.end[guessed]))


def _hits(guessed: NDArray[np.int64], truth: int, guesses: Guesses | None) -> float:
    """Return the share of the guesses that are right."""
    return float((guessed == truth if guesses is None else guesses.hit(guessed, truth)).mean())


def _right(scene: AttackScene, people: Known, secret: str, guesses: Guesses | None) -> tuple[float, float]:
    """Return how many guesses are right, and the largest share that a guessed value has of its records."""
    right, surest = 0.0, 0.0
    truth = scene.truth(secret, people).tolist()
    for row, records in enumerate(_records_like(scene, people)):
        counts = scene.votes(secret, records)
        counts = counts if guesses is None else guesses.right(counts)
        right += _hits(np.flatnonzero(counts == counts.max()), truth[row], guesses)
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


def tell_by_skewness(scene: AttackScene, targets: Known, controls: Known, secret: str) -> AttackResult:
    """Count the people of whom a class makes likely what is true of them, and was not likely before.

    The skewness attack (Li, Li, Venkatasubramanian: t-closeness, ICDE 2007), with one half as the bound: something
    is said of a person if more than half of the nearest records have a value that at most half of the whole release
    has. Nothing is said of others. O(c q) a target.
    """
    usual = scene.everywhere(secret) / len(scene.released)
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
