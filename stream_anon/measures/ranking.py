"""Rank attributes and sets of them by what they leak, within a bound on work; say what the bound left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

Leak = Callable[[tuple[int, ...]], float]
"""The bits that a set of attributes leaks, by their places."""

TOLERANCE = 1e-9  # bits: the same sum in another order is another number


@dataclass(frozen=True, slots=True)
class Leaky:
    """A set of attributes.

    Parameters
    ----------
    attributes
        Their places, ascending.
    bits
        What they leak together, beyond what is disclosed.
    implied
        It was not measured: a part of the set leaks everything already, and so does the set.
    """

    attributes: tuple[int, ...]
    bits: float
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """Sets by size, within a size by what they leak, most first.

    Parameters
    ----------
    measured, implied
        Sets that were measured, and that were not because a part of theirs leaks everything.
    left
        Sets of the sizes asked for that were not looked at, because the bound on work was reached.
    """

    sets: tuple[Leaky, ...]
    measured: int
    implied: int
    left: int


def ranked(leak: Leak, attributes: Sequence[int], everything: float, largest: int, most: int) -> Ranking:
    """Return all sets of up to `largest` of the attributes, ranked.

    Sets are looked at by size, within a size those first whose attributes leak most alone. What a set leaks is
    never less than what a part of it leaks, so that nothing is measured above a set that leaks everything.

    Parameters
    ----------
    leak
        What is measured; it must not fall when a set grows.
    everything
        The most that can be leaked, in bits.
    most
        Sets that are looked at in all.
    """
    found: list[Leaky] = []
    full: list[frozenset[int]] = []
    alone: dict[int, float] = {}
    measured = implied = left = 0
    for size in range(1, min(largest, len(attributes)) + 1):
        level: list[Leaky] = []
        for chosen in islice(_by_promise(attributes, size, alone), most - measured - implied):
            if any(part <= set(chosen) for part in full):
                level.append(Leaky(chosen, everything, implied=True))
                implied += 1
            else:
                level.append(Leaky(chosen, leak(chosen)))
                measured += 1
        left += comb(len(attributes), size) - len(level)
        enough = everything - TOLERANCE
        full += [frozenset(each.attributes) for each in level if not each.implied and each.bits >= enough]
        if size == 1:
            alone = {each.attributes[0]: each.bits for each in level}
        found += sorted(level, key=lambda each: (-each.bits, each.attributes))
    return Ranking(tuple(found), measured, implied, left)


def _by_promise(attributes: Sequence[int], size: int, alone: dict[int, float]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of one size, the leakiest attributes first; lazily, for there may be many."""
    for chosen in combinations(sorted(attributes, key=lambda place: (-alone.get(place, 0.0), place)), size):
        yield tuple(sorted(chosen))
