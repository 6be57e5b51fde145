"""The levels of one attribute: which node each of the table's values becomes, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import Publication, QuasiIdentifier
from stream_anon.microdata.domains.numbers import NumericDomain


@dataclass(frozen=True, slots=True, eq=False)
class AttributeLevels:
    """The levels of one quasi-identifier over the values that a table holds.

    Parameters
    ----------
    name
        The attribute.
    codes
        int32[c], the codes that occur, ascending.
    nodes
        int32[h + 1, c], the number of each code's node on every level. The nodes of a level are numbered from 0 in
        the order of their codes; the last level has one node, the root.
    numbers
        For each row of `nodes` the level of the hierarchy that it is.
    """

    name: str
    codes: NDArray[np.int32]
    nodes: NDArray[np.int32]
    numbers: tuple[int, ...]

    @property
    def height(self) -> int:
        """Return the number of levels above the first."""
        return len(self.numbers) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of nodes on each level."""
        return tuple((self.nodes[:, -1] + 1).tolist())

    def places(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the place of each code in `codes`; ValueError if one is none of them."""
        places: NDArray[np.int64] = np.searchsorted(self.codes, codes)
        if len(codes) and (places.max() >= len(self.codes) or (self.codes[places] != codes).any()):
            raise ValueError(f"{self.name}: a value has no place in these levels, which were made without it")
        return places

    def step(self, level: int) -> NDArray[np.int64]:
        """Return the node above each node of the level below `level`; int64[nodes of that level]."""
        _, first = np.unique(self.nodes[level - 1], return_index=True)
        above: NDArray[np.int64] = self.nodes[level, first].astype(np.int64)
        return above

    def at_most(self, number: int) -> int:
        """Return the highest of these levels that is no higher than level `number` of the hierarchy."""
        return max(level for level, own in enumerate(self.numbers) if own <= number or level == 0)

    def chosen(self, levels: Sequence[int]) -> AttributeLevels:
        """Return only these levels, ascending; at least one."""
        kept = sorted(set(levels))
        return replace(self, nodes=self.nodes[kept], numbers=tuple(self.numbers[level] for level in kept))


def levels_of(attribute: QuasiIdentifier, codes: NDArray[np.int32]) -> AttributeLevels:
    """Return the levels of an attribute over the codes that occur; O(nodes above them x height).

    Level 0 is the value, the last one the root. Levels below the root that part the values alike are one, the
    finest of them. Short branches are padded at the leaf's end, as in Aggarwal et al. (2005). A missing value is a
    leaf right under the root, an unknown one the root on every level. What is published tight or as a set is
    recoded by the nodes of its hierarchy.

    Parameters
    ----------
    codes
        int32[n], at least one.
    """
    present = np.unique(codes).astype(np.int32)
    ladder = _Ladder(_by_nodes(attribute))
    bounds = np.stack([present, present], axis=1).astype(np.int64)
    bounds = ladder.climbed(bounds, 0)
    rows, numbers = [_numbered(present, bounds, attribute)], [0]
    for number in range(1, attribute.domain.height):
        bounds = ladder.climbed(bounds, number)
        row = _numbered(present, bounds, attribute)
        if row[-1] != rows[-1][-1]:  # coarser levels of as many groups have the same groups
            rows.append(row)
            numbers.append(number)
    rows.append(np.zeros(len(present), np.int32))
    numbers.append(attribute.domain.height)
    return AttributeLevels(attribute.name, present, np.stack(rows), tuple(numbers))


def _by_nodes(attribute: QuasiIdentifier) -> QuasiIdentifier:
    """Return an attribute that publishes the nodes of its hierarchy."""
    domain = attribute.domain
    if isinstance(domain, NumericDomain) and domain.tight:
        domain = replace(domain, tight=False)
    return replace(attribute, domain=domain, publication=Publication.NODES)


class _Ladder:
    """Climb an attribute's nodes; each node's way up is looked for once."""

    def __init__(self, attribute: QuasiIdentifier) -> None:
        self._attribute = attribute
        self._above: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}

    def climbed(self, bounds: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """Return for each node int64[c, 2] the highest one around it that is not above `level`."""
        unique, inverse = np.unique(bounds, axis=0, return_inverse=True)
        wider = [self._climb((low, high), level) for low, high in unique.tolist()]
        return np.array(wider, np.int64).reshape(-1, 2)[inverse.ravel()]

    def _climb(self, node: tuple[int, int], level: int) -> tuple[int, int]:
        attribute = self._attribute
        if node[0] == node[1] >= attribute.missing_code:
            return node  # under the root there is nothing above it
        if node[0] == node[1]:
            node = attribute.node(*node)
        while True:
            if node not in self._above:
                above = attribute.above(*node)
                self._above[node] = above, attribute.level(*above)
            above, height = self._above[node]
            if above == node or height > level:
                return node
            node = above


def _numbered(codes: NDArray[np.int32], bounds: NDArray[np.int64], attribute: QuasiIdentifier) -> NDArray[np.int32]:
    """Return the numbers of nodes int64[c, 2] in the order of their codes; nodes of one level do not overlap."""
    # Of an unknown value the root is published, while no known one has become it: a group of its own.
    starts = np.where(codes < attribute.missing_code, bounds[:, 0], codes)
    return np.concatenate([[0], np.cumsum(np.diff(starts) != 0)]).astype(np.int32)


def by_name(levels: Sequence[AttributeLevels], vector: Sequence[int]) -> Mapping[str, int]:
    """Return a vector of levels as levels of the hierarchies, by attribute."""
    return {own.name: own.numbers[level] for own, level in zip(levels, vector, strict=True)}
