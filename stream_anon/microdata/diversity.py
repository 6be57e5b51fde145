"""The criteria on the values of a sensitive attribute, and the words for each.

A criterion is a field of `Diversity` and a line of `CRITERIA`. Settings, words, policy documents and the comparison
of two policies read them here; the gate (`privacy.spreads`), the partitioners (`clustering.unevenness`) and the
audit (`audit.spreads`) count each for themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from math import ceil
from typing import Any

from stream_anon.errors import SettingsError

MOST_CLASS = 1_000_000
MOST_DELTA = 100.0


class Distance(StrEnum):
    """How far apart two values are: all alike, or by their places among the values in order (numbers only)."""

    EQUAL = "equal"
    ORDERED = "ordered"


@dataclass(frozen=True)
class Recursion:
    """Recursive (c, l)-diversity: r1 < c (r_l + .. + r_m), r_i how often the i-th most frequent value occurs."""

    c: float
    l: int  # noqa: E741 - the letter of the paper

    def __post_init__(self) -> None:
        if not 0 < self.c <= MOST_CLASS:
            raise SettingsError("recursive_cl.c", f"must be above 0 and at most {MOST_CLASS}")
        if not 2 <= self.l <= MOST_CLASS:
            raise SettingsError("recursive_cl.l", f"must lie between 2 and {MOST_CLASS}")


@dataclass(frozen=True)
class Closeness:
    """t-closeness: a class's values are distributed as those of the window's released rows, but for t."""

    t: float
    distance: Distance = Distance.EQUAL

    def __post_init__(self) -> None:
        if not 0 < self.t < 1:
            raise SettingsError("t_closeness.t", "must be above 0 and below 1")


@dataclass(frozen=True)
class Diversity:
    """What a sensitive attribute must show in every class; at least one criterion, all of them together.

    Values are compared as they are written; a missing one is no value. Frequencies hold of the class's distinct
    (individual, value) pairs and of its records, both. Below, q is the share of a value in the class and p its
    share in the window's released rows.

    Parameters
    ----------
    distinct_l
        Least number of distinct values, held by as many different individuals: one person with many values is not
        diversity. As entropy, recursion and t-closeness: Machanavajjhala et al., ICDE 2006; Li et al., ICDE 2007.
    entropy_l
        Least exponential of the entropy; implies that many values, rounded up.
    recursive_cl
        See `Recursion`; implies l values.
    t_closeness
        See `Closeness`. A missing value is outside of both distributions, but its share must differ by t at most.
    p_sensitive
        The same as `distinct_l` (Truta and Vinay, 2006).
    alpha
        Largest part of a class's values that may be alike (Wong et al., KDD 2006): recursive with
        c = alpha / (1 - alpha) and l = 2, equality allowed; implies 1 / alpha values, rounded up.
    delta_disclosure
        |ln(q / p)| < delta for every value of the window (Brickell and Shmatikov, KDD 2008). A value that
        the class lacks has an infinite logarithm: every class shows every value.
    beta_likeness
        (q - p) / p <= beta for every value with q > p: basic beta-likeness (Cao and Karras, PVLDB 2012).

    Notes
    -----
    Missing values are outside of the distributions that delta and beta compare, too; their share of the class's
    rows is compared with that of all rows in the same way.
    """

    distinct_l: int | None = None
    entropy_l: float | None = None
    recursive_cl: Recursion | None = None
    t_closeness: Closeness | None = None
    p_sensitive: int | None = None
    alpha: float | None = None
    delta_disclosure: float | None = None
    beta_likeness: float | None = None

    def __post_init__(self) -> None:
        if all(getattr(self, field.name) is None for field in fields(self)):
            raise SettingsError("", f"needs at least one of {', '.join(f.name for f in fields(self))}")
        for key in ("distinct_l", "p_sensitive"):
            least = getattr(self, key)
            if least is not None and not 2 <= least <= MOST_CLASS:
                raise SettingsError(key, f"must lie between 2 and {MOST_CLASS}")
        if self.entropy_l is not None and not 1 < self.entropy_l <= MOST_CLASS:
            raise SettingsError("entropy_l", f"must be above 1 and at most {MOST_CLASS}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise SettingsError("alpha", "must be above 0 and below 1")
        if self.delta_disclosure is not None and not 0 < self.delta_disclosure <= MOST_DELTA:
            raise SettingsError("delta_disclosure", f"must be above 0 and at most {MOST_DELTA:g}")
        if self.beta_likeness is not None and not 0 < self.beta_likeness <= MOST_CLASS:
            raise SettingsError("beta_likeness", f"must be above 0 and at most {MOST_CLASS}")

    @property
    def values(self) -> int:
        """Return the least number of values held by as many individuals that the criteria imply, 0 for none."""
        return max(
            self.distinct_l or 0,
            self.p_sensitive or 0,
            ceil((self.entropy_l or 0) - 1e-9),
            self.recursive_cl.l if self.recursive_cl else 0,
            ceil(1 / self.alpha - 1e-9) if self.alpha else 0,
        )

    @property
    def ordered(self) -> bool:
        """Return whether the order of values matters too."""
        return self.t_closeness is not None and self.t_closeness.distance is Distance.ORDERED

    @property
    def in_words(self) -> tuple[str, ...]:
        """Return the requested criteria, by the names of their settings."""
        plain = asdict(self)
        return tuple(
            f"{one.name} {one.in_words(plain[one.name])}" for one in CRITERIA if plain[one.name] is not None
        )


def _number(asked: Any) -> str:
    return f"{asked:g}"


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is said of a criterion wherever criteria are listed.

    Parameters
    ----------
    name
        Its field of `Diversity`, and its key in settings, policy documents and certificates.
    is_weaker
        Whether the second value, as JSON has it, promises less than the first, or what cannot be compared.
    in_words
        Writes a value.
    of_window
        Whether it compares a class with its window, so that less is asked in a smaller window.
    """

    name: str
    is_weaker: Callable[[Any, Any], bool]
    in_words: Callable[[Any], str] = _number
    of_window: bool = False


