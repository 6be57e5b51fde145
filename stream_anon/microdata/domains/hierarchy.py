"""Generalization hierarchies over categories.

Leaves are numbered in depth-first order, so that a node is an interval of codes and the lowest common
ancestor of a set of codes is that of its minimum and its maximum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import HierarchyError

ROOT_LABEL = "*"

MOST_LEVELS = 64

Tree = Mapping[str, "Tree | Sequence[str] | None"] | Sequence[str] | None


def label_text(given: object, key: str) -> str:
    """Return a label of settings as the text that JSON values are compared with; `HierarchyError` for no label."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str | int):
        return str(given)
    raise HierarchyError(key, "labels must be text, whole numbers or truth values")


def _path(raw: Sequence[str], key: str, where: str) -> list[str]:
    """Return a row's labels without the repeated ones that pad it."""
    path = [label for i, label in enumerate(raw) if i == 0 or label != raw[i - 1]]
    if not path or any(label == "" for label in path):
        raise HierarchyError(key, f"{where} holds an empty label")
    if len(path) > MOST_LEVELS:
        raise HierarchyError(key, f"{where}: more than {MOST_LEVELS} levels")
    if len(set(path)) < len(path):
        raise HierarchyError(key, f"{where}: a label lies above itself (a cycle)")
    return path


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree of labels over leaves, ragged or not.

    Parameters
    ----------
    labels
        Label of each node; node 0 is the root, every node stands after its parent.
    parents
        Parent of each node; -1 for the root.
    first, last
        The interval of leaf codes under each node, both ends included.

    Notes
    -----
    `leaves[c]` is the node of leaf code `c`. The level of a node is `height - depth`: short branches are
    padded at the leaf's end, as in Aggarwal et al. (2005), so a leaf high up also counts as level 0
    when it is published alone.
    """

    labels: tuple[str, ...]
    parents: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    depths: NDArray[np.int32]
    leaves: NDArray[np.int32]
    code_of: Mapping[str, int] = field(repr=False)
    node_of: Mapping[str, int] = field(repr=False)

    @property
    def size(self) -> int:
        """Return the number of leaves."""
        return len(self.leaves)

    @property
    def height(self) -> int:
        """Return the number of levels above the deepest leaf."""
        return int(self.depths.max())

    def lowest_common_ancestor(self, low: int, high: int) -> int:
        """Return the deepest node over the leaves `low` and `high`; O(depth)."""
        node = int(self.leaves[low])
        while self.last[node] < high:
            node = int(self.parents[node])
        return node

    def level(self, node: int) -> int:
        """Return how far `node` lies above the leaves; 0 for a leaf, `height` for the root."""
        if self.first[node] == self.last[node] and node == self.leaves[self.first[node]]:
            return 0
        return self.height - int(self.depths[node])

    def fingerprint(self, level: int) -> tuple[str, int]:
        """Return a hash of how a level groups the leaves, and the number of groups; O(leaves x depth).

        Neither the order of leaves and groups nor the groups' labels count: equal hashes mean equal groups.
        """
        groups: dict[int, list[str]] = {}
        for label, code in self.code_of.items():
            node = int(self.leaves[code])
            while level and self.depths[node] > self.height - level:
                node = int(self.parents[node])
            groups.setdefault(node, []).append(label)
        text = json.dumps(sorted(sorted(group) for group in groups.values()))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest(), len(groups)

    @classmethod
    def from_rows(
        cls, rows: Iterable[Sequence[str]], key: str = "hierarchy", lines: Sequence[int] | None = None
    ) -> Hierarchy:
        """Build from rows that run from leaf to root, as ARX writes them; rows may differ in length.

        Labels that repeat in neighbouring columns are one node: that is how tables pad short branches.

        Parameters
        ----------
        lines
            The line of each row where they come from a file; then errors name lines and quote no label: it may be
            another file than was meant. Labels of a settings file are its author's own words.

        Raises
        ------
        HierarchyError
            For a leaf that stands twice, a node under two parents, a cycle, several roots, a label that is
            both leaf and group, more than 64 levels, or no rows at all.
        """
        tree: dict[str, dict[str, dict]] = {}  # type: ignore[type-arg]
        parent_of: dict[str, str | None] = {}
        leaves: set[str] = set()
        where: dict[str, str] = {}  # the first row of each label

        def named(label: str) -> str:
            return repr(label) if lines is None else f"a label of {where[label]}"

        for number, raw in enumerate(rows, start=1):
            row = f"row {number}" if lines is None else f"line {lines[number - 1]}"
            path = _path(raw, key, row)
            leaf = path[0]
            if leaf in leaves:
                which = repr(leaf) if lines is None else "of this row"
                raise HierarchyError(key, f"{row}: the leaf {which} stands twice")
            leaves.add(leaf)
            for child, parent in zip(path, [*path[1:], None], strict=True):
                if parent_of.setdefault(child, parent) != parent:
                    which = repr(child) if lines is None else "a label"
                    raise HierarchyError(key, f"{row}: {which} lies under two parents")
            branch = tree
            for label in reversed(path):
                where.setdefault(label, row)
                branch = branch.setdefault(label, {})
        if len(tree) != 1:
            names = ", ".join(map(named, list(tree)[:5]))
            raise HierarchyError(key, f"one root is needed, found {len(tree)}: {names}")
        inner = {parent for parent in parent_of.values() if parent is not None}
        both = sorted(leaves & inner)
        if both:
            raise HierarchyError(key, f"{named(both[0])} is both a leaf and a group")
        ((root, children),) = tree.items()
        return cls._from_branches(root, children, key)

    @classmethod
    def from_tree(cls, tree: Tree, key: str = "hierarchy") -> Hierarchy:
        """Build from nested mappings whose innermost values are lists of leaves, or nothing for a leaf.

        The outermost mapping or list lies under the root, whose label is `*`; a single key `*` is the root.
        """
        if isinstance(tree, Mapping) and len(tree) == 1 and ROOT_LABEL in tree:
            tree = tree[ROOT_LABEL]
        rows: list[list[str]] = []

        def walk(branch: Tree, above: list[str]) -> None:
            if len(above) > MOST_LEVELS:
                raise HierarchyError(key, f"more than {MOST_LEVELS} levels")
            if isinstance(branch, Mapping):
                for name, below in branch.items():
                    path = [*above, label_text(name, key)]
                    walk(below, path) if below else rows.append(path)
            elif isinstance(branch, Sequence) and not isinstance(branch, str):
                for item in branch:
                    if isinstance(item, Mapping):
                        walk(item, above)
                    else:
                        rows.append([*above, label_text(item, key)])
            else:
                raise HierarchyError(key, "groups are mappings, leaves are list items")

        walk(tree, [ROOT_LABEL])
        return cls.from_rows((row[::-1] for row in rows), key)

    @classmethod
    def flat(cls, values: Iterable[str], key: str = "values") -> Hierarchy:
        """Build a hierarchy of one level: a value is kept or suppressed, nothing between."""
        return cls.from_rows(([str(value), ROOT_LABEL] for value in values), key)

    @classmethod
    def _from_branches(cls, root: str, children: Mapping[str, Mapping], key: str) -> Hierarchy:  # type: ignore[type-arg]
        labels: list[str] = []
        parents: list[int] = []
        depths: list[int] = []
        first: list[int] = []
        last: list[int] = []
        leaves: list[int] = []

        def walk(label: str, below: Mapping, parent: int, depth: int) -> None:  # type: ignore[type-arg]
            node = len(labels)
            labels.append(label)
            parents.append(parent)
            depths.append(depth)
            first.append(len(leaves))
            last.append(0)
            if not below:
                leaves.append(node)
            for child, branch in below.items():
                walk(child, branch, node, depth + 1)
            last[node] = len(leaves) - 1

        walk(root, children, -1, 0)
        if len(leaves) == 1 and len(labels) == 1:
            raise HierarchyError(key, "a hierarchy needs a root above its leaves")
        if ROOT_LABEL in labels[1:]:
            raise HierarchyError(key, f"the label {ROOT_LABEL!r} is kept for the root")
        return cls(
            labels=tuple(labels),
            parents=np.array(parents, np.int32),
            first=np.array(first, np.int32),
            last=np.array(last, np.int32),
            depths=np.array(depths, np.int32),
            leaves=np.array(leaves, np.int32),
            code_of={labels[node]: code for code, node in enumerate(leaves)},
            node_of={label: node for node, label in enumerate(labels)},
        )
