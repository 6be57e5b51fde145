"""How many values are held by as many different people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.rules import STAMP, Rules
from stream_anon.compiled import bare_kernel, kernel


@bare_kernel
def held_values(rows: NDArray[np.int64], values: int, s: int, rules: Rules) -> int:
    """Return how many of so many values are held by as many individuals; O(m) mostly, O(values x m) at most."""
    columns = rules.columns
    marks = rules.marks
    rules.notes[STAMP] += 1
    stamp = rules.notes[STAMP]
    # Each person's first value: these are held by different people. Only where they are too few is it worth
    # looking whether somebody's other values help.
    firsts = 0
    for i in range(len(rows)):
        value = columns[1 + s, rows[i]]
        person = columns[0, rows[i]]
        if value >= 0 and marks[0, person] == 0:
            marks[0, person] = 1
            if marks[3 + s, value] != stamp:
                marks[3 + s, value] = stamp
                firsts += 1
    for i in range(len(rows)):
        marks[0, columns[0, rows[i]]] = 0
    if firsts >= values:
        return values
    return matched_values(rows, columns[0], columns[1 + s], values, marks)


@kernel
def matched_values(
    rows: NDArray[np.int64],
    individuals: NDArray[np.int32],
    column: NDArray[np.int32],
    enough: int,
    marks: NDArray[np.int32],
) -> int:
    """Return how many values of rows int64[m] are held by as many different individuals, up to `enough`.

    Augmenting paths over (individual, value) pairs, one path at a time. Who is on no path from one value is on none
    from a later one until a path is found: all searches between two paths look at each row once, O(enough x m).

    Parameters
    ----------
    individuals, column
        int32[n]; negative values count for nothing.
    marks
        int32[at least 2, people or values], zero between calls.
    """
    m = len(rows)
    who = np.empty(m, np.int64)
    first = np.full(m, -1, np.int64)  # place of the first row of each value
    ahead = np.empty(m, np.int64)  # place of the next row with the same value
    people = 0
    values = 0
    for i in range(m):
        value = column[rows[i]]
        if value < 0:
            continue
        person = individuals[rows[i]]
        if marks[0, person] == 0:
            people += 1
            marks[0, person] = people
        if marks[1, value] == 0:
            values += 1
            marks[1, value] = values
        who[i] = marks[0, person] - 1
        ahead[i] = first[marks[1, value] - 1]
        first[marks[1, value] - 1] = i
    for i in range(m):
        marks[0, individuals[rows[i]]] = 0
        marks[1, max(column[rows[i]], 0)] = 0
    taken = np.full(people, -1, np.int64)  # the value each person stands for
    holder = np.full(values, -1, np.int64)  # the person who stands for each value
    came_by = np.full(people, -1, np.int64)
    queue = np.empty(values + 1, np.int64)
    matched = 0
    for start in range(values):
        if matched >= enough:
            break
        queue[0] = start
        head = 0
        tail = 1
        end = -1
        while head < tail and end < 0:
            value = queue[head]
            head += 1
            i = first[value]
            while i >= 0:
                person = who[i]
                i = ahead[i]
                if came_by[person] >= 0:
                    continue
                came_by[person] = value
                if taken[person] < 0:
                    end = person
                    break
                queue[tail] = taken[person]
                tail += 1
        if end >= 0:
            matched += 1
            while end >= 0:  # walk back: everybody on the path takes the value that led to them
                value = came_by[end]
                before = holder[value]
                taken[end] = value
                holder[value] = end
                end = before
            came_by[:] = -1
    return matched
