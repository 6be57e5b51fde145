"""Deal values into families of which classes show all values or none: by the loss that this costs.

At most as many classes can be formed of a family as people have its rarest value, and families whose people are
alike cost less than others. What a family costs is measured with the policy's own engine, on the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.closing import Closer
from stream_anon.engine.engine import Engine
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.domains.families import Family, ShownAs, missing_last
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.sensitive_keys import criterion_keys

MOST_MEASURED = 1_000
"""Families that are tried, most of them again and again; each takes some 50 ms for a few thousand people."""
_LAW = 0.35  # loss grows with the size of classes to this power, and falls so with that of windows
_MISSING = 0.3  # values that a class may be expected to lack when it is drawn by chance
_LEAST_GAIN = 1e-6
_SEED = 0


class FamilyLosses:
    """Measures what it costs to keep a family whole in classes of one window of a sample.

    Parameters
    ----------
    policy
        Without families of the attribute; the batch was read under it.
    name
        The sensitive attribute.
    batch
        As many of its rows as a window may hold, drawn by chance, are the window.
    """

    def __init__(self, policy: Policy, name: str, batch: CodedBatch) -> None:
        draws = np.random.default_rng(_SEED)
        size = min(len(batch), policy.window.max_records)
        self._batch = batch.take(np.sort(draws.permutation(len(batch))[:size]))
        self._policy = replace(
            policy, diversity={k: v for k, v in policy.diversity.items() if k != name}, returning=None
        )
        self._attribute = policy.attribute(name)
        self._places = {attribute.name: place for place, attribute in enumerate(policy.diverse)}
        place = [attribute.name for attribute in policy.passed].index(name)
        self._values = [row[place] for row in self._batch.payload]
        self._known: dict[frozenset[str | None], float] = {}

    def __len__(self) -> int:
        return len(self._batch)

    def of(self, family: Family) -> float:
        """Return the NCP of the records of a family's people, summed; 1 for one that is suppressed."""
        known = frozenset(family)
        if known not in self._known:
            assert isinstance(self._attribute, Sensitive)  # noqa: S101 - it was asked before
            whole = replace(self._attribute, families=(family,), shown_as=ShownAs.VALUE)
            attributes = (whole if a.name == whole.name else a for a in self._policy.attributes)
            chosen = np.flatnonzero([value in known for value in self._values])
            self._known[known] = self._lost(replace(self._policy, attributes=tuple(attributes)), chosen)
        return self._known[known]

    @property
    def without(self) -> float:
        """Return the mean NCP of all records where nothing is asked of the attribute."""
        return self._lost(self._policy, np.arange(len(self))) / max(len(self), 1)

    def _lost(self, policy: Policy, rows: NDArray[np.int64]) -> float:
        if not len(rows):
            return 0.0
        part = self._batch.take(rows)
        sensitive = np.empty((len(policy.diverse), len(rows)), np.int64)
        for s, attribute in enumerate(policy.diverse):
            if attribute.name == self._attribute.name:
                values = [self._values[row] for row in rows.tolist()]
                sensitive[s] = criterion_keys(attribute, values, ordered=False)[0]
            else:
                sensitive[s] = part.sensitive[self._places[attribute.name]]
        draws = np.random.default_rng(_SEED)
        engine, closer = Engine(policy, draws=draws), Closer(policy)
        for source in np.unique(part.sources).tolist():
            engine.open(source, 0)
        windows = [*engine.add(replace(part, sensitive=sensitive), 0.0), engine.seal(0.0)]
        releases = [closer.release(window, draws) for window in windows if window is not None]
        return sum((1.0 if one.gcp is None else one.gcp) * len(one.class_of_row) for one in releases)


def deal_whole(people: Mapping[str | None, int], least: int, k: int) -> list[Family]:
    """Return families of values that follow each other by frequency, of the least loss to expect; O(v least) steps.

    There are as many as there can be of at least `least` values each.

    Parameters
    ----------
    people
        How many people have each value; at least `least` values.
    k
        Least number of people of a class.
    """
    values = sorted(people, key=lambda value: (-people[value], missing_last(value)))
    count, extra = divmod(len(values), least)

    def ways(family: int, after: int, losses: Sequence[float]) -> Iterator[tuple[float, int]]:
        """Yield the loss so far, and how many values more than they must have the families before have."""
        end = (family + 1) * least + after
        for before in range(after + 1):
            own = [people[value] for value in values[family * least + before : end]]
            yield losses[before] + _expected(own, k), before

    losses = [0.0] + [inf] * extra
    came: list[list[int]] = []
    for family in range(count):
        best = [min(ways(family, after, losses)) for after in range(extra + 1)]
        losses = [loss for loss, _ in best]
        came.append([before for _, before in best])
    return cut_by(values, came, least)


def cut_by(values: Sequence[str | None], came: Sequence[Sequence[int]], least: int) -> list[Family]:
    """Return the families that the best way through a search cuts values into.

    Parameters
    ----------
    values
        In order; those of a family follow each other.
    came
        By family, and by how many values more than `least` each the families up to it have: how many more those
        before it have, where that is best.
    """
    ends, more = [len(values)], len(values) - least * len(came)
    for family in range(len(came) - 1, -1, -1):
        more = came[family][more]
        ends.append(family * least + more)
    return [tuple(values[first:last]) for first, last in pairwise(reversed(ends))]


def _expected(people: Sequence[int], k: int) -> float:
    """Return the loss to expect of people with these values, up to a factor: by the people of their classes.

    A class has so many that few values would be missing by chance, and there is one at most for each person with
    the rarest value.
    """
    total = sum(people)
    size = max(k, total / max(min(people), 1))
    while size < total and sum((1 - own / total) ** size for own in people) > _MISSING:
        size *= 1.1
    return float(total * (min(size, total) / max(total, 1)) ** _LAW)


def improved(
    families: Sequence[Family], least: int, loss: Callable[[Family], float], most: int = MOST_MEASURED
) -> list[Family]:
    """Return families after values have moved, or changed places, as long as that loses less.

    Of any two families the best such change is made. Once `most` families were measured, no more are.

    Parameters
    ----------
    least
        Least number of values of a family.
    loss
        Of the people of a family.
    """
    found = list(families)
    lost = list(map(loss, found))
    measured, changed = len(found), True
    while changed and measured < most:
        changed = False
        for a, b in combinations(range(len(found)), 2):
            if measured >= most:
                break
            ways = [(loss(one), loss(two), one, two) for one, two in _changes(found[a], found[b], least)]
            measured += 2 * len(ways)
            best = min(ways, key=lambda way: way[0] + way[1], default=None)
            if best is not None and best[0] + best[1] < lost[a] + lost[b] - _LEAST_GAIN:
                lost[a], lost[b], found[a], found[b] = best
                changed = True
    return found


def _changes(a: Family, b: Family, least: int) -> Iterator[tuple[Family, Family]]:
    """Yield what two families become when a value moves from one to the other, or two change places."""
    for one in a:
        rest = tuple(value for value in a if value != one)
        if len(rest) >= least:
            yield rest, (*b, one)
        for other in b:
            yield (*rest, other), (*(value for value in b if value != other), one)
    for other in b:
        left = tuple(value for value in b if value != other)
        if len(left) >= least:
            yield (*a, other), left
