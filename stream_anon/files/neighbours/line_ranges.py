"""A table that several processes release as one: each takes a range of the line, and one of them joins the ranges.

::

    sample ──▶ LineRanges ──▶ a range, in a process of its own ──▶ RangeFolder ┐
                         └──▶ a range                          ──▶ RangeFolder ┴──▶ JoinedRanges ──▶ output
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.entropy import fresh_draws
from stream_anon.clustering.forest.ordering.digits import Digits
from stream_anon.clustering.forest.ordering.order import KeyTable, key_table, line_keys
from stream_anon.clustering.forest.ordering.order_file import order_of
from stream_anon.conditions import Condition
from stream_anon.engine.engine import Engine
from stream_anon.engine.recoding_closer import WholeTable
from stream_anon.files.anonymizing import Anonymization, CertifiedRelease
from stream_anon.files.neighbours.large_table import Room, heaps_of, line_of
from stream_anon.files.neighbours.scattered import Heap, shuffled
from stream_anon.files.neighbours.table_on_disk import TableOnDisk
from stream_anon.files.neighbours.united import UnitedClasses, Untaken
from stream_anon.formats.tables.new_files import private_file
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.keys import PROCESS_KEY
from stream_anon.microdata.policy import LearnedOrder, Policy

LEAST = 20  # times k individuals of the sample are in each range, so that what is left over at its ends is little


@dataclass(frozen=True, slots=True, eq=False)
class LineRanges:
    """Where the line is cut.

    Parameters
    ----------
    order
        What the line was learned as.
    bounds
        int64[r - 1], ascending; a range begins with its bound. Equal rows are in one range.
    """

    order: LearnedOrder
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, policy: Policy, sample: CodedBatch, most: int) -> Self:
        """Return up to so many ranges, of about as many rows of a sample each; O(n log n).

        Parameters
        ----------
        sample
            At least one row, of the table itself: then no range has fewer individuals than the sample has in it.
        """
        order = line_of(policy, sample)
        keys = _keys(sample, _line(policy, order))
        place = np.argsort(keys, kind="stable")
        keys, people = keys[place], sample.individuals[place]
        bounds: list[int] = []
        first = 0
        for rank in range(1, most):
            at = int(np.searchsorted(keys, keys[len(keys) * rank // most]))
            enough = LEAST * policy.crowd
            if all(len(np.unique(part)) >= enough for part in (people[first:at], people[at:])):
                bounds.append(int(keys[at]))
                first = at
        return cls(order, np.array(bounds, np.int64))

    def __len__(self) -> int:
        return len(self.bounds) + 1

    def finder(self, policy: Policy) -> Callable[[CodedBatch], NDArray[np.int64]]:
        """Return what gives the range of each row, int64[n]; it follows from the row alone."""
        line = _line(policy, self.order)
        return lambda batch: np.searchsorted(self.bounds, _keys(batch, line), side="right")


def _line(policy: Policy, order: LearnedOrder) -> KeyTable:
    own = policy.quasi_identifiers
    return key_table(Digits.of(own), order_of(order, own))


def _keys(batch: CodedBatch, line: KeyTable) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = line_keys(batch.codes, line)[0]
    return keys


class RangeFolder:
    """The release of a range, in a folder that only its owner may see.

    Parameters
    ----------
    path
        There already.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(
        self,
        policy: Policy,
        order: LearnedOrder,
        batches: Iterable[tuple[CodedBatch, NDArray[np.bool_]]],
        heaps: int,
        coerced: Callable[[], int],
        beside: int = 1,
    ) -> None:
        """Release the rows of a range, and write what became of them.

        Individuals are written under numbers that differ from class to class, and follow from the process key.

        Parameters
        ----------
        batches
            Rows, and which of them are beyond their individual's limit.
        heaps
            To how many the rows of each range of the table are dealt.
        coerced
            Returns, behind the last batch, how many texts counted as another type.
        beside
            How many processes share the free memory.
        """
        table, room = TableOnDisk(policy, order), Room(policy, beside)
        for batch, over in batches:
            room.measure(batch)
            table.add(batch, over)
        united, scattered = table.release(max(1, ceil(2 * len(table) / room.rows)), heaps)
        united.unlink(PROCESS_KEY)
        for number, heap in scattered.heaps():
            _dump(self._heap(number), heap)
        _dump(self._contents, (united, table.untaken, coerced()))

    def contents(self) -> tuple[UnitedClasses, Untaken, int]:
        """Return what the range tells besides its rows: what `write` was told of texts comes last."""
        found: tuple[UnitedClasses, Untaken, int] = _load(self._contents)
        return found

    def heap(self, number: int) -> Heap | None:
        """Return some of the released rows; None for none."""
        path = self._heap(number)
        found: Heap | None = _load(path) if path.exists() else None
        return found

    @property
    def _contents(self) -> Path:
        return self._path / "contents"

    def _heap(self, number: int) -> Path:
        return self._path / f"heap={number}"


