"""The domain of categories under a generalization hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import ByLabel, Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema, category_text
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL, Hierarchy
from stream_anon.microdata.domains.walk import FIRSTS, FIRSTS_LEVEL, Digit, Walk

MOST_LABELS = 10_000  # labels that a JSON Schema lists; a larger hierarchy is any text


@dataclass(frozen=True)
class CategoricalDomain(Domain):
    """Categories under a hierarchy. NCP (Xu et al., KDD 2006): leaves under the node / leaves, 0 for one."""

    hierarchy: Hierarchy

    kind: ClassVar[str] = "categorical"

    @property
    def size(self) -> int:
        return self.hierarchy.size

    @property
    def height(self) -> int:
        return self.hierarchy.height

    def code(self, value: object) -> int:
        code = self.hierarchy.code_of.get(category_text(value))
        if code is None:
            raise Unfit(Reason.UNKNOWN_VALUE)
        return code

    def labels(self) -> Mapping[str, int]:
        return self.hierarchy.code_of

    def node(self, low: int, high: int) -> tuple[int, int]:
        tree = self.hierarchy
        node = tree.lowest_common_ancestor(low, high)
        return int(tree.first[node]), int(tree.last[node])

    def level(self, low: int, high: int) -> int:
        return self.hierarchy.level(self.hierarchy.lowest_common_ancestor(low, high))

    def publish(self, low: int, high: int) -> Published:
        node = self.hierarchy.lowest_common_ancestor(low, high)
        if node == 0:
            return ROOT_LABEL
        return self.hierarchy.labels[node]

    def read(self, published: object) -> tuple[int, int] | None:
        if not isinstance(published, str):
            return None
        node = 0 if published == ROOT_LABEL else self.hierarchy.node_of.get(published)
        if node is None:
            return None
        low, high = int(self.hierarchy.first[node]), int(self.hierarchy.last[node])
        # Of several nodes over the same leaves only the deepest is written, and the root only as "*".
        return (low, high) if self.publish(low, high) == published else None

    def outline(self) -> dict[str, Any]:
        """See `Domain`; a level is named by the hash of its groups' leaves, whatever the groups are called."""
        return {
            "kind": "categorical",
            "grid": {},
            "levels": [
                {"name": name, "groups": groups}
                for name, groups in map(self.hierarchy.fingerprint, range(self.height))
            ],
        }

    def longest(self) -> Sequence[Published]:
        return [ROOT_LABEL, *self.hierarchy.labels]

    def reading(self) -> Reading:
        return ByLabel(self.hierarchy.code_of)

    def walk(self) -> Walk:
        return Walk(FIRSTS, 1 / self.size, 1 / self.size, self._firsts())

    def level_walk(self) -> Walk:
        return Walk(FIRSTS_LEVEL, 1 / self.height, 0.0, self._firsts())

    def _firsts(self) -> NDArray[np.int32]:
        """Return for each level above the leaves, without the root, the first code of each code's node."""
        tree = self.hierarchy
        rows = []
        node = tree.leaves.copy()
        for level in range(1, tree.height):
            above = tree.parents[node]
            # A node at depth d lies at level height - d; short branches wait at their leaf.
            node = np.where(tree.height - tree.depths[node] < level, above, node)
            rows.append(tree.first[node])
        return np.concatenate(rows).astype(np.int32) if rows else np.empty(0, np.int32)

    def digits(self) -> Sequence[Digit]:
        """See `Domain`; a digit is a node's place among its siblings."""
        tree = self.hierarchy
        siblings: Counter[int] = Counter()
        rank = np.zeros(len(tree.labels), np.int32)
        for node, parent in enumerate(tree.parents.tolist()[1:], start=1):
            rank[node] = siblings[parent]
            siblings[parent] += 1
        found, node_of = [], tree.leaves
        for depth in range(tree.height, 0, -1):
            deep = tree.depths[node_of] == depth
            found.append(np.where(deep, rank[node_of], 0).astype(np.int32))
            node_of = np.where(deep, tree.parents[node_of], node_of)
        told = [digit for digit in reversed(found) if digit.any()] or found[:1]
        return [Digit(int(digit.max()) + 1, 0, digit) for digit in told]

    def schemas(self, form: Form) -> list[Schema]:
        if self.size > MOST_LABELS:
            # Text that is no root; a leaf may be of another type.
            one: Schema = {"type": sorted({"string", form.type}), "not": {"const": ROOT_LABEL}}
            leaf: Schema = {"type": form.type}
        else:
            leaves = [form.write(label) for label in self.hierarchy.code_of]
            one = {"enum": leaves if form.sets else leaves + self._groups()}
            leaf = {"enum": leaves}
        choices: list[Schema] = [{**one, "description": "a value" if form.sets else "a value or a group"}]
        if form.sets and self.size > 2:
            choices.append(
                {
                    "type": "array",
                    "description": "the set of values that occur",
                    "items": leaf,
                    "minItems": 2,
                    "maxItems": self.size - 1,
                    "uniqueItems": True,
                }
            )
        return choices

    def _groups(self) -> list[str]:
        """Return the labels above the leaves that can be published: of nodes over the same leaves the deepest."""
        exact = set(self.hierarchy.leaves.tolist())
        labels = [label for node, label in enumerate(self.hierarchy.labels) if node not in exact]
        return [label for label in labels if label != ROOT_LABEL and self.read(label) is not None]

    def words(self) -> str:
        return f"categories, {self.height} level{'s' if self.height != 1 else ''} above"
