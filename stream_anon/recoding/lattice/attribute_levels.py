"""The levels of one attribute: which node each of the table's values becomes, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.quasi_identifier import QuasiIdentifier


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
    low, high
        int32[h + 1, c], the bounds of what is published for each code on every level.
    """

    name: str
    codes: NDArray[np.int32]
    nodes: NDArray[np.int32]
    numbers: tuple[int, ...]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

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
        return replace(
            self,
            nodes=self.nodes[kept],
            numbers=tuple(self.numbers[level] for level in kept),
            low=self.low[kept],
            high=self.high[kept],
        )


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
    bounds = attribute.nodes_at(present, 0)
    rows, numbers, published = [_numbered(present, bounds, attribute)], [0], [bounds]
    for number in range(1, attribute.domain.height):
        bounds = attribute.nodes_at(present, number)
        row = _numbered(present, bounds, attribute)
        if row[-1] != rows[-1][-1]:  # coarser levels of as many groups have the same groups
            rows.append(row)
            numbers.append(number)
            published.append(bounds)
    rows.append(np.zeros(len(present), np.int32))
    numbers.append(attribute.domain.height)
    published.append(np.tile(_root(attribute, present), (len(present), 1)))
    low, high = np.stack(published).transpose(2, 0, 1).astype(np.int32)
    low[:, present == attribute.unknown_code] = 0  # what is unknown is published as the root on every level
    return AttributeLevels(attribute.name, present, np.stack(rows), tuple(numbers), low, high)


def _root(attribute: QuasiIdentifier, present: NDArray[np.int32]) -> tuple[int, int]:
    """Return the bounds of the root: a domain's own top where all values that occur lie under it."""
    if present[-1] >= attribute.missing_code:
        return 0, attribute.unknown_code
    return attribute.node(0, attribute.domain.size - 1)


def _numbered(codes: NDArray[np.int32], bounds: NDArray[np.int64], attribute: QuasiIdentifier) -> NDArray[np.int32]:
    """Return the numbers of nodes int64[c, 2] in the order of their codes; nodes of one level do not overlap."""
    # Of an unknown value the root is published, while no known one has become it: a group of its own.
    starts = np.where(codes < attribute.missing_code, bounds[:, 0], codes)
    return np.concatenate([[0], np.cumsum(np.diff(starts) != 0)]).astype(np.int32)


def by_name(levels: Sequence[AttributeLevels], vector: Sequence[int]) -> Mapping[str, int]:
    """Return a vector of levels as levels of the hierarchies, by attribute."""
    return {own.name: own.numbers[level] for own, level in zip(levels, vector, strict=True)}
