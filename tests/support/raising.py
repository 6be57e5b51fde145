"""RAISE in plain Python, on sets of people and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Bounds = tuple[tuple[int, int], ...]  # of each attribute of a shield
Cost = Callable[[Bounds], float]


@dataclass(eq=False)
class Group:
    """Classes that are published alike by a shield's attributes: bounds, records, people, and numbers of groups."""

    bounds: Bounds
    records: int
    people: set[int]
    cell: object = None
    members: list[int] = field(default_factory=list)


def _hull(a: Group, b: Group) -> Bounds:
    return tuple((min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(a.bounds, b.bounds, strict=True))


def joined(groups: Sequence[Group], cost: Cost, k: int, width: int, patience: int) -> list[Group]:
    """Return the groups after joining those of fewer than k people, round by round, cheapest first."""

    def growth(a: Group, b: Group) -> float:
        union = cost(_hull(a, b)) * (a.records + b.records)
        return (union - (cost(a.bounds) * a.records + cost(b.bounds) * b.records)) / a.records

    line = list(groups)
    rounds = 0
    while True:
        wishes: list[tuple[float, int, Group, Group]] = []
        for place, group in enumerate(line):
            near = [other for other in line[max(0, place - width) : place + width + 1] if other is not group]
            offers = [(growth(group, other), at) for at, other in enumerate(near) if other.cell == group.cell]
            if len(group.people) < k and offers:
                least, at = min(offers)
                wishes.append((least, place, group, near[at]))
        if not wishes:
            return line
        now: dict[int, Group] = {}  # what a group has become in this round

        def found(group: Group, now: dict[int, Group] = now) -> Group:
            while id(group) in now and now[id(group)] is not group:
                group = now[id(group)]
            return group

        touched: set[int] = set()
        for least, _, group, mate in sorted(wishes, key=lambda wish: wish[:2]):
            other = found(mate)
            if id(group) in touched or found(group) is not group:
                continue
            if id(other) in touched and rounds < patience and growth(group, other) > least:
                continue
            first, second = sorted((group, other), key=lambda one: min(one.members))
            first.bounds = _hull(first, second)
            first.records += second.records
            first.people = first.people | second.people
            first.members = first.members + second.members
            now[id(second)] = first
            touched.add(id(first))
        line = [group for group in line if found(group) is group]
        rounds += 1
