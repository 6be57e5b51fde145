"""The open window: the rows, people and rejects of a stretch of input.

::

    partition 0   ──┤ start ······ rows, rejects, over-limit ······ position ├──▶
    partition 1   ────┤ start ··· position ├──▶
                       └──────── one window of one worker ────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.partitioning import Outlook, Partitioner
from stream_anon.engine.people import Numbering
from stream_anon.microdata.batch import MISSING_KEY, NO_ATTRIBUTE, CodedBatch, ItemKeys, Reason, Rejects
from stream_anon.microdata.columns import NO_VALUE, Columns, Sets
from stream_anon.microdata.payload import Payload, joined, missing_values, payload_bytes, taken
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.microdata.sensitive_keys import family_keys
from stream_anon.windowing.limits import WindowTimer
from stream_anon.windowing.pieces import LARGE, append_piece

_BESIDE = 140
"""Bytes that are kept for each row beside its columns: its person's number, the broker's time, the partitioner's
own columns. A window of a million rows of 8 quasi-identifiers took 249 bytes a row, of which 107 are columns."""
_OF_SET, _OF_ITEM = 128, 40
"""Bytes that are kept for each different list, and for each of its items."""


Allowed = Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class WindowPart:
    """The part of a batch that one window took: admitted rows of one source that arrived together.

    `over_limit` and `returning` count records that were left out: of people with too many in the window, and of
    people who were released too often. `missing` is int64[q + p]: of its records, these included, how many lack a
    value of each quasi-identifier and of each field that passes.
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
        return _bytes_of(self.columns, self.payload, self.individuals, self.sensitive, self.offsets)


