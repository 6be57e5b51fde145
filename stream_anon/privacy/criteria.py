"""Which classes may be published: the only place that decides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import Policy

TOLERANCE = 1e-9  # of frequencies: the same sum in another order is another number


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of one sensitive attribute must be spread in a class.

    Parameters
    ----------
    entropy_l
        Least exponential of the entropy, 1 for none.
    c, l
        r1 < c (r_l + .. + r_m), c infinite for none.
    t, ordered
        Largest distance from the distribution of all rows, 1 for none; and whether values are numbers in order.
    alpha
        Largest share of one value, 1 for none.
    delta
        What the logarithm of a share's ratio to that in all rows must stay below in size, infinite for none.
    beta
        Largest relative gain of a share over that in all rows, infinite for none.
    """

    entropy_l: float = 1.0
    c: float = np.inf
    l: int = 2  # noqa: E741 - the letter of the paper
    t: float = 1.0
    ordered: bool = False
    alpha: float = 1.0
    delta: float = np.inf
    beta: float = np.inf

    @classmethod
    def of(cls, diversity: Diversity) -> Spread:
        """Return the requested bounds on frequencies."""
        recursion, closeness = diversity.recursive_cl, diversity.t_closeness
        return cls(
            diversity.entropy_l or 1.0,
            recursion.c if recursion else np.inf,
            recursion.l if recursion else 2,
            closeness.t if closeness else 1.0,
            diversity.ordered,
            diversity.alpha or 1.0,
            diversity.delta_disclosure or np.inf,
            diversity.beta_likeness or np.inf,
        )

    @property
    def asks(self) -> bool:
        """Return whether anything is asked."""
        return any(figure.is_asked(self) for figure in FIGURES)

    @property
    def compares(self) -> bool:
        """Return whether a class is compared with all rows."""
        return any(figure.compares and figure.is_asked(self) for figure in FIGURES)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a class, and how it is judged.

    Parameters
    ----------
    name
        Its field of `Spreads`.
    certified
        Its key in certificates.
    bound
        Returns what is asked of it.
    none
        The bound that asks for nothing.
    least
        More is better; else less is.
    strict
        It must not equal the bound.
    compares
        It depends on what all rows show.
    written
        Returns the number that a certificate tells.
    """

    name: str
    certified: str
    bound: Callable[[Spread], float]
    none: float
    least: bool = False
    strict: bool = False
    compares: bool = False
    written: Callable[[float], float] = float

    @property
    def worse(self) -> np.ufunc:
        """Return what chooses the worse of two."""
        return np.minimum if self.least else np.maximum

    def is_asked(self, asked: Spread) -> bool:
        """Return whether anything is asked of it."""
        return self.bound(asked) != self.none

    def permitted(self, found: NDArray[np.float64], asked: Spread) -> NDArray[np.bool_]:
        """Return for each class whether its figure is within the bound; bool[c]."""
        sign = -1 if self.least else 1
        excess = sign * found - sign * self.bound(asked)
        permitted: NDArray[np.bool_] = excess < -TOLERANCE if self.strict else excess <= TOLERANCE
        return permitted


FIGURES = (
    Figure(
        "entropy",
        "entropy_l",
        lambda asked: float(np.log(asked.entropy_l)),
        0.0,
        least=True,
        written=lambda nats: max(1.0, float(np.exp(nats))),
    ),
    Figure("tilt", "recursive_c", lambda asked: asked.c, np.inf, strict=True),
    Figure("distance", "t", lambda asked: asked.t, 1.0, compares=True, written=lambda distance: min(1.0, distance)),
    Figure("share", "alpha", lambda asked: asked.alpha, 1.0),
    Figure("disclosure", "delta", lambda asked: asked.delta, np.inf, strict=True, compares=True),
    Figure("gain", "beta", lambda asked: asked.beta, np.inf, compares=True),
)


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """How the values of one sensitive attribute are spread in c classes; `FIGURES` says how each is judged.

    Parameters
    ----------
    entropy
        float64[c], in nats.
    tilt
        float64[c], r1 / (r_l + .. + r_m), infinite where fewer than l values occur.
    distance
        float64[c], from the distribution of all rows.
    share
        float64[c], of the most frequent value, 0 where there is none.
    disclosure
        float64[c], the largest |ln(q / p)|, q a value's share in the class and p in all rows; infinite where a
        value of all rows is absent.
    gain
        float64[c], the largest (q - p) / p, at least 0.
    """

    entropy: NDArray[np.float64]
    tilt: NDArray[np.float64]
    distance: NDArray[np.float64]
    share: NDArray[np.float64]
    disclosure: NDArray[np.float64]
    gain: NDArray[np.float64]

    def permitted(self, asked: Spread) -> NDArray[np.bool_]:
        """Return for each class whether it is spread as asked; bool[c]."""
        permitted = np.ones(len(self.entropy), np.bool_)
        for figure in FIGURES:
            if figure.is_asked(asked):
                permitted &= figure.permitted(getattr(self, figure.name), asked)
        return permitted

    def take(self, classes: NDArray[np.int64]) -> Spreads:
        """Return the chosen classes."""
        return Spreads(*(getattr(self, figure.name)[classes] for figure in FIGURES))

    def or_worse(self, other: Spreads) -> Spreads:
        """Return for each class the worse of two counts."""
        return Spreads(
            *(figure.worse(getattr(self, figure.name), getattr(other, figure.name)) for figure in FIGURES)
        )

    def reached(self, asked: Spread) -> dict[str, float]:
        """Return the worst class's figure for each requested criterion, as it is written into a certificate."""
        return {
            figure.certified: figure.written(float(figure.worse.reduce(getattr(self, figure.name))))
            for figure in FIGURES
            if figure.is_asked(asked)
        }


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """The counts of c classes.

    Parameters
    ----------
    records, individuals, largest
        int64[c]: records, distinct individuals, records of the individual with the most.
    values
        int64[s, c]: distinct values of each sensitive attribute with a criterion that are held by as many
        different individuals, at least so many. Of lists the largest l such that no item is held by more than 1/l
        of those individuals who have one, nor stands in more than 1/l of the records that have one; 0 without any.
    spreads
        Of each of these attributes; the worse of two counts, over records and over (individual, value) pairs.
        None for an attribute for which the policy asks nothing of this kind.
    whole
        bool[c], whether each family that has a value in the class, of attributes that keep them whole, has all of
        its values there, held by as many different individuals. None where no attribute does.
    """

    records: NDArray[np.int64]
    individuals: NDArray[np.int64]
    largest: NDArray[np.int64]
    values: NDArray[np.int64]
    spreads: Sequence[Spreads | None] = ()
    whole: NDArray[np.bool_] | None = None

    def take(self, classes: NDArray[np.int64]) -> ClassCounts:
        """Return the chosen classes, in that order."""
        return ClassCounts(
            self.records[classes],
            self.individuals[classes],
            self.largest[classes],
            self.values[:, classes],
            [spread and spread.take(classes) for spread in self.spreads],
            None if self.whole is None else self.whole[classes],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Criteria:
    """k-anonymity over distinct individuals, a bound on one person's share, and what sensitive values must show.

    Parameters
    ----------
    k
        Least number of distinct individuals.
    max_share
        Largest part of the records that may be one individual's.
    distinct_l
        int64[s], least number of values held by different individuals, per sensitive attribute with a
        criterion; what other criteria imply is in it.
    spreads
        What is asked of the frequencies of each of these attributes; empty for nothing.
    crowd
        Least number of distinct individuals in a window that publishes anything: the largest k of a shield.
    lists
        Which of these attributes have lists of values: there `distinct_l` asks that no item is held by more than
        one in l; see `ClassCounts.values`. Empty for none.
    families
        For each of these the number of values of each family, int64[f], if classes must hold families whole, else
        None. Empty means the same for all.
    """

    k: int
    max_share: float
    distinct_l: NDArray[np.int64]
    spreads: tuple[Spread, ...] = ()
    crowd: int = 0
    lists: tuple[bool, ...] = ()
    families: tuple[NDArray[np.int64] | None, ...] = ()

    @classmethod
    def of(cls, policy: Policy) -> Criteria:
        """Return what `policy` asks for."""
        asked = [policy.diversity[attribute.name] for attribute in policy.diverse]
        return cls(
            policy.k or 1,  # of one that asks for none every class is large enough
            policy.max_share,
            np.array([each.values for each in asked], np.int64),
            tuple(Spread.of(each) for each in asked),
            max((shield.k for shield in policy.shields), default=0),
            tuple(attribute.many for attribute in policy.diverse),
            tuple(map(_sizes_of_families, policy.diverse)),
        )

    @property
    def asked(self) -> tuple[Spread, ...]:
        """Return what is asked of each attribute's frequencies."""
        return self.spreads or (Spread(),) * len(self.distinct_l)

    def permit(self, counts: ClassCounts) -> NDArray[np.bool_]:
        """Return for each class whether it may be published."""
        legal = (counts.individuals >= self.k) & (counts.largest <= self.max_share * counts.records)
        legal &= (counts.values >= self.distinct_l[:, None]).all(axis=0)
        for s, asked in enumerate(self.asked):
            if asked.asks:
                found = counts.spreads[s]
                if found is None:
                    raise ValueError("a spread was asked for and not counted")
                legal &= found.permitted(asked)
        if self.keep_whole:
            if counts.whole is None:
                raise ValueError("families must be whole and were not counted")
            legal &= counts.whole
        return legal

    @property
    def keep_whole(self) -> bool:
        """Return whether a class that has a value of a family must have all of its values."""
        return any(sizes is not None for sizes in self.families)

    @property
    def least_people(self) -> int:
        """Return how many individuals a window needs at least, whatever they are like, for a class."""
        return max(self.k, self.crowd, int(self.distinct_l.max(initial=0)))

    def in_reach(self, individuals: int, occurrences: Sequence[NDArray[np.int64]]) -> bool:
        """Return whether a window with so many individuals can be released: all of it as one class, at worst.

        Parameters
        ----------
        occurrences
            For each sensitive attribute with a criterion how often each of its values occurs.

        Notes
        -----
        All distances from the distribution of all rows are 0 then: t, delta and beta are met. Values are
        counted over records here; where people with several records make the difference, the partitioner finds it.
        """
        if individuals < self.least_people:
            return False
        for least, asked, counts in zip(self.distinct_l.tolist(), self.asked, occurrences, strict=True):
            heights = np.sort(counts[counts > 0])[::-1]
            if len(heights) < least:
                return False
            if not asked.asks:
                continue
            total, rest = int(heights.sum()), int(heights[asked.l - 1 :].sum())
            share = heights / total
            most = float(share.max(initial=0.0))
            tilt = most * total / rest if rest else np.inf
            entropy = float(-(share * np.log(share)).sum())
            found = Spreads(*(np.array([figure]) for figure in (entropy, tilt, 0.0, most, 0.0, 0.0)))
            if not found.permitted(asked)[0]:
                return False
        return True


def _sizes_of_families(attribute: Sensitive) -> NDArray[np.int64] | None:
    return np.array(list(map(len, attribute.families)), np.int64) if attribute.keeps_whole else None
