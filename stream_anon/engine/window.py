"""The open window: the rows, people and rejects of a stretch of input.

::

    partition 0   ──┤ start ······ rows, rejects, over-limit ······ position ├──▶
    partition 1   ────┤ start ··· position ├──▶
                       └──────── one window of one worker ────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import Outlook, Partitioner
from stream_anon.engine.numbering import Numbering, SensitiveNumbers
from stream_anon.engine.sealed_window import SealedWindow, kept_bytes, missing_counts
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.columns import Columns
from stream_anon.microdata.payload import Payload, joined, taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.windowing.limits import WindowTimer
from stream_anon.windowing.pieces import LARGE, append_piece

Allowed = Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class WindowPart:
    """The part of a batch that one window took: admitted rows of one source that arrived together.

    `over_limit`, `returning` and `missing` are as in `SealedWindow`.
    """

    source: int
    arrived: float
    columns: Columns
    individuals: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    offsets: NDArray[np.int64]
    payload: Payload
    over_limit: int
    returning: int
    missing: NDArray[np.int64]

    @property
    def held(self) -> int:
        """Return the bytes that are kept of the rows until their window is sealed."""
        return kept_bytes(self.columns, self.payload, self.individuals, self.sensitive, self.offsets)


class Window:
    """The rows taken since `starts`, one position per open source.

    Parameters
    ----------
    policy
        What rows look like.
    partitioner
        Forms the classes; sees each row once, as it arrives.
    timer
        When the window is due.
    allowed
        Returns which of some people of a source, given by keys, may be released; by default all.
    """

    def __init__(
        self, policy: Policy, partitioner: Partitioner, timer: WindowTimer, allowed: Allowed | None = None
    ) -> None:
        self._policy = policy
        self._partitioner = partitioner
        self.timer = timer
        self._allowed = allowed
        self._parts: list[WindowPart] = []
        self._latest: dict[int, int] = {}  # where the latest part of each source's rows stands
        self._rejects: list[Rejects] = []
        self._since: dict[int, float] = {}  # when the first record of each source arrived, in order of arrival
        self._lost: dict[int, list[tuple[int, int]]] = {}  # start and end of what could not be read, by source
        self.admitted = 0
        self.held = 0  # bytes that are kept of them
        self.over_limit = 0  # beyond their individual's limit
        self.returning = 0  # of people who were released too often
        self.rejected = 0  # dead letters
        self.ignored = 0
        self._now = -np.inf
        self._arriving = 0  # records that came now, and the last time before
        self._at_once = 0
        self._number_anew()

    def _number_anew(self) -> None:
        self._people = Numbering(self._policy.window.max_records_per_individual)
        self._values = SensitiveNumbers(self._policy)

    @property
    def oldest(self) -> float | None:
        """Return when the oldest record in the window arrived, or the oldest loss was met; None without any."""
        return next(iter(self._since.values()), None)

    @property
    def individuals(self) -> int:
        """Return the number of distinct individuals."""
        return len(self._people)

    @property
    def read(self) -> int:
        """Return the number of records that were taken, whatever becomes of them."""
        return self.admitted + self.over_limit + self.returning + self.rejected + self.ignored

    def take(self, batch: CodedBatch, source: int, first: int, now: float) -> int:
        """Take rows of `batch` from `first` on until the window is full; return the first row left.

        Rows over their individual's limit, and of people who were released too often, are counted but need no room:
        one flooding id must not close windows.
        """
        allowed = None if self._allowed is None else self._allowed(source, batch.individuals)
        while first < len(batch) and (room := self.timer.room(self.admitted, self.held)):
            stop = min(len(batch), first + room) if allowed is None else _stop(allowed, first, room)
            numbers, returning = self._numbers(batch.individuals[first:stop], allowed, first)
            kept = np.flatnonzero(numbers >= 0)
            over = stop - first - len(kept) - returning
            self.over_limit += over
            self.returning += returning
            missing = missing_counts(self._policy, batch.codes, batch.payload, slice(first, stop))
            if not len(kept) and self._count_left_out(source, over, returning, missing):
                first = stop
                continue
            whole = len(kept) == stop - first
            chosen = slice(first, stop) if whole else kept + first
            payload = taken(batch.payload, chosen)
            sensitive = batch.sensitive[:, chosen]
            columns = Columns(
                batch.codes[:, chosen],
                numbers if whole else numbers[kept],
                self._values.number(sensitive),
            )
            self._latest[source] = len(self._parts)
            self._since.setdefault(source, now)
            part = WindowPart(
                source,
                now,
                columns,
                batch.individuals[chosen],
                sensitive,
                batch.offsets[chosen],
                payload,
                over,
                returning,
                missing,
            )
            self._parts.append(part)
            self.admitted += len(payload)
            self.held += part.held + self._values.keep_sets(batch.sets, sensitive)
            self._partitioner.add(columns, self._outlook(len(payload), now))
            first = stop
        return first

    def _numbers(
        self, people: NDArray[np.int64], allowed: NDArray[np.bool_] | None, first: int
    ) -> tuple[NDArray[np.int32], int]:
        """Return the number of each person, -1 for a row that is left out, and how many are for too many returns.

        Who returned too often is nobody in this window: they get no number.
        """
        if allowed is None or (own := allowed[first : first + len(people)]).all():
            return self._people.number(people), 0
        numbers = np.full(len(people), -1, np.int32)
        numbers[own] = self._people.number(people[own])
        return numbers, int(np.count_nonzero(~own))

    def preparation(self, now: float) -> Callable[[], None] | None:
        """Return work that the partitioner could do now, in any thread, while rows arrive; None without any."""
        if self.admitted:  # nothing may have come for a while: then the end is nearer
            self._partitioner.add(self._no_rows, self._outlook(0, now))
        return self._partitioner.preparation()

    def _outlook(self, arrived: int, now: float) -> Outlook:
        """Return how near the end is, now that so many more records are in."""
        if now > self._now:
            self._now, self._at_once, self._arriving = now, self._arriving, 0
        self._arriving += arrived
        oldest = now if self.oldest is None else self.oldest
        rate = self.admitted / (now - oldest) if now > oldest else np.inf
        return Outlook(self.timer.expected(self.admitted, oldest, now, self.held), rate, self._at_once)

    @property
    def _no_rows(self) -> Columns:
        return Columns.empty(len(self._policy.quasi_identifiers), len(self._policy.diverse))

    def _count_left_out(self, source: int, over: int, returning: int, missing: NDArray[np.int64]) -> bool:
        """Count rows that are left out in a part of their source; return False if it has none yet.

        A flood of one individual must not fill the memory with empty parts.
        """
        place = self._latest.get(source)
        if place is None:
            return False
        part = self._parts[place]
        self._parts[place] = replace(
            part,
            over_limit=part.over_limit + over,
            returning=part.returning + returning,
            missing=part.missing + missing,
        )
        return True

    def reject(self, rejects: Rejects, source: int, now: float) -> None:
        """Take dead letters, and what is ignored, of one source; 15 bytes each, however few come at a time."""
        append_piece(self._rejects, rejects, Rejects.concatenate)
        self._since.setdefault(source, now)
        self._count_rejects(rejects)

    def pass_over(self, source: int, position: int, start: int, end: int, now: float) -> None:
        """Note that what lies from `start` to before `end` is lost.

        It is one with the loss before it if that one ended at `position`, up to which was read: so a window without
        a record holds one loss of each source.
        """
        losses = self._lost.setdefault(source, [])
        if losses and losses[-1][1] == position:
            start = losses.pop()[0]
        losses.append((start, end))
        self._since.setdefault(source, now)

    @property
    def losses(self) -> int:
        """Return how many stretches of the input are noted as lost."""
        return sum(map(len, self._lost.values()))

    def _count_rejects(self, rejects: Rejects) -> None:
        ignored = int(np.count_nonzero(rejects.are_ignored))
        self.rejected += len(rejects) - ignored
        self.ignored += ignored

    def drop(self, sources: Collection[int]) -> int:
        """Remove all records that came from `sources`; return their number.

        People and values are numbered anew: a person who has left must not be counted.
        """
        self._since = {source: at for source, at in self._since.items() if source not in sources}
        self._lost = {source: lost for source, lost in self._lost.items() if source not in sources}
        return self._drop_rejects(sources) + self._drop_rows(sources)

    def _drop_rejects(self, sources: Collection[int]) -> int:
        before = self.rejected + self.ignored
        rejects = Rejects.concatenate(self._rejects)
        kept = rejects.take(~np.isin(rejects.sources, list(sources)))
        self._rejects = [kept] if len(kept) else []
        self.rejected = self.ignored = 0
        self._count_rejects(kept)
        return before - len(kept)

    def _drop_rows(self, sources: Collection[int]) -> int:
        """Remove the rows of `sources`, and their records that were left out."""
        marks = [np.full(len(part.payload), part.source not in sources, np.bool_) for part in self._parts]
        kept = [part for part in self._parts if part.source not in sources]
        gone = [part for part in self._parts if part.source in sources]
        if not gone:
            return 0
        known = self._values.sets
        self._number_anew()
        self._parts = [self._renumbered(part) for part in kept]
        self._partitioner.keep(np.concatenate(marks), self._columns())
        self._latest = {part.source: place for place, part in enumerate(kept)}
        self.admitted = sum(len(part.payload) for part in self._parts)
        self.held = sum(part.held + self._values.keep_sets(known, part.sensitive) for part in self._parts)
        self.over_limit = sum(part.over_limit for part in self._parts)
        self.returning = sum(part.returning for part in self._parts)
        return sum(len(part.payload) + part.over_limit + part.returning for part in gone)

    def _renumbered(self, part: WindowPart) -> WindowPart:
        if not part.payload:
            return part
        people, values = self._people.number(part.individuals), self._values.number(part.sensitive)
        return replace(part, columns=Columns(part.columns.codes, people, values))

    def _columns(self) -> Columns:
        return Columns.concatenate([self._no_rows, *(part.columns for part in self._parts)])

    def seal(self, starts: Mapping[int, int], positions: Mapping[int, int], now: float) -> SealedWindow:
        """Return all that was taken; the window must not be used again."""
        stretches = [part for part in self._parts if part.payload]
        sizes = [len(part.payload) for part in stretches]
        none_missing = np.zeros(len(self._policy.quasi_identifiers) + len(self._policy.passed), np.int64)
        return SealedWindow(
            policy=self._policy,
            partitioner=self._partitioner,
            columns=self._values.in_order(self._columns()),
            payload=joined([part.payload for part in self._parts]),
            rejects=Rejects.concatenate(self._rejects),
            over_limit=self.over_limit,
            missing=sum((part.missing for part in self._parts), none_missing),
            ranges=tuple(
                InputRange(source, starts[source], end, tuple(self._lost.get(source, ())))
                for source, end in sorted(positions.items())
                if end > starts[source]
            ),
            arrivals=tuple(zip((part.arrived for part in stretches), sizes, strict=True)),
            sources=tuple(part.source for part in stretches),
            stretches=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            offsets=np.concatenate([np.empty(0, np.int64), *(part.offsets for part in stretches)]),
            individuals=self.individuals,
            values=self._values.counts,
            opened_at=now if self.oldest is None else self.oldest,
            closed_at=now,
            returning=self.returning,
        )

    @property
    def people(self) -> NDArray[np.int64]:
        """Return the key of each row's person; int64[n], in the order of the rows."""
        return np.concatenate([np.empty(0, np.int64), *(part.individuals for part in self._parts)])

    def check_invariants(self) -> None:
        """Raise AssertionError if the window is broken."""
        # Every admitted row is in exactly one part, with a payload.
        assert self.admitted == sum(len(part.columns) for part in self._parts)  # noqa: S101
        assert all(len(part.columns) == len(part.payload) for part in self._parts)  # noqa: S101
        # Every record that is left out is counted in one part.
        assert self.over_limit == sum(part.over_limit for part in self._parts)  # noqa: S101
        assert self.returning == sum(part.returning for part in self._parts)  # noqa: S101
        # Every known individual has a row, within its limit.
        rows = [part.columns.individuals for part in self._parts]
        counts = np.bincount(np.concatenate(rows)) if self.admitted else np.empty(0, np.int64)
        assert len(counts) == self.individuals  # noqa: S101
        assert (counts >= 1).all()  # noqa: S101
        assert (counts <= self._policy.window.max_records_per_individual).all()  # noqa: S101
        # The window is never fuller than allowed, and parts stand in the order of their arrival.
        assert self.admitted <= self._policy.window.max_records  # noqa: S101
        times = [part.arrived for part in self._parts]
        assert times == sorted(times)  # noqa: S101
        # The first record, dead letter or loss of each source that has any is known, in order of arrival.
        sources = {*self._lost, *(part.source for part in self._parts)}
        sources.update(source for part in self._rejects for source in part.sources.tolist())
        assert self._since.keys() == sources  # noqa: S101
        assert list(self._since.values()) == sorted(self._since.values())  # noqa: S101
        # Every reject is counted, as one of two kinds, and is in one of few pieces.
        rejects = sum(len(part) for part in self._rejects)
        assert rejects == self.rejected + self.ignored  # noqa: S101
        assert len(self._rejects) <= rejects // LARGE + 13  # noqa: S101
        # Lost stretches of a source hold something, ascend and do not touch.
        for lost in self._lost.values():
            bounds = [bound for stretch in lost for bound in stretch]
            assert all(a < b for a, b in pairwise(bounds))  # noqa: S101
        self._partitioner.check_invariants()


def _stop(allowed: NDArray[np.bool_], first: int, room: int) -> int:
    """Return where a slice of rows ends that has room for so many of those that are allowed, bool[n]."""
    return first + int(np.searchsorted(np.cumsum(allowed[first:]), room, side="right"))
