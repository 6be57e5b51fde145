"""The policy: what a record looks like, what must hold of what is published, how long a record may wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Attribute, Identifier, PassThrough, QuasiIdentifier, Sensitive

EVERY_RECORD = "every-record"
MOST_CLASS = 1_000_000
MOST_K_FOREST = 10_000


class Shortfall(StrEnum):
    """What happens to a whole window that cannot be made k-anonymous at its deadline."""

    SUPPRESS = "suppress"
    HOLD = "hold"


@dataclass(frozen=True)
class Diversity:
    """What a sensitive attribute must show in every class, counted over distinct (individual, value) pairs.

    Parameters
    ----------
    distinct_l
        Least number of distinct values (Machanavajjhala et al., ICDE 2006), held by as many different
        individuals: one person with many values is not diversity. A missing value counts for nothing.
    """

    distinct_l: int

    def __post_init__(self) -> None:
        if not 2 <= self.distinct_l <= MOST_CLASS:
            raise SettingsError("distinct_l", f"must lie between 2 and {MOST_CLASS}")


@dataclass(frozen=True)
class WindowLimits:
    """When a window closes.

    Parameters
    ----------
    max_records
        Admitted records after which it closes.
    max_delay
        Seconds after the arrival of its oldest record at which it closes.
    shortfall
        See `Shortfall`.
    max_records_per_individual
        Records of one individual beyond which further ones are suppressed.
    """

    max_records: int = 10_000
    max_delay: float = 30.0
    shortfall: Shortfall = Shortfall.SUPPRESS
    max_records_per_individual: int = 100

    def __post_init__(self) -> None:
        if not 2 <= self.max_records <= 10_000_000:
            raise SettingsError("window.max_records", "must lie between 2 and 10000000")
        if not 0.05 <= self.max_delay <= 86_400:
            raise SettingsError("window.max_delay", "must lie between 0.05 and 86400 seconds")
        if self.max_records_per_individual < 1:
            raise SettingsError("window.max_records_per_individual", "must be at least 1")


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
    """Which partitioner forms the classes, and the seed that governs classes and nothing else.

    Parameters
    ----------
    name
        `forest`, `k-forest` or `mondrian`.
    relaxed, least_loss
        Of Mondrian: equal values may part; each cut is the one of least loss instead of a median.
    order
        Of the forest: an order learned before, from a file.
    """

    name: str = "forest"
    seed: int = 0
    relaxed: bool = False
    least_loss: bool = False
    order: LearnedOrder | None = None

    def __post_init__(self) -> None:
        if self.order is not None and self.name != "forest":
            raise SettingsError("engine.order", "is for name: forest only")
        for key in ("relaxed", "least_loss"):
            if getattr(self, key) and self.name != "mondrian":
                raise SettingsError(f"engine.{key}", "is for name: mondrian only")


@dataclass(frozen=True)
class Policy:
    """All that the core knows of a deployment.

    Parameters
    ----------
    attributes
        Every declared field, in the order in which published ones are written.
    k
        Least number of distinct individuals in a published class.
    individual
        Name of the attribute that tells individuals apart, or `EVERY_RECORD`.
    max_share
        Largest part of a class's records that may belong to one individual.
    diversity
        Criteria per sensitive attribute.
    digest
        Hash of the settings and hierarchies it was made from, for certificates.
    """

    attributes: tuple[Attribute, ...]
    k: int
    individual: str
    max_share: float = 0.5
    diversity: Mapping[str, Diversity] = field(default_factory=dict)
    window: WindowLimits = WindowLimits()
    engine: EngineChoice = EngineChoice()
    digest: str = ""

    def __post_init__(self) -> None:
        if not 2 <= self.k <= MOST_CLASS:
            raise SettingsError("privacy.k", f"must lie between 2 and {MOST_CLASS}")
        if not 0 < self.max_share <= 1:
            raise SettingsError("privacy.max_share", "must be above 0 and at most 1")
        if self.max_share * self.k < 1:
            raise SettingsError("privacy.max_share", f"must be at least 1/k = {1 / self.k:g}")
        if self.window.max_records < self.k:
            raise SettingsError("window.max_records", f"must be at least k = {self.k}")
        if self.engine.name == "k-forest" and self.window.max_records > MOST_K_FOREST:
            raise SettingsError(
                "window.max_records",
                f"must be at most {MOST_K_FOREST} with engine.name: k-forest, whose cost is quadratic",
            )
        self._check_names()
        if not self.quasi_identifiers:
            raise SettingsError("attributes", "at least one quasi-identifier is needed")
        sensitive = {a.name for a in self.attributes if isinstance(a, Sensitive)}
        for name in self.diversity:
            if name not in sensitive:
                raise SettingsError(f"privacy.sensitive.{name}", "is no attribute with role: sensitive")

    def _check_names(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        if self.individual != EVERY_RECORD and self.individual not in names:
            raise SettingsError(
                "privacy.individual",
                f"must be a declared attribute or {EVERY_RECORD!r}, got {self.individual!r}",
            )
        if self.individual != EVERY_RECORD and not isinstance(self.attribute(self.individual), Identifier):
            raise SettingsError("privacy.individual", "must be an attribute with role: identifier")
        for place, name in enumerate(names):
            if name in names[:place]:
                raise SettingsError(f"attributes.{name}", "is declared twice")
            if not all(name.split(".")):
                raise SettingsError(f"attributes.{name}", "must be keys joined by single dots")
            if any(other.startswith(name + ".") for other in names):
                raise SettingsError(f"attributes.{name}", "cannot be both a value and a parent of values")

    def attribute(self, name: str) -> Attribute:
        """Return the declared attribute of that name; KeyError if there is none."""
        return self.attributes[self.index[name]]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Return the place of each attribute by name."""
        return {attribute.name: i for i, attribute in enumerate(self.attributes)}

    @cached_property
    def quasi_identifiers(self) -> tuple[QuasiIdentifier, ...]:
        """Return the quasi-identifiers, in the row order of coded batches."""
        return tuple(a for a in self.attributes if isinstance(a, QuasiIdentifier))

    @cached_property
    def diverse(self) -> tuple[Sensitive, ...]:
        """Return the sensitive attributes that have a criterion, in the row order of coded batches."""
        return tuple(a for a in self.attributes if isinstance(a, Sensitive) and a.name in self.diversity)

    @cached_property
    def passed(self) -> tuple[PassThrough, ...]:
        """Return the fields that leave as they came, in policy order."""
        return tuple(a for a in self.attributes if isinstance(a, PassThrough))

    @cached_property
    def published(self) -> tuple[Attribute, ...]:
        """Return the fields of a released record, in policy order."""
        return tuple(a for a in self.attributes if a.published)