@dataclass(frozen=True, slots=True, eq=False)
class SealedWindow:
    """A window that takes no more rows and waits to be released.

    Parameters
    ----------
    missing
        As in its chunks.
    arrivals, sources
        Of each stretch of rows that arrived together: when, and how many are released or suppressed; its source.
    stretches, offsets
        int32[n], the stretch of each row; int64[n], its offset.
    over_limit, returning
        Records that were left out; see `WindowPart`.
    people, sealed_at, counted, everybody
        Where returns are counted, see `engine.returning`: int64[n], the pseudonym of each row's person; when the
        window was sealed, in seconds since the epoch; by source, the counts that it was added to, and all its
        pseudonyms, each once, ascending.
    """

    policy: Policy
    partitioner: Partitioner
    columns: Columns
    payload: Payload
    rejects: Rejects
    over_limit: int
    missing: NDArray[np.int64]
    ranges: tuple[InputRange, ...]
    arrivals: tuple[tuple[float, int], ...]
    sources: tuple[int, ...]
    stretches: NDArray[np.int32]
    offsets: NDArray[np.int64]
    individuals: int
    values: tuple[NDArray[np.int64], ...]
    opened_at: float
    closed_at: float
    returning: int = 0
    people: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    sealed_at: int = 0
    counted: Mapping[int, object] = field(default_factory=dict)
    everybody: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Return the number of admitted rows."""
        return len(self.payload)

    @property
    def held(self) -> int:
        """Return the bytes of its rows."""
        named = self.everybody.values()
        return _bytes_of(self.columns, self.payload, self.offsets, self.stretches, self.people, *named)

    def turned(self, order: NDArray[np.int64], columns: Columns, partitioner: Partitioner) -> SealedWindow:
        """Return the window with row order[i] in the place of row i.

        Parameters
        ----------
        columns
            The rows in that order; people and values may have other numbers.
        partitioner
            Has taken these rows.
        """
        return replace(
            self,
            partitioner=partitioner,
            columns=columns,
            payload=taken(self.payload, order),
            stretches=self.stretches[order],
            offsets=self.offsets[order],
            people=self.people[order] if len(self.people) else self.people,
        )

    def rejecting(self, rows: NDArray[np.int64], reason: Reason) -> SealedWindow:
        """Return the window with these admitted rows among its rejects; the rows themselves stay where they are."""
        n, stretches = len(rows), self.stretches[rows]
        sources = np.array(self.sources, np.int32)[stretches]
        reasons, attributes = np.full(n, reason, np.int8), np.full(n, NO_ATTRIBUTE, np.int16)
        rejects = Rejects(reasons, attributes, sources, self.offsets[rows])
        fewer = np.bincount(stretches, minlength=len(self.sources)).tolist()
        return replace(
            self,
            rejects=Rejects.concatenate([self.rejects, rejects]),
            missing=self.missing
            - missing_counts(self.policy, self.columns.codes[:, rows], taken(self.payload, rows)),
            arrivals=tuple((at, n - less) for (at, n), less in zip(self.arrivals, fewer, strict=True)),
        )


def missing_counts(
    policy: Policy, codes: NDArray[np.int32], payload: Payload, rows: slice = slice(None)
) -> NDArray[np.int64]:
    """Return how many of the rows lack a value: int64[q + p], of each quasi-identifier, then of what passes.

    Parameters
    ----------
    codes
        int32[q, n], as in a coded batch, of which `rows` are counted.
    """
    absent = np.array([[attribute.missing_code] for attribute in policy.quasi_identifiers], np.int32)
    coded = np.count_nonzero(codes[:, rows] == absent, axis=1)
    return np.concatenate([coded, missing_values(payload, rows, len(policy.passed))])


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
        self._chunks: list[WindowPart] = []
        self._latest: dict[int, int] = {}  # where the latest chunk of each source's rows stands
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
        self._start_numbering()

    def _start_numbering(self) -> None:
        self._people = Numbering(self._policy.window.max_records_per_individual)
        self._values = [Numbering(2**62) for _ in self._policy.diverse]
        self._lists = [attribute.many for attribute in self._policy.diverse]
        self._sets: dict[int, tuple[int, ...]] = {}

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
                self._numbered(sensitive),
            )
            self._latest[source] = len(self._chunks)
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
            self._chunks.append(part)
            self.admitted += len(payload)
            self.held += part.held + self._keep_sets(batch.sets, sensitive)
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
    def _none_missing(self) -> NDArray[np.int64]:
        return np.zeros(len(self._policy.quasi_identifiers) + len(self._policy.passed), np.int64)

    @property
    def _no_rows(self) -> Columns:
        return Columns.empty(len(self._policy.quasi_identifiers), len(self._policy.diverse))

    def _count_left_out(self, source: int, over: int, returning: int, missing: NDArray[np.int64]) -> bool:
        """Count rows that are left out in a chunk of their source; return False if it has none yet.

        A flood of one individual must not fill the memory with empty chunks.
        """
        place = self._latest.get(source)
        if place is None:
            return False
        chunk = self._chunks[place]
        self._chunks[place] = replace(
            chunk,
            over_limit=chunk.over_limit + over,
            returning=chunk.returning + returning,
            missing=chunk.missing + missing,
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
        marks = [np.full(len(chunk.payload), chunk.source not in sources, np.bool_) for chunk in self._chunks]
        kept = [chunk for chunk in self._chunks if chunk.source not in sources]
        gone = [chunk for chunk in self._chunks if chunk.source in sources]
        if not gone:
            return 0
        known = self._sets
        self._start_numbering()
        self._chunks = [self._renumbered(chunk) for chunk in kept]
        self._partitioner.keep(np.concatenate(marks), self._columns())
        self._latest = {chunk.source: place for place, chunk in enumerate(kept)}
        self.admitted = sum(len(chunk.payload) for chunk in self._chunks)
        self.held = sum(chunk.held + self._keep_sets(known, chunk.sensitive) for chunk in self._chunks)
        self.over_limit = sum(chunk.over_limit for chunk in self._chunks)
        self.returning = sum(chunk.returning for chunk in self._chunks)
        return sum(len(chunk.payload) + chunk.over_limit + chunk.returning for chunk in gone)

    def _keep_sets(self, known: ItemKeys, keys: NDArray[np.int64]) -> int:
        """Keep the sets of rows, given by sensitive keys int64[s, n]; return the bytes of those that are new."""
        if not any(self._lists):
            return 0
        wanted = set(keys[self._lists].ravel().tolist())
        new = {key: known[key] for key in wanted - self._sets.keys() - {MISSING_KEY}}
        self._sets |= new
        return sum(_OF_SET + _OF_ITEM * len(items) for items in new.values())

    def _numbered(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return dense numbers of sensitive keys int64[s, n], `NO_VALUE` where the value is missing."""
        numbers = np.full(keys.shape, NO_VALUE, np.int32)
        for own, row, answer in zip(self._values, keys, numbers, strict=True):
            present = row != MISSING_KEY
            answer[present] = own.number(row[present])
        return numbers

    def _renumbered(self, chunk: WindowPart) -> WindowPart:
        if not chunk.payload:
            return chunk
        people, values = self._people.number(chunk.individuals), self._numbered(chunk.sensitive)
        return replace(chunk, columns=Columns(chunk.columns.codes, people, values))

    def _columns(self) -> Columns:
        return Columns.concatenate([self._no_rows, *(chunk.columns for chunk in self._chunks)])

    def seal(self, starts: Mapping[int, int], positions: Mapping[int, int], now: float) -> SealedWindow:
        """Return all that was taken; the window must not be used again."""
        stretches = [chunk for chunk in self._chunks if chunk.payload]
        sizes = [len(chunk.payload) for chunk in stretches]
        return SealedWindow(
            policy=self._policy,
            partitioner=self._partitioner,
            columns=self._in_order(self._columns()),
            payload=joined([chunk.payload for chunk in self._chunks]),
            rejects=Rejects.concatenate(self._rejects),
            over_limit=self.over_limit,
            missing=sum((chunk.missing for chunk in self._chunks), self._none_missing),
            ranges=tuple(
                InputRange(source, starts[source], end, tuple(self._lost.get(source, ())))
                for source, end in sorted(positions.items())
                if end > starts[source]
            ),
            arrivals=tuple(zip((chunk.arrived for chunk in stretches), sizes, strict=True)),
            sources=tuple(chunk.source for chunk in stretches),
            stretches=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            offsets=np.concatenate([np.empty(0, np.int64), *(chunk.offsets for chunk in stretches)]),
            individuals=self.individuals,
            values=tuple(values.counts for values in self._values),
            opened_at=now if self.oldest is None else self.oldest,
            closed_at=now,
            returning=self.returning,
        )

    @property
    def people(self) -> NDArray[np.int64]:
        """Return the key of each row's person; int64[n], in the order of the rows."""
        return np.concatenate([np.empty(0, np.int64), *(chunk.individuals for chunk in self._chunks)])

    def _in_order(self, columns: Columns) -> Columns:
        """Return the columns with sets and families, values that are ordered numbered anew in their order."""
        for own, attribute, column in zip(self._values, self._policy.diverse, columns.sensitive, strict=True):
            if self._policy.diversity[attribute.name].ordered:
                rank = np.argsort(np.argsort(own.keys)).astype(np.int32)
                column[:] = np.where(column >= 0, np.append(rank, NO_VALUE)[column], NO_VALUE)
        if any(self._lists):
            pairs = zip(self._values, self._lists, strict=True)
            sets = [
                Sets.of([self._sets[key] for key in own.keys.tolist()]) if many else None for own, many in pairs
            ]
            columns = replace(columns, sets=tuple(sets))
        if any(attribute.keeps_whole for attribute in self._policy.diverse):
            columns = replace(columns, families=tuple(self._families()))
        return columns

    def _families(self) -> Iterator[NDArray[np.int32] | None]:
        """Yield the family of each number of each attribute; None where families need not be whole."""
        for own, attribute in zip(self._values, self._policy.diverse, strict=True):
            known = family_keys(attribute) if attribute.keeps_whole else None
            yield None if known is None else np.array([known.get(k, NO_VALUE) for k in own.keys.tolist()], np.int32)

    def check_invariants(self) -> None:
        """Raise AssertionError if the window is broken."""
        # Every admitted row is in exactly one chunk, with a payload.
        assert self.admitted == sum(len(chunk.columns) for chunk in self._chunks)  # noqa: S101
        assert all(len(chunk.columns) == len(chunk.payload) for chunk in self._chunks)  # noqa: S101
        # Every record that is left out is counted in one chunk.
        assert self.over_limit == sum(chunk.over_limit for chunk in self._chunks)  # noqa: S101
        assert self.returning == sum(chunk.returning for chunk in self._chunks)  # noqa: S101
        # Every known individual has a row, within its limit.
        rows = [chunk.columns.individuals for chunk in self._chunks]
        counts = np.bincount(np.concatenate(rows)) if self.admitted else np.empty(0, np.int64)
        assert len(counts) == self.individuals  # noqa: S101
        assert (counts >= 1).all()  # noqa: S101
        assert (counts <= self._policy.window.max_records_per_individual).all()  # noqa: S101
        # The window is never fuller than allowed, and chunks stand in the order of their arrival.
        assert self.admitted <= self._policy.window.max_records  # noqa: S101
        times = [chunk.arrived for chunk in self._chunks]
        assert times == sorted(times)  # noqa: S101
        # The first record, dead letter or loss of each source that has any is known, in order of arrival.
        sources = {*self._lost, *(chunk.source for chunk in self._chunks)}
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


def _bytes_of(columns: Columns, payload: Payload, *arrays: NDArray[np.generic]) -> int:
    return columns.held + payload_bytes(payload) + _BESIDE * len(payload) + sum(array.nbytes for array in arrays)
