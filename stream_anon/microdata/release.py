"""Releases: what became of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import Rejects
from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.output.stated_counterfeits import StatedCounterfeits
from stream_anon.microdata.output.stated_returns import StatedSeries
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.policy import Policy

SUPPRESSED = -1


class Suppression(StrEnum):
    """Why an admitted record was not published."""

    SHORTFALL = "shortfall"  # the whole window had too few individuals or values
    UNPLACED = "unplaced"  # no legal class was found for it
    MAX_LEVEL = "max-level"  # its class would need a higher level than the policy allows
    SHIELD = "shield"  # too few individuals share its values of a shield's attributes, raised as far as may be
    PRESENCE = "presence"  # too many of the people who fit its class are in it
    MAX_SUPPRESSED = "max-suppressed"  # its window would have suppressed too many others
    OVER_LIMIT = "over-limit"  # beyond max_records_per_individual
    RETURNING = "returning"  # of somebody who was released as often as privacy.returning allows
    GATE = "gate"  # the gate found its class at fault: a bug


class ReleasedPeople(NamedTuple):
    """Who was released by one window, of one source.

    Parameters
    ----------
    sealed
        When the window was sealed, in whole seconds since the epoch; it counts in that period.
    people
        int64[n], pseudonyms, each once, ascending.
    """

    sealed: int
    people: NDArray[np.int64]


class CountedRelease(NamedTuple):
    """Whom a window releases.

    Parameters
    ----------
    released, kept_back
        By source; and who is in the window with no record of theirs released, int64[n] each.
    scattered
        People of several sources.
    """

    released: Mapping[int, ReleasedPeople]
    kept_back: Mapping[int, NDArray[np.int64]]
    scattered: int


@dataclass(frozen=True, slots=True)
class InputRange:
    """The stretch of one partition that a window covers: offsets from `start` up to, without, `end`.

    `lost` are the stretches of it, by start and end, that were gone or damaged before anybody could read them.
    """

    source: int
    start: int
    end: int
    lost: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The equivalence classes of a release, as columns over classes.

    Parameters
    ----------
    low, high
        int32[q, c], the bounds of the published nodes in codes (of the least and greatest code for a set).
    values
        Per quasi-identifier a sequence of c published values.
    records, individuals
        int64[c].
    ncp
        float64[q, c], unweighted NCP per quasi-identifier.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    values: Sequence[Sequence[Published]]
    records: NDArray[np.int64]
    individuals: NDArray[np.int64]
    ncp: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.records)

    def take(self, chosen: NDArray[np.int64]) -> Classes:
        """Return the classes of these numbers, in that order."""
        values = [list(map(own.__getitem__, chosen.tolist())) for own in self.values]
        return Classes(
            self.low[:, chosen],
            self.high[:, chosen],
            values,
            self.records[chosen],
            self.individuals[chosen],
            self.ncp[:, chosen],
        )

    @classmethod
    def none(cls, quasi_identifiers: int) -> Classes:
        """Return no classes."""
        bounds, nobody = np.empty((quasi_identifiers, 0), np.int32), np.empty(0, np.int64)
        return cls(bounds, bounds, [[]] * quasi_identifiers, nobody, nobody, np.empty((quasi_identifiers, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What became of a window's records: in = released - counterfeits + suppressed + rejected + ignored.

    Parameters
    ----------
    classes
        The published equivalence classes.
    class_of_row
        int32[n] for the rows of `payload`; `SUPPRESSED` for rows that are not published.
    order
        int64[m], the released rows shuffled: the order in which they are published.
    payload
        The codec's rows, one for each admitted record.
    suppressed
        Records by reason; those over an individual's limit have no row.
    rejects
        The dead letters of the window's stretch of input, and what was ignored there.
    ranges
        The stretch of each partition, also of those without a row.
    arrivals
        (seconds on the service's clock, released or suppressed records) in order, for the delay.
    achieved_k, achieved_l, achieved_spread
        What every class reached: `k`, and by attribute, where asked, `distinct_l` and the figures of frequencies,
        named as in certificates.
    achieved_shields
        The least number of individuals who share a tuple of each shield's attributes, in the policy's order; empty
        where no class is published.
    achieved_presence
        The largest share, of the people of the policy's population who fit a class, that is in it; None where no
        class is published, or none is asked.
    gcp
        Mean NCP over records and quasi-identifiers; a suppressed record counts 1; None for no record.
    gate_violations
        Classes that the gate had to suppress.
    gate_seconds
        How long the gate took, where the closer was given a watch.
    missing
        Released and suppressed records without a value, by attribute.
    above_max_suppressed
        Whether more records are suppressed, or would have been, than the policy allows.
    people
        Whom it releases, where a service counts that.
    series
        What is stated of a release of a series; None for any other.
    completed
        What is stated where counterfeits may complete classes; None elsewhere.
    """

    classes: Classes
    class_of_row: NDArray[np.int32]
    order: NDArray[np.int64]
    payload: Payload
    suppressed: Mapping[Suppression, int]
    rejects: Rejects
    ranges: tuple[InputRange, ...]
    arrivals: tuple[tuple[float, int], ...]
    opened_at: float
    closed_at: float
    achieved_k: int | None
    achieved_l: Mapping[str, int]
    gcp: float | None
    gate_violations: int = 0
    gate_seconds: float = 0.0
    achieved_spread: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    above_max_suppressed: bool = False
    achieved_shields: tuple[int, ...] = ()
    people: CountedRelease | None = None
    achieved_presence: float | None = None
    series: StatedSeries | None = None
    completed: StatedCounterfeits | None = None

    @property
    def counterfeits(self) -> int:
        """Return how many of the published records are nobody's."""
        return sum(stated.counterfeits for stated in (self.series, self.completed) if stated is not None)

    @property
    def released(self) -> int:
        """Return the number of published records."""
        return len(self.order)

    @property
    def real(self) -> int:
        """Return how many of the published records are somebody's."""
        return self.released - self.counterfeits

    @property
    def records_in(self) -> int:
        """Return the number of records that the window took in, rejected ones included."""
        return self.real + sum(self.suppressed.values()) + len(self.rejects)


def release_without_window(
    classes: Classes, class_of_row: NDArray[np.int32], payload: Payload, order: NDArray[np.int64]
) -> Release:
    """Return a release of rows that came in no window: nothing is suppressed, no time and no range is told.

    Parameters
    ----------
    class_of_row
        int32[n], of each row of the payload.
    order
        int64[n], the order in which the rows are published.
    """
    return Release(
        classes=classes,
        class_of_row=class_of_row,
        order=order,
        payload=payload,
        suppressed={},
        rejects=Rejects.of([]),
        ranges=(),
        arrivals=(),
        opened_at=0.0,
        closed_at=0.0,
        achieved_k=None,
        achieved_l={},
        gcp=None,
    )


def made_up_release(policy: Policy, payload: Payload) -> Release:
    """Return a release of two records in one class at the top, to be written and thrown away."""
    count, width = 2, len(policy.quasi_identifiers)
    bounds, size = np.zeros((width, 1), np.int32), np.array([count], np.int64)
    classes = Classes(bounds, bounds, [[ROOT_LABEL]] * width, size, size, np.ones((width, 1)))
    return release_without_window(classes, np.zeros(count, np.int32), payload, np.arange(count, dtype=np.int64))
