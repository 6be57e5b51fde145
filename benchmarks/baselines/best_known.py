"""The best partition that is known of a window: parts of a good one are solved anew, as integer programs.

Large neighbourhood search (Shaw 1998): some classes near each other are dissolved; the linear bound over their rows
finds the boxes that matter; which of these are used, and which row goes where, is an integer program for HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.linear_bound import Box, Rows, Window, linear_bound, solver

_LITTLE = 1e-9


def best_known(
    window: Window, classes: Sequence[Rows], seconds: float, at_once: int = 5, seed: int = 0
) -> list[Rows]:
    """Return classes that lose no more than those given; for so many seconds, `at_once` are dissolved at a time."""
    draws = np.random.default_rng(seed)
    best = [np.sort(rows) for rows in classes]
    ends = monotonic() + seconds
    while (left := ends - monotonic()) > 0 and len(best) > 1:
        chosen = _neighbours(window, best, min(at_once, len(best)), draws)
        rows = np.sort(np.concatenate([best[c] for c in chosen]))
        part = window.part(rows)
        present = [np.searchsorted(rows, best[c]) for c in chosen]
        loss = part.loss(present)
        bound = linear_bound(part, present, searches=60)
        if bound.least > loss - _LITTLE:
            continue  # they are as good as can be
        found = _solved(part, [part.box(column) for column in bound.columns], present, min(left, 20.0))
        if part.loss(found) < loss - _LITTLE:
            best = [b for c, b in enumerate(best) if c not in chosen] + [rows[members] for members in found]
    return best


def _neighbours(window: Window, classes: Sequence[Rows], most: int, draws: np.random.Generator) -> set[int]:
    """Return a class drawn by chance and others that lie near it, roughly."""
    centre = int(draws.integers(len(classes)))
    own = window.loss([classes[centre]])
    apart = np.array(
        [window.loss([np.concatenate([classes[centre], rows])]) - own - window.loss([rows]) for rows in classes]
    )
    apart *= draws.uniform(0.6, 1.4, len(classes))
    apart[centre] = -np.inf
    return {int(c) for c in np.argsort(apart)[:most]}


def _solved(window: Window, found: Sequence[Box], present: Sequence[Rows], seconds: float) -> list[Rows]:
    """Return the best classes within these boxes that were found in time, at worst the present ones."""
    own = [window.box(rows) for rows in present]
    pool = {box.tobytes(): box for box in [*own, *found]}
    place = {key: number for number, key in enumerate(pool)}
    held = [window.held(box) for box in pool.values()]
    n, count = len(window.floor), len(held)
    sizes = np.array([len(rows) for rows, _ in held])
    begin = np.cumsum([0, *sizes])
    rows = np.concatenate([rows for rows, _ in held])
    box_of = np.repeat(np.arange(count), sizes)
    _, *constraints = np.cumsum([0, n, count, len(rows)])
    # Each row once; k rows in each box that is used; nobody in one that is not.
    least = np.concatenate([np.ones(n), np.zeros(count + len(rows))])
    most = np.concatenate([np.ones(n), np.full(count + len(rows), np.inf)])
    program = solver()
    program.setOptionValue("time_limit", seconds)
    program.addRows(len(least), least, most, 0, np.zeros(len(least), np.int32), np.empty(0, np.int32), np.empty(0))
    for number in range(count):
        limits = constraints[1] + np.arange(begin[number], begin[number + 1])
        index = np.concatenate([[n + number], limits]).astype(np.int32)
        program.addCol(0.0, 0.0, 1.0, len(index), index, np.concatenate([[-float(window.k)], np.ones(len(limits))]))
    program.changeColsIntegrality(count, np.arange(count, dtype=np.int32), np.ones(count, np.uint8))
    index = np.column_stack([rows, n + box_of, constraints[1] + np.arange(len(rows))]).astype(np.int32).ravel()
    program.addCols(
        len(rows),
        np.repeat([cost for _, cost in held], sizes),
        np.zeros(len(rows)),
        np.ones(len(rows)),
        len(index),
        np.arange(0, len(index), 3, dtype=np.int32),
        index,
        np.tile([1.0, 1.0, -1.0], len(rows)),
    )
    start = np.zeros(count + len(rows))
    for box, members in zip(own, present, strict=True):
        number = place[box.tobytes()]
        start[number] = 1
        start[count + begin[number] + np.searchsorted(held[number][0], members)] = 1
    program.setSolution(len(start), np.arange(len(start), dtype=np.int32), start)
    program.run()
    taken = np.array(program.getSolution().col_value)[count:] > 0.5
    classes: NDArray[np.int64] = np.full(n, -1, np.int64)
    classes[rows[taken]] = box_of[taken]
    if (classes < 0).any():
        return list(present)
    return [np.flatnonzero(classes == number) for number in np.unique(classes)]
