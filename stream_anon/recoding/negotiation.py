"""Negotiate levels: the exact answer to a request, or three ways in which it would have one.

Pilalidou and Vassiliadis, "Anonymization negotiations" (SSDBM 2012). Ties are settled by the least height, then
the least suppression, then the lexicographically smallest levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.recoding.lattice.lattice import Lattice

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.

    Parameters
    ----------
    k
        Least individuals in a group; 1 asks for none.
    limits
        Highest level per attribute, levels of the lattice.
    most_suppressed
        Records that may be suppressed.
    l
        Least distinct sensitive values in a group; 1 asks for none.
    """

    k: int
    limits: Vector
    most_suppressed: int
    l: int = 1  # noqa: E741 - the letter of the paper

    def __post_init__(self) -> None:
        if self.k < 1 or self.l < 1 or self.most_suppressed < 0:
            raise ValueError("k and l must be at least 1, and what may be suppressed at least 0")


@dataclass(frozen=True, slots=True)
class Scheme:
    """Levels, and the records that they suppress."""

    levels: Vector
    suppressed: int


@dataclass(frozen=True, slots=True)
class Weaker:
    """Criteria below those that were asked for, and the records that the limits suppress under them."""

    k: int
    l: int  # noqa: E741
    suppressed: int


@dataclass(frozen=True, slots=True)
class Relaxations:
    """The nearest requests that have an answer.

    Parameters
    ----------
    suppression
        The least suppression that the limits allow, on the lowest node that has it.
    height
        The least height on which any node of the whole lattice meets criteria and suppression; of these the least
        suppression. None where not even the top does.
    privacy
        The largest k that the limits allow at the l that was asked for, else the largest l at which there is a k.
        None where it would be below 2.
    """

    suppression: Scheme
    height: Scheme | None
    privacy: Weaker | None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: exact, or how the request might be relaxed.

    Parameters
    ----------
    visited
        Nodes whose histogram was looked at, each time counted.
    """

    exact: Scheme | None
    relaxations: Relaxations | None
    visited: int

    @property
    def within_limits(self) -> Scheme:
        """Return the best levels within the limits: the exact ones, else those of the least suppression."""
        if self.exact is not None:
            return self.exact
        if self.relaxations is None:
            raise ValueError("an answer has exact levels or relaxations")
        return self.relaxations.suppression


def negotiate(lattice: Lattice, request: Request) -> Answer:
    """Answer a request; O(nodes below the limits) at most, a vector operation a height.

    Raises
    ------
    SettingsError
        If no levels can answer: k is above the number of individuals, or l above the number of sensitive values.
    ValueError
        If the limits are no node of the lattice.
    """
    limit = lattice.shape.number(request.limits)
    if request.k > lattice.individuals:
        raise SettingsError("k", f"has no answer: it is above the number of individuals, {lattice.individuals}")
    if request.l > max(lattice.values, 1):
        raise SettingsError("l", f"has no answer: it is above the number of sensitive values, {lattice.values}")
    search = _Search(lattice, request.k, request.l)
    own = search.suppressed(np.array([limit]))
    if own[0] <= request.most_suppressed:
        return Answer(search.lowest(limit, int(own[0]), request.most_suppressed), None, search.visited)
    relaxations = Relaxations(
        search.lowest(limit, int(own[0]), int(own[0])),
        search.anywhere(request.most_suppressed),
        search.weaker(limit, request.most_suppressed),
    )
    return Answer(None, relaxations, search.visited)


class _Search:
    """Look at nodes and count them."""

    def __init__(self, lattice: Lattice, k: int, l: int) -> None:  # noqa: E741
        self._lattice = lattice
        self._shape = lattice.shape
        self._k, self._l = k, l
        self.visited = 0

    def suppressed(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        self.visited += len(nodes)
        return self._lattice.suppressed(nodes, self._k, self._l)

    def lowest(self, limit: int, suppressed: int, most: int) -> Scheme:
        """Return the best node not above `limit`, which suppresses that much and at most `most`.

        Suppression never grows on the way up: every node that satisfies is reached from the limit through nodes
        that do.
        """
        nodes, found = np.array([limit]), np.array([suppressed])
        while True:
            lower = self._shape.below(nodes)
            below = self.suppressed(lower)
            satisfying = below <= most
            if not satisfying.any():
                return self._best(nodes, found)
            nodes, found = lower[satisfying], below[satisfying]

    def anywhere(self, most: int) -> Scheme | None:
        """Return the best node of the least height on which one satisfies, by binary search over the heights."""
        best = None
        low, high = 0, self._shape.top + 1
        while low < high:
            middle = (low + high) // 2
            nodes = self._shape.at_height(middle)
            found = self.suppressed(nodes)
            if (found <= most).any():
                best, high = self._best(nodes, found), middle
            else:
                low = middle + 1
        return best

    def weaker(self, limit: int, most: int) -> Weaker | None:
        """Return the strongest criteria that a node meets; see `Relaxations`."""
        for l in range(self._l, 1 if self._l > 1 else 0, -1):  # noqa: E741
            k, suppressed = self._largest(limit, l, most)
            if k >= min(self._k, 2):
                return Weaker(k, l, suppressed)
        return None

    def _largest(self, limit: int, l: int, most: int) -> tuple[int, int]:  # noqa: E741
        """Return the largest k up to that asked for which a node meets, 0 for none, and what it suppresses then."""
        low, high = 0, self._k
        best = 0
        while low < high:
            middle = (low + high + 1) // 2
            suppressed = self._lattice.histograms.suppressed_at(limit, middle, l)
            if suppressed <= most:
                low, best = middle, suppressed
            else:
                high = middle - 1
        return low, best

    def _best(self, nodes: NDArray[np.int64], found: NDArray[np.int64]) -> Scheme:
        """Return the node of the least suppression, the first of them; `nodes` ascend and are of one height."""
        place = int(np.argmin(found))
        return Scheme(self._shape.levels(int(nodes[place])), int(found[place]))
