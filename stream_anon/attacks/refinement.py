"""Refine what a class publishes by knowing that it publishes the least that covers its records.

Combinatorial refinement (Chhillar, Righi, Sutter, Kornaropoulos: arXiv 2509.03350) needs no auxiliary data. Who
knows how a release is made writes down what the unknown counts of values in each class must satisfy, and solves a
linear program for the least and the greatest count of each value. Of classes of this project an attacker knows
this, with x[c, v] >= 0 for how many records of class c have value v of an attribute:

- the sum of x[c, v] over the values v that c publishes is its number of records;
- of a set (`publish: values`), x[c, v] >= 1 for each member;
- of a range whose ends are values that occur (`tight`, `order`), x[c, v] >= 1 for both ends;
- of a node, the sum of x[c, v] over each of its children is less than the number of records, else the child had
  been published; of a node of `min_level` nothing.

No constraint binds two classes or two attributes, so the program falls apart, and its optimum is known without
solving it: a value occurs for certain if it is a member, an end, or one of two children only. Its least count is 1,
that of all others 0. No published value is excluded where a class has more records than values that occur for
certain. Totals of values over all classes, from elsewhere, would bind classes; this attacker has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from stream_anon.attacks.attack_result import AttackResult
from stream_anon.attacks.knowledge import AttackScene, HeldRelease, Known
from stream_anon.microdata.attributes import PublishedForm
from stream_anon.microdata.quasi_identifier import QuasiIdentifier


def certain_codes(attribute: QuasiIdentifier, low: int, high: int, members: tuple[int, ...]) -> tuple[int, ...]:
    """Return the codes that at least one record of a class has, whatever else is true of it; O(height).

    Parameters
    ----------
    low, high
        The bounds that the class publishes, which are not equal.
    members
        The codes of the set that it publishes; empty where the bounds say it all.
    """
    if attribute.publication is PublishedForm.VALUES:
        return members
    if not attribute.publishes_nodes:
        return (low, high) if high < attribute.missing_code else ()
    if attribute.min_level and (low, high) == attribute.node_at(low, attribute.min_level):
        return ()
    below = list(islice(_children(attribute, low, high), 3))
    return tuple(first for first, last in below if first == last) if len(below) == 2 else ()


def _children(attribute: QuasiIdentifier, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield the greatest nodes below the one over `low` to `high`, in order."""
    start = low
    while start <= high:
        child = start, start
        while start < attribute.missing_code:
            above = attribute.above(*child)
            if above == child or (above[0] <= low and high <= above[1]):
                break
            child = above
        yield child
        start = child[1] + 1


def refine(
    scene: AttackScene, targets: Known, controls: Known, attribute: QuasiIdentifier, place: int
) -> AttackResult:
    """Count how often a value of a class that is certain to occur is the one of somebody whom the class fits.

    Attacked are people whom classes fit that publish more than one value of the attribute. Guessed is one of the
    values that occur for certain, else one of those that the class publishes, each with the same chance; of several
    classes one is taken, larger ones more often. What is frequent anyway is as frequent among the people whom the
    same classes fit and who are not in the release.

    `chance` is that of any published value, and `surest` the greatest share of a class that is known to have the
    value guessed. O(c q) a person where nobody else has sought their classes.

    Parameters
    ----------
    place
        Of the attribute among the quasi-identifiers.
    """
    refined = _RefinedClasses(scene.released, attribute, place)
    inside, outside = (refined.attempts(people) for people in (targets, controls))
    return AttackResult(
        "refinement",
        len(inside),
        float(inside[:, 0].sum()),
        attribute.name,
        chance=float(inside[:, 1].mean()) if len(inside) else None,
        control=(len(outside), float(outside[:, 0].sum())),
        surest=float(inside[:, 2].max()) if len(inside) else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _RefinedClasses:
    """What is certain of the classes of a release in one quasi-identifier."""

    released: HeldRelease
    attribute: QuasiIdentifier
    place: int

    def attempts(self, people: Known) -> NDArray[np.float64]:
        """Return for each attempt its chance, that of any published value, and the share that is certain."""
        boxes, place = self.released.boxes, self.place
        wide = boxes.low[place] < boxes.high[place]
        pairs = [
            (row, classes[wide[classes]])
            for row, (wrong, classes) in enumerate(self.released.nearest(people))
            if not wrong
        ]
        pairs = [(row, classes) for row, classes in pairs if len(classes)]
        used = np.unique(np.concatenate([np.empty(0, np.int64), *(classes for _, classes in pairs)]))
        certain = self._certain(used)
        sizes = np.array([len(codes) for codes in certain], np.int64)
        size = self.attribute.size
        keys = [number * size + code for number, codes in enumerate(certain) for code in codes]
        known = np.sort(np.array(keys, np.int64))
        widths, records = boxes.width(place, used), boxes.records[used]
        found = np.empty((len(pairs), 3))
        for number, (row, classes) in enumerate(pairs):
            at = np.searchsorted(used, classes)
            weights = records[at] / records[at].sum()
            own = np.isin(at * size + people.codes[place, row], known, assume_unique=True)
            any_value = 1 / widths[at]
            chances = np.where(sizes[at] > 0, own / np.maximum(sizes[at], 1), any_value)
            sure = np.where(sizes[at] > 0, 1 / records[at], 0.0)
            found[number] = weights @ chances, weights @ any_value, sure.max()
        return found

    def _certain(self, classes: NDArray[np.int64]) -> list[tuple[int, ...]]:
        boxes, sets = self.released.boxes, self.released.boxes.members.get(self.place)
        ends = zip(boxes.low[self.place, classes].tolist(), boxes.high[self.place, classes].tolist(), strict=True)
        known: dict[tuple[int, int, tuple[int, ...]], tuple[int, ...]] = {}
        found = []
        for (low, high), number in zip(ends, classes.tolist(), strict=True):
            key = low, high, sets[number] if sets is not None else ()
            if key not in known:
                known[key] = certain_codes(self.attribute, *key)
            found.append(known[key])
        return found
