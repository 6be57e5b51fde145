"""Count whether a few rows may be a class: what partitioners need to know while they work.

The gate does not believe them and counts again with other code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.clustering.held_values import held_values
from stream_anon.clustering.rules import COMPARED, FREQUENCIES, LEAST_VALUES, LISTED, STAMP, Rules
from stream_anon.clustering.unevenness import unevenness
from stream_anon.clustering.work_limit import spend
from stream_anon.compiled import bare_kernel, kernel


def within_share(individuals: NDArray[np.int32], max_share: float) -> NDArray[np.int64]:
    """Return the rows that stay if no person may hold more than `max_share` of them: each person's first rows.

    Further rows are surplus: a person who has more rows than all others together cannot hide among them.
    """
    counts = np.bincount(individuals, minlength=1)
    cap = int(counts.max())
    if cap <= max_share * len(individuals):
        return np.arange(len(individuals))
    while cap > 0 and cap > max_share * np.minimum(counts, cap).sum():
        cap = min(cap - 1, int(max_share * np.minimum(counts, cap).sum()))
    if cap <= 0:
        return np.empty(0, np.int64)
    order = np.argsort(individuals, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(individuals), np.int64)
    rank[order] = np.arange(len(individuals)) - starts[individuals[order]]
    return np.flatnonzero(rank < cap)


@bare_kernel
def is_legal(rows: NDArray[np.int64], rules: Rules) -> bool:
    """Return whether rows int64[m] meet the criteria; O(m (1 + s)), O(1) where sizes decide alone."""
    if len(rows) < rules.k:
        return False
    return rules.each_once or deficit(rows, rules, rules.parts) <= 0


@kernel
def legal_runs(rows: NDArray[np.int64], ends: NDArray[np.int64], rules: Rules) -> NDArray[np.bool_]:
    """Return whether each of c groups meets the criteria, bool[c]; O(n (1 + s)).

    Parameters
    ----------
    rows
        int64[n], group after group.
    ends
        int64[c], where each group ends.
    """
    answer = np.empty(len(ends), np.bool_)
    start = 0
    for c in range(len(ends)):
        answer[c] = is_legal(rows[start : ends[c]], rules)
        start = ends[c]
    return answer


@bare_kernel
def may_part(rows: NDArray[np.int64], rules: Rules) -> bool:
    """Return False where rows int64[m] hold too few values for two legal classes, whatever the cut; O(m s)."""
    for s in range(len(rules.asked)):
        rules.notes[STAMP] += 2
        once = rules.notes[STAMP] - 1
        found = 0
        for i in range(len(rows)):
            value = rules.columns[1 + s, rows[i]]
            if value >= 0 and rules.marks[3 + s, value] <= once:
                rules.marks[3 + s, value] = once + (rules.marks[3 + s, value] == once)
                found += 1
        if found < 2 * rules.asked[s, LEAST_VALUES]:
            return False
    return True


@bare_kernel
def list_lack(rows: NDArray[np.int64], s: int, rules: Rules) -> float:
    """Return how far the items of rows int64[m] are from being held by one in l at most; O(m x items).

    Counted over records, then over individuals. One who has several lists that share an item counts once for each:
    more than in truth, so that the answer is 0 only where the class is legal.
    """
    least = rules.asked[s, LEAST_VALUES]
    column = rules.columns[1 + s]
    pairs = rules.columns[1 + len(rules.asked) + s]
    starts = rules.set_starts[s]
    seen = rules.marks[0]
    heights = rules.marks[1]
    paired = rules.marks[2]
    worst = 0.0
    for way in range(1 if rules.singles else 2):
        rules.notes[STAMP] += 1
        stamp = rules.notes[STAMP]
        top = 0
        n = 0
        for i in range(len(rows)):
            row = rows[i]
            value = column[row]
            if value < 0:
                continue
            if way == 0:
                n += 1
            else:
                if paired[pairs[row]] == stamp:
                    continue
                paired[pairs[row]] = stamp
                n += seen[rules.columns[0, row]] == 0
                seen[rules.columns[0, row]] = 1
            for at in range(starts[value], starts[value + 1]):
                heights[rules.set_items[at]] += 1
                top = max(top, heights[rules.set_items[at]])
        looked = 0
        for i in range(len(rows)):
            row = rows[i]
            value = column[row]
            seen[rules.columns[0, row]] = 0
            if value >= 0:
                looked += starts[value + 1] - starts[value]
                for at in range(starts[value], starts[value + 1]):
                    heights[rules.set_items[at]] = 0
        spend(rules, looked)
        lack = float(least) if n == 0 else max(0.0, top - n / least)
        if n > 0 and top * least <= n:
            lack = 0.0
        worst = max(worst, lack)
    return worst


@bare_kernel
def deficit(rows: NDArray[np.int64], rules: Rules, parts: NDArray[np.float64]) -> float:
    """Return how far rows int64[m] are from legal, 0 exactly where `is_legal` holds; O(m (1 + s)).

    The sum of one part per column that is looked at; a criterion more is a term more.

    Parameters
    ----------
    parts
        float64[1 + s], written. Individuals: how many are missing to k, and by how many rows the one with the
        most is above `max_share`. Each sensitive attribute: how many values are missing to l, and `unevenness`.
    """
    m = len(rows)
    columns = rules.columns
    marks = rules.marks
    spend(rules, m if rules.singles else 2 * m)  # once for the rows, once for their people
    people = m
    over = 0.0
    if not rules.singles:
        largest = 0
        people = 0
        for i in range(m):
            person = columns[0, rows[i]]
            marks[0, person] += 1
            people += marks[0, person] == 1
            largest = max(largest, marks[0, person])
        for i in range(m):
            marks[0, columns[0, rows[i]]] = 0
        over = max(0.0, largest - rules.max_share * m)
    total = over + max(0, rules.k - people)
    parts[0] = total
    for s in range(len(rules.asked)):
        least = rules.asked[s, LEAST_VALUES]
        lack = 0.0
        if rules.asked[s, LISTED] > 0:
            parts[1 + s] = list_lack(rows, s, rules)
            total += parts[1 + s]
            continue
        if least > 0:
            rules.notes[STAMP] += 1
            stamp = rules.notes[STAMP]
            values = 0
            for i in range(m):
                value = columns[1 + s, rows[i]]
                if value >= 0 and marks[3 + s, value] != stamp:
                    marks[3 + s, value] = stamp
                    values += 1
                    if values >= least:
                        break
            if people < m and values > 1:
                values = held_values(rows, values, s, rules)
            lack = least - values
        if rules.asked[s, FREQUENCIES] > 0:
            uneven = 0.0
            # Over records, then over (individual, value) pairs. Where no person of this class has two rows, both
            # counts still differ if a person elsewhere has two: the reference over all rows is then another one.
            twice = people < m or (rules.asked[s, COMPARED] > 0 and not rules.singles)
            for way in range(2 if twice else 1):
                uneven = max(uneven, unevenness(rows, s, way, rules))
            lack += uneven
        parts[1 + s] = lack
        total += lack
    return total
