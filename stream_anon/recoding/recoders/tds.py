"""Top-down specialization for classification (Fung, Wang, Yu, ICDE 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.measures.grouping import dense, people
from stream_anon.measures.information import entropy
from stream_anon.recoding.recoders.recoder import Recoding, RecodingGoal, Step, Table


@dataclass(frozen=True)
class Tds:
    """Begin with all values at their roots, and specialize the best node of a cut while k holds.

    The best node has the highest InfoGain / (AnonyLoss + 1): how much better its children tell the classes apart,
    and by how many individuals the smallest group shrinks. Nodes whose rows are all of one class stay. Each
    attribute ends with a cut through its hierarchy: values of one attribute may lie on different levels. Ties go to
    the first attribute of the policy, then to the node of the lowest codes. Nothing is suppressed.

    Parameters
    ----------
    target
        The attribute whose values are the classes.
    """

    target: str
    across_groups: ClassVar[bool] = False

    def recode(self, table: Table, asked: RecodingGoal) -> Recoding:
        """Return the table on the cuts; all rows are suppressed where the whole table is too small a group."""
        if table.labels is None:
            raise SettingsError("method.target", "must name an attribute with role: sensitive or insensitive")
        cut = _Cut(table, asked, dense(table.labels)[0])
        steps = []
        while (best := cut.best()) is not None:
            steps.append(cut.specialize(best))
        low, high = cut.bounds()
        groups, count = table.grouped(low, high)
        suppressed = asked.short(table, groups, count)[groups]
        told = {own.name: len(cut.of(place)) for place, own in enumerate(table.levels)}
        figures = {"nodes in the cut": told, "groups": count, "suppressed": int(suppressed.sum())}
        return Recoding(low, high, suppressed, (*steps, Step("answer", figures)))


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A node of a cut, with its children where it may be specialized.

    Parameters
    ----------
    attribute, level, number
        Which it is in the levels of its attribute.
    rows
        int64, the rows under it.
    children
        int64, the child of each of these rows, dense.
    below
        The level of the children.
    gain
        InfoGain of putting them in its place.
    """

    attribute: int
    level: int
    number: int
    rows: NDArray[np.int64]
    children: NDArray[np.int64]
    below: int
    gain: float


class _Cut:
    """A cut through each hierarchy, and the groups that it makes."""

    def __init__(self, table: Table, asked: RecodingGoal, labels: NDArray[np.int64]) -> None:
        self._table, self._asked, self._labels = table, asked, labels
        self._groups = np.zeros(len(table), np.int64)
        self._count = 1
        self._level = np.array([[own.height] * len(table) for own in table.levels], np.int64)  # of each cell
        every = np.arange(len(table))
        nodes = [self._node(place, own.height, every) for place, own in enumerate(table.levels)]
        self._open = [node for node in nodes if node.gain >= 0]

    def best(self) -> tuple[_Node, int] | None:
        """Return the node to specialize and the smallest group after it; None where none may be."""
        smallest = int(self._sizes(self._groups, self._count).min())
        best, found = -1.0, None
        still = []
        for node in self._open:
            # Groups only shrink: what would break k now would later too.
            least = self._least_after(node)
            if least is None:
                continue
            still.append(node)
            score = node.gain / (max(smallest - least, 0) + 1)
            if score > best:
                best, found = score, (node, least)
        self._open = still
        return found

    def specialize(self, chosen: tuple[_Node, int]) -> Step:
        """Put the children of a node in its place."""
        node, least = chosen
        self._groups, self._count = self._split(node)
        place = next(i for i, own in enumerate(self._open) if own is node)
        parts = [node.rows[node.children == child] for child in range(int(node.children.max()) + 1)]
        self._open[place : place + 1] = [
            child for rows in parts if (child := self._node(node.attribute, node.below, rows)).gain >= 0
        ]
        own = self._table.levels[node.attribute]
        figures = {
            "level": own.numbers[node.level],
            "node": node.number + 1,
            "of": own.sizes[node.level],
            "into": len(parts),
            "information gain": node.gain,
            "smallest group": least,
        }
        return Step(f"specialized {own.name}", figures)

    def bounds(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return what is published of each cell."""
        return self._table.bounds(self._level)

    def of(self, attribute: int) -> set[tuple[int, int]]:
        """Return the nodes of one attribute's cut that rows lie under."""
        own = self._table.levels[attribute]
        numbers = own.nodes[self._level[attribute], self._table.places[attribute]]
        return set(zip(self._level[attribute].tolist(), numbers.tolist(), strict=True))

    def _node(self, attribute: int, level: int, rows: NDArray[np.int64]) -> _Node:
        """Publish rows as a node of a level, or as the lowest one that holds all of them; return it.

        Its gain is negative where it has no children, or all its rows are of one class.
        """
        own = self._table.levels[attribute]
        places = self._table.places[attribute, rows]
        below, children, count = level, np.zeros(len(rows), np.int64), 1
        while below and count == 1:
            level, below = below, below - 1
            children, count = dense(own.nodes[below, places])
        if count == 1:  # one value
            level = 0
        self._level[attribute, rows] = level
        labels = self._labels[rows]
        one_class = (labels == labels[0]).all()
        gain = -1.0 if count == 1 or one_class else _gain(labels, children, count)
        number = int(own.nodes[level, places[0]])
        return _Node(attribute, level, number, rows, children, below, round(gain, 12))

    def _split(self, node: _Node) -> tuple[NDArray[np.int64], int]:
        child = np.zeros(len(self._table), np.int64)
        child[node.rows] = node.children
        return dense(self._groups * (int(node.children.max()) + 1) + child)

    def _least_after(self, node: _Node) -> int | None:
        """Return the smallest group after a node was specialized, None if that falls short."""
        if node.gain < 0:
            return None
        groups, count = self._split(node)
        if self._asked.short(self._table, groups, count).any():
            return None
        return int(self._sizes(groups, count).min())

    def _sizes(self, groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        return people(groups, count, self._table.individuals)


def _gain(labels: NDArray[np.int64], children: NDArray[np.int64], count: int) -> float:
    """Return by how many bits the mean entropy of classes within children is below that of all."""
    parts = (labels[children == child] for child in range(count))
    within = sum(len(part) / len(labels) * entropy(np.bincount(part)) for part in parts)
    return max(0.0, entropy(np.bincount(labels)) - within)
