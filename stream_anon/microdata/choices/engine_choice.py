"""Which partitioner forms the classes, and what it minimises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stream_anon.errors import SettingsError
from stream_anon.microdata.choices.label_counts import LabelCounts

FULL_DOMAIN = "full-domain"
MOST_K_FOREST = 10_000
MOST_ROUNDS = 5


class Loss(StrEnum):
    """What an engine minimises; `stream_anon.privacy.costs.objective` says what each means."""

    NCP = "ncp"
    PREC = "prec"
    DISCERNIBILITY = "discernibility"
    CLASSIFICATION = "classification"


@dataclass(frozen=True)
class LearnedOrder:
    """An order of the digits of all quasi-identifiers, and for which ones it was learned.

    Parameters
    ----------
    attributes
        Hash of the names and digits of the quasi-identifiers.
    owners
        For each place in the order the name of the attribute whose next digit stands there.
    """

    attributes: str
    owners: tuple[str, ...]


@dataclass(frozen=True)
class EngineChoice:
    """Which partitioner forms the classes, and what of it is drawn.

    Parameters
    ----------
    name
        `forest`, `k-forest`, `mondrian` or `full-domain`; the last one publishes each attribute on one level, its
        `min_level` and `max_level`.
    seed
        Governs what the engine draws, so that the same windows give the same classes; None draws from a generator
        that nobody outside knows.
    relaxed, least_loss
        Of Mondrian: equal values may part; each cut is the one of least loss instead of a median.
    loss
        What it minimises.
    labels
        For `classification`: how the quasi-identifiers told the target in a sample.
    order
        Of the forest: an order learned before, from a file.
    rounds
        Of the forest: how often and how widely classes are refined, 1 to 5.
    """

    name: str = "forest"
    seed: int | None = None
    relaxed: bool = False
    least_loss: bool = False
    loss: Loss = Loss.NCP
    labels: LabelCounts | None = None
    order: LearnedOrder | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise SettingsError("engine.rounds", f"must be 1 to {MOST_ROUNDS}")
        options = (
            ("rounds", self.rounds > 1, "forest"),
            ("order", self.order is not None, "forest"),
            ("relaxed", self.relaxed, "mondrian"),
            ("least_loss", self.least_loss, "mondrian"),
        )
        for key, given, name in options:
            if given and self.name != name:
                raise SettingsError(f"engine.{key}", f"is for name: {name} only")
        if self.loss is Loss.DISCERNIBILITY and not (self.name == "forest" or self.least_loss):
            raise SettingsError(
                "engine.loss", "discernibility is for name: forest, or mondrian with least_loss: true"
            )
