"""The gate: count every class again before it is published.

It shares no code with the partitioners and believes nothing they say. It groups rows by what would be
published, recounts each group, and looks whether each row lies under the values published for it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel
from stream_anon.microdata.columns import NO_VALUE, Columns, Sets
from stream_anon.privacy.criteria import ClassCounts, Criteria
from stream_anon.privacy.generalization import GeneralizedClasses, alike
from stream_anon.privacy.spreads import spreads_of


@bare_kernel
def count_people(
    order: NDArray[np.int64],
    group_of_row: NDArray[np.int64],
    individuals: NDArray[np.int32],
    seen: NDArray[np.int64],
    distinct: NDArray[np.int64],
    largest: NDArray[np.int64],
) -> None:
    """Count the individuals of each group, and the records of the one with most.

    Parameters
    ----------
    order
        int64[n], all rows, those of one group together.
    group_of_row, individuals
        int64[n], int32[n].
    seen
        int64[2, individuals], -1 everywhere: the group in which each was seen last, and how often.
    distinct, largest
        int64[groups], written; zeros before.
    """
    for place in range(len(order)):
        group, person = group_of_row[order[place]], individuals[order[place]]
        if seen[0, person] != group:
            seen[0, person], seen[1, person] = group, 0
            distinct[group] += 1
        seen[1, person] += 1
        largest[group] = max(largest[group], seen[1, person])


def _by_group(group_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows with those of one group together; sixteen bits sort by counting."""
    few = len(group_of_row) and int(group_of_row.max()) <= np.iinfo(np.int16).max
    return np.argsort(group_of_row.astype(np.int16) if few else group_of_row, kind="stable")


@bare_kernel
def mark_outside(
    codes: NDArray[np.int32],
    class_of_row: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    wrong: NDArray[np.bool_],
) -> None:
    """Mark the n rows with a code int32[q, n] outside of their class's bounds int32[q, c]."""
    for j in range(len(codes)):
        for i in range(len(class_of_row)):
            own = class_of_row[i]
            if codes[j, i] < low[j, own] or codes[j, i] > high[j, own]:
                wrong[i] = True