def _dump(path: Path, value: Any) -> None:
    with private_file(path) as file:
        pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301 - of a folder into which only this user may write


class RestReader:
    """Reads what is left of a table whose rows are elsewhere.

    Parameters
    ----------
    rest
        Rejects.
    coerced
        How many texts counted as another type.
    """

    delimiter = None
    bytes_read = 0

    def __init__(self, rest: CodedBatch, coerced: int) -> None:
        self._rest = rest
        self.coerced = coerced

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield the one batch."""
        yield self._rest

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of records, counted from 1."""
        return offsets + 1

    def close(self) -> None:
        """Do nothing: no file is open."""


class JoinedRanges(Anonymization):
    """The release of a table whose ranges have all been released.

    Parameters
    ----------
    policy
        The table's.
    folders
        Of all ranges, in their order.
    heaps
        How many each range has; memory holds one of them, of all ranges.

    Notes
    -----
    Where individuals may have several records, memory holds 16 bytes of each individual of each class too.
    """

    def __init__(
        self, policy: Policy, folders: Sequence[RangeFolder], heaps: int, accept_risks: Collection[Condition] = ()
    ) -> None:
        engine = Engine(policy, draws=fresh_draws(), partitioner=WholeTable)  # no window is formed here
        super().__init__(policy, engine=engine, accept_risks=accept_risks)
        self._folders, self._heaps = folders, heaps
        self._united, self._numbers = UnitedClasses(), list[NDArray[np.int64]]()
        self._coerced, rests = 0, list[Untaken]()
        for folder in folders:
            united, rest, coerced = folder.contents()
            self._numbers.append(self._united.join(united))
            rests.append(rest)
            self._coerced += coerced
        self._untaken = reduce(Untaken.followed_by, rests)

    def reader(self) -> RestReader:
        """Return what reads the rejects of all ranges, numbered on in the order of these."""
        none = CodedBatch.none(len(self._policy.quasi_identifiers), len(self._policy.diverse))
        return RestReader(replace(none, rejects=self._untaken.rejects), self._coerced)

    def add(self, batch: CodedBatch, *, counted: bool = False) -> Iterator[CertifiedRelease]:  # noqa: ARG002
        """Take what `reader` reads, which is known; yield nothing."""
        yield from ()

    def close(self) -> Iterator[CertifiedRelease]:
        """Release the table."""
        start = self._clock.monotonic()
        release = self._united.release(self._untaken, self._policy)
        heaps = heaps_of(self._joined(), release)
        yield self._certificate(release, self._clock.monotonic() - start, heaps)

    def _joined(self) -> Iterator[tuple[int, Heap]]:
        draws = fresh_draws()
        for number in range(self._heaps):
            pairs = zip(self._numbers, (folder.heap(number) for folder in self._folders), strict=True)
            parts = [
                Heap(numbers[heap.classes].astype(np.int32), heap.payload)
                for numbers, heap in pairs
                if heap is not None
            ]
            if parts:
                yield number, shuffled(parts, draws)
