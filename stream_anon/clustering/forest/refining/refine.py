"""REFINE: neighbouring classes, as they stand along a line, give each other rows; or their rows are cut anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.forest.classes import Classes, boxes_of, name_owners, strided
from stream_anon.clustering.forest.cost_tables import box_cost, leading_tables
from stream_anon.clustering.forest.line.cut import cut
from stream_anon.clustering.forest.refining.resplit import resplit_pass, resplit_sets
from stream_anon.clustering.forest.refining.split import sort_places
from stream_anon.clustering.forest.refining.swap import swap_pass, swap_sets
from stream_anon.clustering.rules import Rules
from stream_anon.compiled import kernel
from stream_anon.privacy.costs.model import CostModel


@kernel
def side_by_side(
    rows: NDArray[np.int64], ends: NDArray[np.int64], along: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes in the order of their median row along a line, each one's rows in its order; O(n).

    Parameters
    ----------
    rows, ends
        int64[n], int64[c].
    along
        int64[n], all rows along the line. Of two rows in the middle of a class the upper one counts.
    """
    n = len(rows)
    owner = np.empty(n, np.int64)
    name_owners(rows, ends, owner)
    begin = np.empty(len(ends), np.int64)
    missing = np.empty(len(ends), np.int64)  # rows of each class up to its median that are still to come
    start = 0
    for c in range(len(ends)):
        missing[c] = (ends[c] - start) // 2 + 1
        begin[c] = ends[c] - start
        start = ends[c]
    after = np.empty(len(ends), np.int64)
    placed = np.empty(n, np.int64)
    count = 0
    start = 0
    for place in range(n):
        c = owner[along[place]]
        missing[c] -= 1
        if missing[c] == 0:
            size = begin[c]
            begin[c] = start
            start += size
            after[count] = start
            count += 1
    for place in range(n):
        row = along[place]
        c = owner[row]
        placed[begin[c]] = row
        begin[c] += 1
    return placed, after


def refined(
    codes: NDArray[np.int32],
    classes: Classes,
    lines: Sequence[NDArray[np.int64]],
    model: CostModel,
    rules: Rules,
    *,
    hurried: bool = False,
    reach: int = 1,
) -> Classes:
    """Return the classes after RESPLIT and SWAP among neighbours along one line after the other.

    Parameters
    ----------
    codes
        int32[n, q].
    lines
        int64[n] each, all rows along a line.
    hurried
        Without the last SWAP: that costs 0.3 % and saves a tenth.
    reach
        How far two classes may stand from each other to be neighbours.
    """
    passes = [(along, step) for along in lines for step in range(1, reach + 1)]
    for number, (along, step) in enumerate(passes, 1):
        rows, ends = classes = side_by_side(*classes, along)
        if step > 1:
            rows, ends = classes = strided(rows, ends, step)
        resplit_pass(codes, rows, ends, model, rules)
        if not hurried or number < len(passes):
            swap_pass(codes, rows, ends, model, rules)
    return classes


def refine_sets(codes: NDArray[np.int32], classes: Classes, model: CostModel, rules: Rules, swaps: int) -> None:
    """Resplit neighbours once and swap their rows `swaps` times by the values of published sets, in place."""
    resplit_sets(codes, *classes, model, rules)
    for _ in range(swaps):
        swap_sets(codes, *classes, model, rules)


def reach_of(rounds: int) -> int:
    """Return how far apart classes count as neighbours where REFINE goes so many rounds and PEEL joins in."""
    return 2 * rounds - 1


@kernel
def face_neighbours(
    codes: NDArray[np.int32], rows: NDArray[np.int64], ends: NDArray[np.int64], model: CostModel
) -> None:
    """Put the rows of each class in order: in front those that join the class before more cheaply than the next.

    Arguments are those of `refined`; rows are changed in place. O(n (k + q)).
    """
    q = codes.shape[1]
    tables = leading_tables(model)
    low, high = boxes_of(codes, rows, ends)
    bottom = np.empty((1, q), np.int32)
    top = np.empty((1, q), np.int32)
    longest = 0
    start = 0
    for end in ends:
        longest = max(longest, end - start)
        start = end
    lean = np.empty(longest, np.float64)  # how much dearer the class before is for each row than the next
    places = np.empty(longest, np.int64)
    former = np.empty(longest, np.int64)
    start = 0
    for c in range(len(ends)):
        m = ends[c] - start
        for i in range(m):
            former[i] = rows[start + i]
            lean[i] = 0.0
        for way in range(-1, 2, 2):
            other = c + way
            if other < 0 or other == len(ends):
                continue
            for i in range(m):
                for j in range(q):
                    code = codes[former[i], j]
                    bottom[0, j] = min(low[other, j], code)
                    top[0, j] = max(high[other, j], code)
                lean[i] -= way * box_cost(tables, bottom, top, 0)
        sort_places(lean, places[:m])
        for i in range(m):
            rows[start + i] = former[places[i]]
        start = ends[c]


def cut_anew(codes: NDArray[np.int32], classes: Classes, model: CostModel, k: int) -> Classes:
    """Return the classes of the best cut through all rows, as the classes of k and more stand side by side.

    The rows of a class are put in order before, so that a neighbour takes those first that suit it best. Every end
    of a class is still there to be chosen, so the loss does not grow; and where many classes are a little larger
    than they must be, there is one more of them afterwards. Fewer than k rows keep their classes. Arguments are
    those of `refined`.
    """
    rows, ends = classes
    rows, n = rows.copy(), len(rows)
    face_neighbours(codes, rows, ends, model)
    found = cut(codes[rows], np.arange(n), np.full(n, n), model, k, 2 * k - 1, np.empty(n + 1))
    return rows, found if len(found) else ends


def refined_anew(codes: NDArray[np.int32], classes: Classes, model: CostModel, rules: Rules) -> Classes:
    """Return the classes after CUT, RESPLIT and SWAP as they stand side by side; sizes decide alone."""
    rows, ends = cut_anew(codes, classes, model, rules.k)
    resplit_pass(codes, rows, ends, model, rules)
    swap_pass(codes, rows, ends, model, rules)
    return rows, ends
