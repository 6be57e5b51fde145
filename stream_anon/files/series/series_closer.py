"""Close a table that is one release of a series: group it, add counterfeits, gate it, and say what to remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer, TooLarge, all_fit
from stream_anon.engine.completing.counterfeits import (
    NOBODY,
    suppressed_of_people,
    with_counterfeits,
    without_broken,
)
from stream_anon.engine.window import SealedWindow
from stream_anon.files.series.state import SeriesState
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.output.stated_returns import StatedSeries
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import SUPPRESSED, Release, Suppression
from stream_anon.microdata.sensitive_keys import sensitive_keys
from stream_anon.privacy.gcp import gcp
from stream_anon.privacy.series.recounting import SeriesRows, broken_classes, people_of_classes
from stream_anon.recoding.invariance.buckets import Signature
from stream_anon.recoding.invariance.invariant_groups import Grouping, grouped

PseudonymsOf = Callable[[NDArray[np.int64]], list[str]]
"""Returns the pseudonym of the person behind each offset int64[n]."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The rows of a release, then its counterfeits; as in `SeriesRows`, but for the classes."""

    values: NDArray[np.int64]
    signatures: Sequence[Signature | None]
    known: Sequence[Signature | None]
    people: NDArray[np.int64]

    @property
    def real(self) -> NDArray[np.bool_]:
        """Return which rows are somebody's."""
        return self.people >= 0

    def classed(self, class_of_row: NDArray[np.int32]) -> SeriesRows:
        """Return what the gate counts."""
        return SeriesRows(class_of_row, self.values, self.signatures, self.known, self.people)


