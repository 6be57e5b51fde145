"""The open forest: the rows of a window that still fills, and what is prepared of its classes.

What was prepared is a value that is followed by another and never changed, so that one thread can compute the next
one while rows arrive, leave, or the window closes with what there is. A cell structure of smaller forests would
spread the work over time but not shorten the close; a thread does that as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.formed_classes import FormedClasses, stand_up
from stream_anon.clustering.forest.arriving.laid_line import LaidLine, lay_line
from stream_anon.clustering.forest.arriving.schedule import ANEW, MOST_LATE, MOST_LATE_IN_CLASSES, Mark, next_mark
from stream_anon.clustering.forest.ordering.order import KeyTable
from stream_anon.clustering.partitioning import Outlook
from stream_anon.microdata.columns import Columns
from stream_anon.privacy.costs.model import CostModel

MOST_LEAVING = 0.02  # of the rows of the mark; beyond, its classes are formed anew
_FIRST_CAPACITY = 1024


class _Work:
    """Preparation on its way: what it has reached so far can be taken at any time."""

    def __init__(self, steps: Iterator[LaidLine | FormedClasses]) -> None:
        self._steps = steps
        self.line: LaidLine | None = None
        self.standing: FormedClasses | None = None
        self.ended = False

    def __call__(self) -> None:
        """Compute; in any thread, once."""
        for step in self._steps:
            if isinstance(step, LaidLine):
                self.line = step
            else:
                self.standing = step
        self.ended = True


class OpenForest:
    """Rows of an open window, a line through the first ones, and maybe classes of them.

    Parameters
    ----------
    model
        Cost tables.
    k
        Least size of a class, for which the window will close.
    rounds
        Of REFINE.
    """

    def __init__(self, model: CostModel, k: int, rounds: int = 1) -> None:
        self._model = model
        self._k = k
        self._rounds = rounds
        self._codes = np.empty((0, len(model.kind)), np.int32)
        self._people = 0
        self._sensitive = False
        self._sets = bool(model.share.any())
        self._count = 0
        self._mark: Mark | None = None
        self._todo = False
        self._work: _Work | None = None
        self._line: LaidLine | None = None
        self._standing: FormedClasses | None = None

    def __len__(self) -> int:
        return self._count

    def take(self, rows: Columns, outlook: Outlook) -> None:
        """Take rows, and decide whether a mark was passed; O(q) a row."""
        first, self._count = self._count, self._count + len(rows)
        if self._count > len(self._codes):
            room = np.empty((max(2 * self._count, _FIRST_CAPACITY), self._codes.shape[1]), np.int32)
            room[:first] = self._codes[:first]
            self._codes = room  # work that goes on looks at the rows where they were
        self._codes[first : self._count] = rows.codes.T
        self._people = max(self._people, int(rows.individuals.max(initial=-1)) + 1)
        self._sensitive = len(rows.sensitive) > 0
        self.adopt()
        mark = next_mark(outlook, self._count, self._k, self._rounds, sizes_decide=self._sizes_decide)
        if mark is not None and (self._mark is None or mark.rows >= ANEW * self._mark.rows):
            # What goes on is for a mark that is passed; the line laid there is better than none until then.
            self._mark, self._todo, self._work, self._standing = mark, True, None, None

    @property
    def _sizes_decide(self) -> bool:
        # Sets of values are costed by what occurs: only CUT and REFINE of all classes know it.
        return self._people == self._count and not self._sensitive and not self._sets

    def keep(self, kept: NDArray[np.bool_], rows: Columns) -> None:
        """Let rows leave: the line goes on without them, classes too if they are few; O(n)."""
        self.adopt()
        cut_short = self._work is not None and self._standing is None
        self._work = None  # what it computes is of rows that left
        self._codes = self._codes[: len(kept)][kept]
        self._count = len(rows)
        self._people = int(rows.individuals.max(initial=-1)) + 1
        if self._mark is None:
            return
        before = min(self._mark.rows, len(kept))
        stay = int(kept[:before].sum())
        if self._line is not None:
            self._line = self._line.without(kept[: len(self._line.rows)])
        if before - stay > MOST_LEAVING * before:
            self._mark, self._todo, self._standing = None, False, None
            return
        self._todo = self._todo or cut_short
        self._mark = self._mark._replace(rows=stay)
        if self._standing is not None:
            self._standing = self._standing.without(kept[: self._standing.reached], self._k)

    # -- preparing -----------------------------------------------------------------------------------------

    def preparation(self, table: KeyTable) -> Callable[[], None] | None:
        """Return work that is due, along the order that is in force; None if there is none."""
        self.adopt()
        mark = self._mark
        if mark is None or (self._work is not None and not self._work.ended):
            return None
        if self._todo:
            self._todo = False
            self._work = _Work(self._building(mark, self._codes[: mark.rows], table))
        elif self._standing is not None and self._count >= mark.block_end(self._standing.reached):
            self._work = _Work(self._joining(mark, self._codes[: self._count], self._standing, self._line))
        else:
            return None
        return self._work

    def _building(
        self, mark: Mark, codes: NDArray[np.int32], table: KeyTable
    ) -> Iterator[LaidLine | FormedClasses]:
        line = lay_line(np.ascontiguousarray(codes.T), table, self._model)
        yield line
        if mark.classes:
            standing = stand_up(codes, line, self._k, self._model, self._rounds)
            if standing is not None:
                yield standing

    def _joining(
        self, mark: Mark, codes: NDArray[np.int32], standing: FormedClasses, line: LaidLine | None
    ) -> Iterator[FormedClasses]:
        while (end := mark.block_end(standing.reached)) <= len(codes):
            standing = self._with_block(mark, codes[:end], standing, line)
            yield standing

    def _with_block(
        self, mark: Mark, codes: NDArray[np.int32], standing: FormedClasses, line: LaidLine | None
    ) -> FormedClasses:
        # Somebody waits for the last block alone. The two before it end with work on all classes.
        follow = mark.blocks_after(len(codes))
        joined = standing.joined(codes, self._k, self._model, wide=follow > 0)
        if line is None or not 1 <= follow <= 2:
            return joined
        both = line.with_late(codes, self._model)
        return joined.anew(codes, both.order if follow == 1 else both.rows, both.order, self._k, self._model)

    def adopt(self) -> None:
        """Take what was computed so far."""
        work = self._work
        if work is None:
            return
        ended = work.ended  # asked first: what comes after it is there
        if work.line is not None and work.line is not self._line:
            self._line, self._standing = work.line, None
        if work.standing is not None:
            self._standing = work.standing
        if ended:
            self._work = None

    # -- closing -------------------------------------------------------------------------------------------

    def line(self) -> LaidLine | None:
        """Return the line if few enough rows came after it."""
        line, mark = self._line, self._mark
        if line is None:
            return None
        most_late = MOST_LATE if mark is None else mark.most_late
        return line if self._count - len(line.rows) <= max(most_late * self._count, 1) else None

    @property
    def codes(self) -> NDArray[np.int32]:
        """Return the codes of all rows, int32[n, q]."""
        return self._codes[: self._count]

    def standing(self) -> FormedClasses | None:
        """Return the classes of all rows, if there are any and few enough rows are late."""
        standing, mark = self._standing, self._mark
        if standing is None or mark is None or not self._sizes_decide:
            return None
        if self._count - mark.rows > max(2 * MOST_LATE_IN_CLASSES * self._count, 1):
            return None
        while standing.reached < self._count or len(standing.loose):
            end = min(mark.block_end(standing.reached), self._count)
            standing = self._with_block(mark, self._codes[:end], standing, self._line)
        return standing

    def has_line(self) -> bool:
        """Return whether a line was laid through the first rows."""
        self.adopt()
        return self._line is not None

    def check_invariants(self) -> None:
        """Raise AssertionError if the open forest is broken."""
        self.adopt()
        # There are no more people than rows.
        assert self._people <= self._count  # noqa: S101
        if self._line is not None:
            # The line goes through the first rows.
            assert len(self._line.rows) <= self._count  # noqa: S101
            self._line.check_invariants(self.codes)
        if self._standing is not None:
            # There are no classes without a line and a mark, and of no other rows than arrived.
            assert self._line is not None  # noqa: S101
            assert self._mark is not None  # noqa: S101
            assert self._standing.reached <= self._count  # noqa: S101
            self._standing.check_invariants(self._k)
