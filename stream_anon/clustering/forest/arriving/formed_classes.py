"""CLASSES: classes formed before a window ends; later rows join them, some may leave, what changed is mended.

Only for windows where sizes decide alone: every record a person's, and k the only criterion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.arriving.keyed_rows import Keyed
from stream_anon.clustering.forest.arriving.laid_line import LaidLine
from stream_anon.clustering.forest.arriving.late import cheapest_near
from stream_anon.clustering.forest.classes import (
    boxes_of,
    changed_classes,
    gathered,
    name_owners,
    put_back,
    sizes_of,
    spliced,
)
from stream_anon.clustering.forest.line.cut import cut_line
from stream_anon.clustering.forest.refining.refine import refined_anew, side_by_side
from stream_anon.clustering.forest.refining.resplit import resplit_pass
from stream_anon.clustering.forest.refining.split import split_large
from stream_anon.clustering.forest.refining.swap import swap_pass
from stream_anon.clustering.forest.rounds import refined_in_rounds
from stream_anon.clustering.rules import Rules, sizes_alone
from stream_anon.privacy.costs.model import CostModel

_REACH = 8
_NOBODY = np.empty(0, np.int64)


class FormedClasses(NamedTuple):
    """Classes of the first rows of a window; they are never changed, only followed by others.

    Parameters
    ----------
    keyed
        The rows of the mark along the learned order. Later rows look for similar ones among them.
    rows, ends
        int64[m] class after class, int64[c] where each ends.
    loose
        int64, rows whose class fell below k when others left; they join with the next block.
    """

    keyed: Keyed
    rows: NDArray[np.int64]
    ends: NDArray[np.int64]
    loose: NDArray[np.int64]

    @property
    def reached(self) -> int:
        """Return how many rows of the window stand here."""
        return len(self.rows) + len(self.loose)

    def joined(self, codes: NDArray[np.int32], k: int, model: CostModel, *, wide: bool) -> FormedClasses:
        """Return the classes of all rows of codes int32[n, q], of which the first ones stand here.

        Each late row joins the cheapest class among those of its 16 key neighbours, all at once: which of them
        came first is not looked at. Classes of 2k rows and more are split, those that changed are refined; if
        `wide`, with their neighbours: that halves what lateness costs, and takes twice the time.
        """
        fresh = np.concatenate([self.loose, np.arange(self.reached, len(codes))])
        if not len(fresh):
            return self
        late = Keyed.of(np.ascontiguousarray(codes[fresh].T), fresh, self.keyed.table)
        into = self._cheapest(codes, late, model)
        by_class = np.argsort(into, kind="stable")
        rows = spliced(self.rows, self.ends[into[by_class]], late.rows[by_class])
        ends = self.ends + np.bincount(into, minlength=len(self.ends)).cumsum()
        rules = sizes_alone(k)
        ends = split_large(codes, rows, ends, model, rules)
        is_fresh = np.zeros(len(codes), np.bool_)
        is_fresh[fresh] = True
        rows = _mended(codes, rows, ends, is_fresh, model, rules, wide=wide)
        return FormedClasses(self.keyed, rows, ends, _NOBODY)

    def anew(
        self, codes: NDArray[np.int32], along: NDArray[np.int64], order: NDArray[np.int64], k: int, model: CostModel
    ) -> FormedClasses:
        """Return the classes cut anew and refined along a line int64[n]; `order` is the key order; none is loose.

        Late rows make classes larger and hardly ever one more of them: here there are more again.
        """
        classes = side_by_side(self.rows, self.ends, along)
        classes = refined_anew(codes, classes, model, sizes_alone(k))
        return FormedClasses(self.keyed, *side_by_side(*classes, order), _NOBODY)

    def _cheapest(self, codes: NDArray[np.int32], late: Keyed, model: CostModel) -> NDArray[np.int64]:
        sizes = sizes_of(self.ends)
        owner = np.full(len(codes), -1, np.int64)
        name_owners(self.rows, self.ends, owner)
        keyed = self.keyed
        if len(self.loose):  # the class of a neighbour is looked for: those without one stand aside
            keyed = keyed.without(owner >= 0, np.arange(len(codes)))
        low, high = boxes_of(codes, self.rows, self.ends)
        into = np.empty(len(late.rows), np.int64)
        groups = owner[keyed.rows]
        cheapest_near(codes[late.rows], keyed.places_of(late), groups, low, high, sizes, _REACH, model, into)
        return into

    def without(self, kept: NDArray[np.bool_], k: int) -> FormedClasses | None:
        """Return the classes of the rows marked in bool[n], numbered anew in their order; O(n).

        Rows of classes that fall below k are loose then; None if that is all of them.
        """
        numbers = np.cumsum(kept) - 1
        owner = np.repeat(np.arange(len(self.ends)), sizes_of(self.ends))
        stays = kept[self.rows]
        sizes = np.bincount(owner[stays], minlength=len(self.ends))
        placed = stays & (sizes >= k)[owner]
        loose = [self.loose[kept[self.loose]], self.rows[stays & ~placed]]
        if not placed.any():
            return None
        return FormedClasses(
            self.keyed.without(kept, numbers),
            numbers[self.rows[placed]],
            np.cumsum(sizes[sizes >= k]),
            np.sort(numbers[np.concatenate(loose)]),
        )

    def class_of_row(self) -> NDArray[np.int32]:
        """Return the class of each row; none may be loose."""
        owner = np.empty(len(self.rows), np.int64)
        name_owners(self.rows, self.ends, owner)
        return owner.astype(np.int32)

    def check_invariants(self, k: int) -> None:
        """Raise AssertionError if the classes are broken."""
        # Every row is in one class, or loose.
        assert sorted([*self.rows.tolist(), *self.loose.tolist()]) == list(range(self.reached))  # noqa: S101
        # Every class has k rows, and they end where the rows do.
        assert (sizes_of(self.ends) >= k).all()  # noqa: S101
        assert self.ends[-1] == len(self.rows)  # noqa: S101
        # The order holds rows that are there.
        assert set(self.keyed.rows.tolist()) <= set(range(self.reached))  # noqa: S101
        self.keyed.check_invariants()


def stand_up(
    codes: NDArray[np.int32], line: LaidLine, k: int, model: CostModel, rounds: int = 1
) -> FormedClasses | None:
    """Return the classes of codes int32[n, q] as from scratch, by CUT and REFINE; None without a cut."""
    n = len(codes)
    rules = sizes_alone(k)
    ends = cut_line(line.points, line.point[line.rows], np.full(n, n), model, k, 2 * k - 1, np.empty(n + 1), None)
    if not len(ends):
        return None
    lines = line.rows, line.keyed.rows
    classes = refined_in_rounds(codes, (line.rows, ends), lines, model, rules, rounds)
    return FormedClasses(line.keyed, *side_by_side(*classes, line.keyed.rows), _NOBODY)


def _mended(
    codes: NDArray[np.int32],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    model: CostModel,
    rules: Rules,
    *,
    wide: bool,
) -> NDArray[np.int64]:
    """Return the rows after RESPLIT and SWAP among classes that hold fresh ones, as if they alone stood in a row.

    Where the classes end is changed in place.
    """
    picked = changed_classes(rows, ends, fresh, wide)
    part, part_ends = gathered(rows, ends, np.flatnonzero(picked))
    resplit_pass(codes, part, part_ends, model, rules)
    swap_pass(codes, part, part_ends, model, rules)
    answer = np.empty_like(rows)
    put_back(rows, ends, picked, part, part_ends, answer)
    return answer