class SeriesCloser(Closer):
    """Turns one window into a release of a series.

    Parameters
    ----------
    policy
        One that suits a series.
    least
        m.
    state
        What the series remembers from before.
    pseudonyms
        See `PseudonymsOf`.

    Attributes
    ----------
    after
        What the series must remember after the release; None before it.
    least
        m.
    changed, absent, waiting
        How many records are suppressed because their value is none of those that their person was published among,
        because they have none, and because their person is new and in no group.
    uneven
        Whether so many new people have the same value that counterfeits stand beside them.
    """

    def __init__(self, policy: Policy, least: int, state: SeriesState, pseudonyms: PseudonymsOf) -> None:
        super().__init__(policy)
        self.least = least
        self._state, self._pseudonyms = state, pseudonyms
        self._table = _Table(np.empty(0, np.int64), [], [], np.empty(0, np.int64))
        self.after: SeriesState | None = None
        self.changed = self.absent = self.waiting = 0
        self.uneven = False

    def release(
        self,
        window: SealedWindow,
        shuffle: np.random.Generator,
        too_large: TooLarge = all_fit,  # noqa: ARG002 - no record of a file is too large
    ) -> Release:
        """Return what becomes of the table; see `Closer.release`."""
        names = self._pseudonyms(window.offsets)
        known = self._state.signatures_of(names)
        labels, values = _numbered(
            self._state.values, [row[0] for row in window.payload], window.columns.sensitive[0]
        )
        found = self._grouped(window, values, known, shuffle)
        whole, clusters = self._with_counterfeits(window, found, values, known, labels)
        unplaced = int((found.group_of_row < 0).sum())
        release = self._bounded(
            whole, self._assemble(whole, clusters, {Suppression.UNPLACED: unplaced}, shuffle), shuffle
        )
        published = np.flatnonzero(release.class_of_row[: len(names)] >= 0).tolist()
        signatures = [found.signatures[row] or () for row in published]
        new = np.flatnonzero((values >= 0) & (release.class_of_row[: len(names)] < 0)).tolist()
        left_out = [names[row] for row in new if known[row] is None]
        self.after = self._state.after(labels, [names[row] for row in published], signatures, left_out)
        return release

    def _grouped(
        self,
        window: SealedWindow,
        values: NDArray[np.int64],
        known: Sequence[Signature | None],
        draws: np.random.Generator,
    ) -> Grouping:
        """Return the groups of all rows; a row without a value is in none."""
        rows = np.flatnonzero(values >= 0)
        self.absent = len(values) - len(rows)
        own = [known[row] for row in rows.tolist()]
        self.changed = sum(
            signature is not None and value not in signature
            for value, signature in zip(values[rows].tolist(), own, strict=True)
        )
        codes, least = window.columns.codes[:, rows], (self._criteria.k, self.least)
        # Two codes lie beyond each domain: that of a missing value, and that of one outside.
        sizes = np.array([own.domain.size + 2 for own in self._policy.quasi_identifiers], np.int64)
        found = grouped(codes, sizes, values[rows], own, least, draws, together=bool(self._state.waiting))
        group_of_row = np.full(len(values), SUPPRESSED, np.int32)
        group_of_row[rows] = found.group_of_row
        placed = found.group_of_row >= 0
        new = np.array([one is None for one in own], np.bool_)
        self.waiting = int((new & ~placed).sum())
        _, counts = np.unique(values[rows][new & placed], return_counts=True)
        self.uneven = bool(self.least * counts.max(initial=0) > counts.sum())
        signatures: list[Signature | None] = [None] * len(values)
        for row, signature in zip(rows.tolist(), found.signatures, strict=True):
            signatures[row] = signature
        return replace(found, group_of_row=group_of_row, signatures=signatures, like=rows[found.like])

    def _with_counterfeits(
        self,
        window: SealedWindow,
        found: Grouping,
        values: NDArray[np.int64],
        known: Sequence[Signature | None],
        labels: Sequence[Scalar],
    ) -> tuple[SealedWindow, NDArray[np.int32]]:
        """Return the window with the counterfeits behind its rows, and the group of each.

        Equal values are written alike, also if some records had 1e17 and others 100000000000000000.
        """
        columns, made = window.columns, len(found.groups)
        # Dense numbers of values, as the window has them; those that only counterfeits have come after.
        of_window = np.full(len(labels), -1, np.int64)
        present = values >= 0
        of_window[values[present]] = columns.sensitive[0, present]
        foreign = np.flatnonzero(of_window < 0)
        of_window[foreign] = int(columns.sensitive.max(initial=-1)) + 1 + np.arange(len(foreign))
        every = np.concatenate([values, found.values])
        self._table = _Table(
            every,
            [*found.signatures, *found.made_for],
            [*known, *[None] * made],
            np.concatenate([columns.individuals.astype(np.int64), np.full(made, NOBODY, np.int64)]),
        )
        whole = with_counterfeits(
            window,
            columns.codes[:, found.like],
            of_window[found.values].astype(np.int32)[None],
            [(None if value < 0 else labels[value],) for value in every.tolist()],
        )
        return whole, np.concatenate([found.group_of_row, found.groups]).astype(np.int32)

    def _assemble(
        self,
        window: SealedWindow,
        clusters: NDArray[np.int32],
        reasons: Mapping[Suppression, int],
        shuffle: np.random.Generator,
    ) -> Release:
        """Return a release whose counts of people, and of what is suppressed, are without counterfeits."""
        release = self._recounted(super()._assemble(window, clusters, reasons, shuffle))
        real, classes = self._table.real, release.classes
        people = people_of_classes(self._table.classed(release.class_of_row), len(classes))
        published = release.class_of_row >= 0
        suppressed = suppressed_of_people(real & ~published, reasons, window.over_limit)
        return replace(
            release,
            classes=replace(classes, individuals=people),
            suppressed=suppressed,
            achieved_k=int(people.min()) if len(classes) else None,
            gcp=gcp(classes.ncp, people, sum(suppressed.values())),
            series=StatedSeries(self._state.releases + 1, self.least, int((published & ~real).sum())),
        )

    def _recounted(self, release: Release) -> Release:
        """Return the release without the classes that are no classes of a series: a bug."""
        rows = self._table.classed(release.class_of_row)
        broken = broken_classes(rows, len(release.classes), self._criteria.k, self.least)
        return without_broken(release, broken) if broken.any() else release


def _numbered(
    before: Sequence[Scalar], shown: Sequence[Scalar | None], dense: NDArray[np.int32]
) -> tuple[list[Scalar], NDArray[np.int64]]:
    """Return values by their numbers, and the number of each value shown, -1 of a missing one.

    Values of before come first, then new ones in an order that does not tell who has them. `dense`, int32[n], is
    equal where the gate takes values to be equal, though they may be written as 1e17 and 100000000000000000.
    """
    kinds = zip(shown, dense.tolist(), strict=True)
    present = sorted((isinstance(value, str), value, kind) for value, kind in kinds if value is not None)
    first: dict[int, Scalar] = {}
    for _, value, kind in present:
        first.setdefault(kind, value)
    labels, known = list(before), dict[int, int]()
    for number, key in enumerate(sensitive_keys(labels).tolist()):
        known.setdefault(key, number)
    numbers: dict[int, int] = {}
    for kind, key in zip(first, sensitive_keys(list(first.values())).tolist(), strict=True):
        numbers[kind] = known.setdefault(key, len(labels))
        if numbers[kind] == len(labels):
            labels.append(first[kind])
    found = [-1 if value is None else numbers[kind] for value, kind in zip(shown, dense.tolist(), strict=True)]
    return labels, np.array(found, np.int64)
