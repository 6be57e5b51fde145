"""Anonymize a table of any size as one: in one window where memory holds it, else in windows of neighbours.

::

    input ──▶ held ──▶ one window                                            it fits
                │
                └──▶ runs, sorted along a learned line ──▶ windows of neighbours ──▶ heaps, shuffled ──▶ output
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from stream_anon.adapters.control_group import free_memory
from stream_anon.adapters.entropy import fresh_draws
from stream_anon.clustering.forest.ordering.order_file import learned_from
from stream_anon.conditions import Condition
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.engine.numbering import Numbering
from stream_anon.errors import InputError
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.neighbours.scattered import Heap
from stream_anon.files.neighbours.table_on_disk import TableOnDisk
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.choices.engine_choice import LearnedOrder
from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release, release_without_window
from stream_anon.privacy.costs.objective import objective
from stream_anon.privacy.criteria import Criteria

_SHARE = 0.5  # of the free memory, for one window
_TIMES = 8  # what a row takes while its window closes, against its bytes on the disk: 7 were measured
_ENOUGH = 1000  # rows whose bytes tell those of others
_LEARNED = 100_000  # rows that the line is learned from


class Room:
    """How many rows one window may have in half of the memory that is free now, as far as rows have told.

    The batch with the largest rows tells; a few rows do not.

    Parameters
    ----------
    beside
        How many processes share this memory.

    Attributes
    ----------
    rows
        As many as a policy allows before enough rows have come.
    """

    def __init__(self, policy: Policy, beside: int = 1) -> None:
        self._least = policy.crowd * 20
        self._memory = free_memory() // beside
        self._unmeasured: list[CodedBatch] = []
        self.rows = MOST_RECORDS

    def measure(self, batch: CodedBatch) -> None:
        """Lower the number of rows if those that came last are larger than others."""
        if len(batch):
            self._unmeasured.append(batch)
        if sum(map(len, self._unmeasured)) >= _ENOUGH:
            fit = rows_that_fit(CodedBatch.concatenate(self._unmeasured), self._memory)
            self.rows = min(self.rows, max(fit, self._least))
            self._unmeasured = []


def rows_that_fit(batch: CodedBatch, memory: int) -> int:
    """Return how many rows like those of a batch one window may have in so many bytes of memory."""
    row = len(pickle.dumps(replace(batch, rejects=Rejects.of([])))) / len(batch)
    return min(MOST_RECORDS, int(memory * _SHARE / (_TIMES * row)))


def needs_one_window(policy: Policy, *, keyed: bool) -> str:
    """Return what a policy asks that windows of neighbours cannot keep; empty if there is nothing.

    Frequencies are compared with those of a window, and neighbours are more alike than a table. A shield's group,
    the people of a tuple and the digest of a class may have rows of several windows. A family of which a window
    lacks a value would be suppressed there, which tells the value of its people. What fixed levels publish alike
    should not be cut. Where windows end depends on the free memory, so that a key would not give the same release
    again.
    """
    criteria = Criteria.of(policy)
    if any(asked.asks for asked in criteria.asked) or any(attribute.many for attribute in policy.diverse):
        return "criteria of frequencies and lists of sensitive values"
    if criteria.keep_whole:
        return "families whose values are published"
    if policy.shields:
        return "shields"
    if policy.presence is not None:
        return "presence"
    if policy.digest_key is not None:
        return "digests"
    if policy.engine.name == "full-domain":
        return "the levels of full-domain"
    return "a key of the draws (--fresh-draws uses none: then release the table once)" if keyed else ""


class LargeTable(Anonymization):
    """One pass over one input, which is released as a whole when it has been read.

    Parameters
    ----------
    policy
        Its window only bounds the records of an individual, and must have room for `MOST_RECORDS`.
    fit
        How many rows one window may have; by default as many as half of the memory that is free now holds. The
        batch with the largest rows tells, of those that come before the first goes to the disk.

    Notes
    -----
    A larger table takes memory for a window of half of these rows, and besides up to 60 bytes a record and those of
    the certificate. Its rows are on the disk, in files without a name: see `Pieces`.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        accept_risks: Collection[Condition] = (),
        key: DrawsKey | None = None,
        fit: int | None = None,
    ) -> None:
        super().__init__(policy, accept_risks=accept_risks, key=key)
        self._key = key
        self._fit = MOST_RECORDS if fit is None else fit
        self._room = Room(policy) if fit is None else None
        self._held: list[CodedBatch] = []
        self._count = 0
        self._table: TableOnDisk | None = None
        self._people = Numbering(policy.window.max_records_per_individual)

    def add(self, batch: CodedBatch, *, counted: bool = False) -> Iterator[CertifiedRelease]:
        """Take a batch of source 0; yield nothing: the table is not whole yet.

        Raises
        ------
        InputError
            If memory does not hold the table, and its policy needs it as one window.
        """
        if not counted:
            self._tally.add(batch)
        self._held.append(batch)
        self._count += len(batch)
        if self._room is not None:
            self._room.measure(batch)
            self._fit = self._room.rows
        if self._count > self._fit:
            self._spill()
        yield from ()

    def close(self) -> Iterator[CertifiedRelease]:
        """Release the table; yield nothing if it is empty."""
        if self._table is None:
            while self._held:  # one after the other: what a window has taken is not held twice
                yield from super().add(self._held.pop(0), counted=True)
            yield from super().close()
            return
        self._spill()
        yield self._of_neighbours(self._table)

    # -- a table that does not fit ---------------------------------------------------------------------------

    def _spill(self) -> None:
        """Write what is held to the disk."""
        if not self._held:
            return
        batch = CodedBatch.concatenate(self._held)
        self._held, self._count = [], 0
        if self._table is None:
            self._table = self._begun(batch)
        over = np.zeros(len(batch), np.bool_)
        if self._policy.individual != EVERY_RECORD:
            over = self._people.number(batch.individuals) < 0
        self._table.add(batch, over)

    def _begun(self, batch: CodedBatch) -> TableOnDisk:
        """Return a table on the disk, whose line is learned from the first rows."""
        needed = needs_one_window(self._policy, keyed=self._key is not None)
        if needed:
            raise InputError(
                f"memory does not hold the table as one window, which it must be for {needed}: give more memory, "
                "or take windows in the order of the input (--by-arrival)"
            )
        self._room = None
        return TableOnDisk(self._policy, line_of(self._policy, batch))

    def _of_neighbours(self, table: TableOnDisk) -> CertifiedRelease:
        start = self._clock.monotonic()
        count = max(2, ceil(2 * len(table) / self._fit))
        united, scattered = table.release(count, count)
        release = united.release(table.untaken, self._policy)
        heaps = heaps_of(scattered.heaps(), release)
        return self._certificate(release, self._clock.monotonic() - start, heaps)


def line_of(policy: Policy, batch: CodedBatch) -> LearnedOrder:
    """Return the line of a policy, or one that is learned from some of the rows of a batch."""
    own, engine = policy.quasi_identifiers, policy.engine
    if engine.order is not None:
        return engine.order
    chosen = fresh_draws().choice(len(batch), min(len(batch), _LEARNED), replace=False)
    codes = np.ascontiguousarray(batch.codes[:, chosen])
    return learned_from(codes, own, objective(own, engine.loss, engine.labels), policy.crowd, engine.seed or 0)


def heaps_of(heaps: Iterable[tuple[int, Heap]], table: Release) -> Iterator[Release]:
    """Yield the released rows of a table as releases, in the order that they have; none if it is suppressed."""
    classes = table.classes
    for _, heap in heaps if table.released else ():
        used, own = np.unique(heap.classes, return_inverse=True)
        order = np.arange(len(own), dtype=np.int64)
        yield release_without_window(classes.take(used.astype(np.int64)), own.astype(np.int32), heap.payload, order)