def _less(old: float, new: float) -> bool:
    return new < old


def _more(old: float, new: float) -> bool:
    return new > old


CRITERIA: tuple[Criterion, ...] = (
    Criterion("distinct_l", _less),
    Criterion("p_sensitive", _less),
    Criterion("entropy_l", _less),
    Criterion("alpha", _more),
    Criterion(
        "recursive_cl",
        lambda old, new: new["c"] > old["c"] or new["l"] < old["l"],
        lambda asked: f"c = {asked['c']:g}, l = {asked['l']}",
    ),
    Criterion(
        "t_closeness",
        lambda old, new: new["t"] > old["t"] or new["distance"] != old["distance"],
        lambda asked: f"{asked['t']:g} ({asked['distance']})",
        of_window=True,
    ),
    Criterion("delta_disclosure", _more, of_window=True),
    Criterion("beta_likeness", _more, of_window=True),
)


@dataclass(frozen=True, slots=True)
class Surest:
    """The class in which a value is surest; of several the largest.

    Parameters
    ----------
    records
        Its size.
    share
        Of its records that have its most frequent value: how sure somebody is who takes it for a member's. It is
        the confidence that (alpha, k)-anonymity bounds (Wong, Li, Fu, Wang: KDD 2006).
    """

    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What classes give away of a sensitive attribute S. A missing value counts as a value.

    Parameters
    ----------
    records
        That were counted.
    prior
        H(S) in bits: what is unknown of a record's value by who knows how all records' values are distributed.
    told
        I(class; S) = H(S) - sum over classes of (records of the class / records) x H(S in the class), in bits: what
        knowing the class tells of it (Shannon 1948). It is the privacy risk of Rebollo-Monedero, Forne and
        Domingo-Ferrer (From t-closeness-like privacy to postrandomization via information theory, TKDE 2010). Small
        classes differ by chance, and tell the more.
    guess
        Share of all records that have the most frequent value.
    worst
        None without a record.
    alike
        Records in classes whose records all have one value: it is known of everybody in them.
    """

    records: int
    prior: float
    told: float
    guess: float
    worst: Surest | None
    alike: int

    @property
    def share(self) -> float:
        """Return told / prior; 0 where there is nothing to tell."""
        return self.told / self.prior if self.prior > 0 else 0.0

    @property
    def in_words(self) -> str:
        """Return how many records are in classes of one value."""
        return f"{self.alike:,} of {self.records:,} records are in classes whose records all have one value"

    def joined(self, other: Disclosure) -> Disclosure:
        """Return what two windows give away: means over records, each beside the distribution of its own window."""
        records = self.records + other.records

        def mean(one: float, another: float) -> float:
            return (one * self.records + another * other.records) / max(records, 1)

        return Disclosure(
            records,
            mean(self.prior, other.prior),
            mean(self.told, other.told),
            mean(self.guess, other.guess),
            max(
                (each for each in (self.worst, other.worst) if each is not None),
                key=lambda each: (each.share, each.records),
                default=None,
            ),
            self.alike + other.alike,
        )