def people_of(
    group_of_row: NDArray[np.int64], groups: int, individuals: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct individuals of each group, and the records of the one with most; O(n)."""
    distinct, largest = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    seen = np.full((2, int(individuals.max(initial=0)) + 1), -1, np.int64)
    count_people(_by_group(group_of_row), group_of_row, individuals, seen, distinct, largest)
    return distinct, largest


def recount(group_of_row: NDArray[np.int64], groups: int, rows: Columns, criteria: Criteria) -> ClassCounts:
    """Count records, individuals, the largest individual and sensitive values of each group; O(n) but for values.

    Parameters
    ----------
    group_of_row
        int64[n], 0..groups-1.
    rows
        The same n rows.
    criteria
        What is asked: values held by different individuals are counted to the end only where they seem too few.
    """
    records = np.bincount(group_of_row, minlength=groups).astype(np.int64)
    individuals, largest = people_of(group_of_row, groups, rows.individuals)
    values = np.empty((len(rows.sensitive), groups), np.int64)
    lists = criteria.lists or (False,) * len(rows.sensitive)
    for s, column in enumerate(rows.sensitive):
        if lists[s]:
            sets = rows.sets[s]
            if sets is None:
                raise ValueError("the sets behind the lists of an attribute are missing")
            values[s] = _held(group_of_row, groups, rows.individuals, column, sets)
            continue
        values[s] = _diverse(group_of_row, groups, rows.individuals, column, int(criteria.distinct_l[s]))
    spreads = [
        spreads_of(group_of_row, groups, rows.individuals, column, asked) if asked.asks else None
        for asked, column in zip(criteria.asked, rows.sensitive, strict=True)
    ]
    whole = _whole(group_of_row, groups, rows, criteria) if criteria.keep_whole else None
    return ClassCounts(records, individuals, largest, values, spreads, whole)


def _whole(group_of_row: NDArray[np.int64], groups: int, rows: Columns, criteria: Criteria) -> NDArray[np.bool_]:
    """Return for each group whether every family with a value in it has all its values there; bool[groups].

    Each family's values are held by as many different individuals as it has values. A value that is in no family
    leaves its group broken.
    """
    whole = np.ones(groups, np.bool_)
    for s, sizes in enumerate(criteria.families):
        if sizes is None:
            continue
        family_of = rows.families[s] if rows.families else None
        if family_of is None:
            raise ValueError("the families behind the values of an attribute are missing")
        column = rows.sensitive[s]
        family = np.append(family_of, NO_VALUE)[column].astype(np.int64)
        whole[group_of_row[family == NO_VALUE]] = False
        cells, part = np.unique(group_of_row * len(sizes) + np.maximum(family, 0), return_inverse=True)
        wanted = sizes[cells % len(sizes)]
        held = _diverse(part.astype(np.int64), len(cells), rows.individuals, column, wanted)
        whole[cells[held < wanted] // len(sizes)] = False
    return whole


def _diverse(
    group_of_row: NDArray[np.int64],
    groups: int,
    individuals: NDArray[np.int32],
    column: NDArray[np.int32],
    wanted: int | NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return how many values of each group are held by as many different individuals; int64[groups].

    If each individual shows one value, the first, those are that many for sure. Where they are fewer than
    wanted, the largest matching of individuals and values decides.
    """
    present = np.flatnonzero(column != NO_VALUE)
    group, person, value = group_of_row[present], individuals[present], column[present]
    people, span = int(individuals.max(initial=0)) + 1, int(column.max(initial=0)) + 1
    _, first = np.unique(group * people + person, return_index=True)
    shown = np.unique(group[first] * span + value[first])
    counts = np.bincount(shown // span, minlength=groups)
    wanted = np.broadcast_to(np.asarray(wanted, np.int64), groups)
    for short in np.flatnonzero(counts < wanted).tolist():
        rows = group == short
        pairs = zip(person[rows].tolist(), value[rows].tolist(), strict=True)
        counts[short] = max(counts[short], largest_matching(pairs, int(wanted[short])))
    return counts


def _held(
    group_of_row: NDArray[np.int64],
    groups: int,
    individuals: NDArray[np.int32],
    column: NDArray[np.int32],
    sets: Sets,
) -> NDArray[np.int64]:
    """Return the largest l of each group for which no item is held by more than one in l; int64[groups].

    Of records with an item, and of individuals with one, whichever is less; 0 for a group without any.
    """
    present = np.flatnonzero(column != NO_VALUE)
    group, person = group_of_row[present], individuals[present].astype(np.int64)
    places, items = sets.occurrences(column[present])
    span, people = int(items.max(initial=0)) + 1, int(individuals.max(initial=0)) + 1
    cells = group[places] * span + items
    by_records = _one_in(cells // span, cells, np.bincount(group, minlength=groups), groups)
    # An individual counts once, with the items of all their records.
    _, first = np.unique(cells * people + person[places], return_index=True)
    whole = np.bincount(np.unique(group * people + person) // people, minlength=groups)
    by_people = _one_in(cells[first] // span, cells[first], whole, groups)
    return np.minimum(by_records, by_people)


def _one_in(
    owner: NDArray[np.int64], cells: NDArray[np.int64], whole: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Return how often the count of a group's most frequent cell goes into `whole`, rounded down; int64[groups]."""
    _, first, counts = np.unique(cells, return_index=True, return_counts=True)
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, owner[first], counts)
    return np.where(most > 0, whole // np.maximum(most, 1), 0)


def largest_matching(pairs: Iterable[tuple[int, int]], enough: int) -> int:
    """Return how many (individual, value) pairs can be chosen so that no two share either, up to `enough`.

    Augmenting paths, breadth first (Hopcroft and Karp, 1973, one path at a time). Who is on no path from one value
    is on none from a later one until a path is found, so that all searches between two of them look at each pair
    once; O(enough x pairs).
    """
    holders: dict[int, list[int]] = {}
    for person, value in sorted(set(pairs)):
        holders.setdefault(value, []).append(person)
    value_of: dict[int, int] = {}
    person_of: dict[int, int] = {}
    came_by: dict[int, int] = {}
    for start in holders:
        if len(person_of) >= enough:
            break
        queue, end = [start], None
        while queue and end is None:
            value = queue.pop(0)
            for person in holders[value]:
                if person in came_by:
                    continue
                came_by[person] = value
                if person not in value_of:
                    end = person
                    break
                queue.append(value_of[person])
        if end is not None:
            seen, came_by = came_by, {}
        while end is not None:  # walk back: everybody on the path takes the value that led to them
            value = seen[end]
            value_of[end], person_of[value], end = value, end, person_of.get(value)
    return len(person_of)


def misplaced_classes(
    rows: Columns, class_of_row: NDArray[np.int64], generalized: GeneralizedClasses
) -> NDArray[np.int64]:
    """Return the classes that hold a row outside of what is published for it; int64[m], sorted."""
    wrong = np.zeros(len(rows), np.bool_)
    bounds = np.ascontiguousarray(generalized.low), np.ascontiguousarray(generalized.high)
    mark_outside(np.ascontiguousarray(rows.codes), class_of_row, *bounds, wrong)
    for j, codes in enumerate(rows.codes):
        members = generalized.members[j]
        if members is not None:
            listed = [(c << 32) | code for c, codes_of in enumerate(members) for code in codes_of]
            packed = (class_of_row.astype(np.int64) << 32) | codes
            covered = np.array([not codes_of for codes_of in members], np.bool_)[class_of_row]
            wrong |= ~(covered | np.isin(packed, np.array(listed, np.int64)))
    return np.unique(class_of_row[wrong]).astype(np.int64)


def violating_classes(
    rows: Columns, class_of_row: NDArray[np.int64], generalized: GeneralizedClasses, criteria: Criteria
) -> tuple[NDArray[np.bool_], ClassCounts]:
    """Return for each class whether it must not be published, and what was counted of each.

    Parameters
    ----------
    rows
        The n rows about to be published.
    class_of_row
        int64[n].
    generalized
        What would be published for each of the c classes.

    Notes
    -----
    Classes with one published tuple are one group: all of them fail or none. Distributions are compared with that
    of all `rows`: when a class is taken away, the others must be judged again.
    """
    first, group_of_class = alike(generalized.labels)
    groups = len(first)
    counts = recount(group_of_class[class_of_row], groups, rows, criteria)
    failing = ~criteria.permit(counts)
    failing[group_of_class[misplaced_classes(rows, class_of_row, generalized)]] = True
    return failing[group_of_class], counts.take(group_of_class)
