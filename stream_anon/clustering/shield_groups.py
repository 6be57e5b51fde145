"""Join groups of classes until each is shared by enough individuals: the kernel of RAISE."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel, kernel
from stream_anon.privacy.costs.cost import interval_cost
from stream_anon.privacy.costs.model import CostModel

WIDTH = 512  # groups on either side among which a partner is sought; it bounds the work of large windows
PATIENCE = 32  # rounds in which a group waits for another turn where its partner has become dearer


@kernel
def people_of_groups(
    group_of_row: NDArray[np.int64], individuals: NDArray[np.int32], starts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the distinct individuals of each group, one group after the other; O(n).

    Parameters
    ----------
    group_of_row
        int64[n], negative for rows in none.
    individuals
        int32[n].
    starts
        int64[groups + 1], written: where each group's individuals begin.
    """
    groups = len(starts) - 1
    ends = np.zeros(groups + 1, np.int64)
    people = 0
    for i in range(len(group_of_row)):
        if group_of_row[i] >= 0:
            ends[group_of_row[i] + 1] += 1
        people = max(people, individuals[i] + 1)
    for own in range(groups):
        ends[own + 1] += ends[own]
    rows = np.empty(ends[groups], np.int64)
    place = ends[:-1].copy()
    for i in range(len(group_of_row)):
        if group_of_row[i] >= 0:
            rows[place[group_of_row[i]]] = i
            place[group_of_row[i]] += 1
    seen = np.full(people, -1, np.int64)
    found = np.empty(len(rows), np.int32)
    used = 0
    for own in range(groups):
        starts[own] = used
        for at in range(ends[own], ends[own + 1]):
            person = individuals[rows[at]]
            if seen[person] != own:
                seen[person] = own
                found[used] = person
                used += 1
    starts[groups] = used
    return found[:used]


class AlikeGroups(NamedTuple):
    """Groups of records, each published alike, of which some are to be published like others.

    Parameters
    ----------
    model
        Cost tables.
    places
        int64[s], the attributes in the model by which a group is alike.
    low, high
        int32[g, s], the bounds of the groups.
    cells
        int64[g]; groups of different cells may not be joined.
    records
        int64[g].
    """

    model: CostModel
    places: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    cells: NDArray[np.int64]
    records: NDArray[np.int64]


@bare_kernel
def cost_alike(groups: AlikeGroups, a: int, b: int) -> float:
    """Return the cost of publishing groups `a` and `b` alike, for each of their records."""
    low, high = groups.low, groups.high
    cost = 0.0
    for j in range(len(groups.places)):
        place = groups.places[j]
        cost += interval_cost(groups.model, place, min(low[a, j], low[b, j]), max(high[a, j], high[b, j]))
    return cost


@kernel
def join_groups(
    groups: AlikeGroups,
    starts: NDArray[np.int64],
    people: NDArray[np.int32],
    k: int,
    width: int,
    patience: int,
    name: NDArray[np.int64],
    short: NDArray[np.bool_],
) -> None:
    """Join each group of fewer than k individuals with others, cheapest first, until none is left that could be.

    In a round each short group looks for the partner with which the loss of all their records grows least. Then
    pairs are joined in the order of this growth for each record of the short group, ties in the order of groups: on
    Adult up to a tenth less is lost than in the order of the growth itself. Who finds that their partner has been
    joined in this round, and has become dearer, waits for the next one.

    Parameters
    ----------
    groups
        In an order that does not depend on rows. The bounds and records of a union are written into its first one.
    starts, people
        See `people_of_groups`.
    k
        Individuals that a group needs.
    width
        Groups on either side among which a partner is sought.
    patience
        Rounds after which nobody waits, so that each round halves the number of short groups at least.
    name
        int64[g], written: the first group of the union that each is in.
    short
        bool[g], written: whether the union that has this name has fewer than k individuals.

    Notes
    -----
    O((patience + log g) x short groups x width x s), and far fewer rounds on real data.
    """
    low, high, weights = groups.low, groups.high, groups.records
    g = len(weights)
    own = np.empty(g, np.float64)
    after = np.full(g, -1, np.int64)  # the next group of the same union
    last = np.arange(g)
    most = 0
    for a in range(len(people)):
        most = max(most, people[a] + 1)
    seen = np.full(most, -1, np.int64)
    stamp = 0
    for a in range(g):
        name[a] = a
        own[a] = cost_alike(groups, a, a)
        short[a] = starts[a + 1] - starts[a] < k
    live = np.arange(g)
    count = g
    best = np.empty(g, np.float64)
    mate = np.empty(g, np.int64)
    joined = np.full(g, -1, np.int64)  # the round in which it was joined last
    rounds = 0
    while True:
        seekers = 0
        for place in range(count):
            a = live[place]
            best[place] = np.inf
            if not short[a]:
                continue
            for other in range(max(0, place - width), min(count, place + width + 1)):
                b = live[other]
                if other == place or groups.cells[a] != groups.cells[b]:
                    continue
                alone = own[a] * weights[a] + own[b] * weights[b]
                growth = cost_alike(groups, a, b) * (weights[a] + weights[b]) - alone
                growth /= weights[a]
                if growth < best[place]:
                    best[place] = growth
                    mate[place] = b
            seekers += best[place] < np.inf
        if seekers == 0:
            return
        order = np.argsort(best[:count], kind="mergesort")
        for turn in range(seekers):
            place = order[turn]
            a = live[place]
            if joined[a] == rounds or name[a] != a:
                continue
            b = mate[place]
            while name[b] != b:
                b = name[b]
            union = cost_alike(groups, a, b)
            if joined[b] == rounds and rounds < patience:
                alone = own[a] * weights[a] + own[b] * weights[b]
                growth = union * (weights[a] + weights[b]) - alone
                growth /= weights[a]
                if growth > best[place]:
                    continue
            both = short[b]
            first, second = min(a, b), max(a, b)
            for j in range(len(groups.places)):
                low[first, j] = min(low[a, j], low[b, j])
                high[first, j] = max(high[a, j], high[b, j])
            weights[first] = weights[a] + weights[b]
            own[first] = union
            after[last[first]] = second
            last[first] = last[second]
            name[second] = first
            joined[first] = rounds
            short[first] = False
            if both:
                stamp += 1
                distinct = 0
                part = first
                while part >= 0 and distinct < k:
                    for at in range(starts[part], starts[part + 1]):
                        if seen[people[at]] != stamp:
                            seen[people[at]] = stamp
                            distinct += 1
                    part = after[part]
                short[first] = distinct < k
        kept = 0
        for place in range(count):
            if name[live[place]] == live[place]:
                live[kept] = live[place]
                kept += 1
        count = kept
        rounds += 1
