"""The domain of ordered categories: any range of neighbours may be published (LeFevre et al., ICDE 2006)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.automatic import BETWEEN, balanced
from stream_anon.microdata.domains.categories import MOST_LABELS, CategoricalDomain
from stream_anon.microdata.domains.code_reading import Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.walk import SPAN, Digit, Walk, digits_of_two_bits


@dataclass(frozen=True)
class OrderedDomain(Domain):
    """Categories in an order, which are cut like numbers: `primary..bachelor` is what lies between these two.

    Where nodes are asked for, such as for levels, neighbours are joined two by two.

    Parameters
    ----------
    order
        The categories from the least to the greatest.

    Notes
    -----
    NCP is categories of the range / categories, 0 for one, as of a set.
    """

    order: tuple[str, ...]
    key: str = "order"

    kind: ClassVar[str] = "ordered"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for label in self.order:
            if BETWEEN in label:
                raise SettingsError(self.key, f"no category may hold {BETWEEN!r}, which stands between two")
            if label.startswith("."):  # "a...b" could be of "a" and ".b", or of "a." and "b"
                raise SettingsError(self.key, "no category may begin with a dot, as what stands between two ends")
        self._tree  # noqa: B018 - refuses what cannot be numbered

    @cached_property
    def _tree(self) -> CategoricalDomain:
        return CategoricalDomain(balanced(self.order, key=self.key))

    @property
    def size(self) -> int:
        return len(self.order)

    @property
    def tight(self) -> bool:
        return True

    @property
    def height(self) -> int:
        return self._tree.height

    def code(self, value: object) -> int:
        return self._tree.code(value)

    def labels(self) -> Mapping[str, int]:
        return self._tree.labels()

    def node(self, low: int, high: int) -> tuple[int, int]:
        return low, high

    def level(self, low: int, high: int) -> int:
        return self._tree.level(low, high)

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        return self._tree.node_at(code, level)

    def by_nodes(self) -> CategoricalDomain:
        return self._tree

    def publish(self, low: int, high: int) -> Published:
        if low == high:
            return self.order[low]
        if low == 0 and high == self.size - 1:
            return ROOT_LABEL
        return f"{self.order[low]}{BETWEEN}{self.order[high]}"

    def read(self, published: object) -> tuple[int, int] | None:
        if not isinstance(published, str):
            return None
        if published == ROOT_LABEL:
            return 0, self.size - 1
        # The last dots part them: a category may end with a dot, and none begins with one.
        first, _, last = published.rpartition(BETWEEN)
        codes = self.labels()
        low, high = codes.get(first or last), codes.get(last)
        if low is None or high is None or low > high or self.publish(low, high) != published:
            return None
        return low, high

    def outline(self) -> dict[str, Any]:
        """See `Domain`; of two orders no range is known to be one of the other."""
        order = hashlib.sha256(json.dumps(self.order).encode()).hexdigest()
        return {**self._tree.outline(), "kind": self.kind, "grid": {"order": f"sha256:{order}"}}

    def longest(self) -> Sequence[Published]:
        label = max(self.order, key=lambda own: len(json.dumps(own, ensure_ascii=False).encode()))
        return [ROOT_LABEL, f"{label}{BETWEEN}{label}"]

    def reading(self) -> Reading:
        return self._tree.reading()

    def walk(self) -> Walk:
        return Walk(SPAN, 1 / self.size, 1 / self.size)

    def level_walk(self) -> Walk:
        return self._tree.level_walk()

    def digits(self) -> Sequence[Digit]:
        return digits_of_two_bits(self.size)

    def schemas(self, form: Form) -> list[Schema]:
        if self.size * (self.size + 1) // 2 > MOST_LABELS:
            # Text that is no root; an exact category may be of another type.
            choices: Schema = {"type": sorted({"string", form.type}), "not": {"const": ROOT_LABEL}}
        else:
            ranges = [self.publish(*ends) for ends in combinations(range(self.size), 2)]
            labels = [form.write(label) for label in self.order]
            choices = {"enum": [*labels, *(own for own in ranges if own != ROOT_LABEL)]}
        return [{**choices, "description": f"a value, or a range of neighbours such as a{BETWEEN}b"}]

    def words(self) -> str:
        return f"{self.size} categories in their order"
