"""Quasi-identifiers: the codes of their values, and what is published of codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.attributes import Attribute, Missing, PublishedForm, ScalarType, Unknown
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import ByMoment, ByNumber
from stream_anon.microdata.domains.domain import Domain, Published
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL


@dataclass(frozen=True)
class QuasiIdentifier(Attribute):
    """A field by which a person can be recognised together with others.

    Codes run over the domain, then two leaves of their own under the root: `missing_code` and
    `unknown_code`. Neither counts in the NCP's denominator.

    Parameters
    ----------
    domain
        Its values, codes and nodes.
    weight
        Steers the engine and MinGen; the reported loss leaves it out.
    missing, unknown, publication
        See the enumerations.
    type
        The type in which an exact category is written.
    min_level
        Nothing finer is published than the node of this level around a value. Nodes only.
    max_level
        Nothing coarser is published than the node of this level; None for no limit. A value outside the domain is
        the root on every level: a class of such values alone is published as "*".
    """

    domain: Domain
    weight: float = 1.0
    missing: Missing = Missing.LEAF
    unknown: Unknown = Unknown.REJECT
    publication: PublishedForm = PublishedForm.NODES
    type: ScalarType = ScalarType.STRING
    min_level: int = 0
    max_level: int | None = None

    role: ClassVar[str] = "quasi-identifier"
    published: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.weight <= 1000:
            raise SettingsError(f"attributes.{self.name}.weight", "must be above 0 and at most 1000")
        height = self.domain.height
        if self.max_level is not None and not 0 <= self.max_level <= height:
            raise SettingsError(f"attributes.{self.name}.max_level", f"must lie between 0 and {height}, its height")
        most = height if self.max_level is None else self.max_level
        if not 0 <= self.min_level <= most:
            raise SettingsError(f"attributes.{self.name}.min_level", f"must lie between 0 and {most}")
        if self.min_level and not self.publishes_nodes:
            raise SettingsError(f"attributes.{self.name}.min_level", "needs publish: nodes")

    @property
    def text_type(self) -> ScalarType:
        """Return a number where its domain has numbers."""
        return ScalarType.NUMBER if isinstance(self.domain.reading(), ByNumber | ByMoment) else ScalarType.STRING

    @property
    def publishes_nodes(self) -> bool:
        """Return whether only nodes are published, no tight ranges and no sets."""
        return self.publication is PublishedForm.NODES and not self.domain.tight

    @property
    def has_levels(self) -> bool:
        """Return whether not every level may be published."""
        return self.min_level > 0 or self.max_level is not None

    @cached_property
    def root_is_unknown(self) -> bool:
        """Return whether nobody is published as "*" but who has a value outside the domain."""
        free = self.unknown is Unknown.ROOT and self.max_level is not None
        return free and self.node_at(0, self.max_level or 0) != (0, self.unknown_code)

    def at_level(self, level: int) -> QuasiIdentifier:
        """Return the attribute as it is published where every value becomes its node of one level."""
        domain = self.domain.by_nodes()
        return replace(self, domain=domain, publication=PublishedForm.NODES, min_level=level, max_level=level)

    @cached_property
    def size(self) -> int:
        """Return the number of codes, the leaves for missing and unknown values included."""
        return self.domain.size + 2

    @property
    def missing_code(self) -> int:
        """Return the code of a missing value."""
        return self.domain.size

    @property
    def unknown_code(self) -> int:
        """Return the code of a value outside the domain."""
        return self.domain.size + 1

    def code(self, value: object) -> int:
        """Return the code of a decoded JSON value, or raise `Unfit` with the reason to reject it."""
        if value is None:
            if self.missing is Missing.REJECT:
                raise Unfit(Reason.MISSING)
            return self.missing_code
        try:
            return self.domain.code(value)
        except Unfit as unfit:
            outside = unfit.reason in (Reason.UNKNOWN_VALUE, Reason.OUT_OF_RANGE)
            if outside and self.unknown is Unknown.ROOT:
                return self.unknown_code
            raise

    def node(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of what is published for codes between `low` and `high`."""
        if high < self.missing_code:
            return self._named(*self.domain.node(low, high))
        return (low, high) if low == high == self.missing_code else (0, self.unknown_code)

    def _named(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of a node: one name for all that is published as "*", with a missing value or not."""
        whole = (low, high) == (0, self.domain.size - 1) and self.domain.publish(low, high) == ROOT_LABEL
        return (0, self.unknown_code) if whole else (low, high)

    def above(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of the least node around the one that `node` gave; those of a root are its own."""
        if high >= self.missing_code:
            return 0, self.unknown_code
        return self._named(*self.domain.above(low, high))

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        """Return the bounds of a code's node of a level, whether tight ranges or sets are published or not.

        A missing value is a leaf right under the root, an unknown one the root on every level.
        """
        if code == self.unknown_code or level >= self.domain.height:
            return 0, self.unknown_code
        if code == self.missing_code:
            return code, code
        # Not `node`: a code that no value has, such as that of an empty text, would have the root on every level.
        return self._named(*self.domain.node_at(code, level))

    def nodes_at(self, codes: NDArray[np.int32], level: int) -> NDArray[np.int64]:
        """Return the bounds of each code's node of a level, int64[c, 2]; O(c + nodes x height).

        Parameters
        ----------
        codes
            int32[c], ascending, each once.
        """
        bounds = np.stack([codes, codes], axis=1).astype(np.int64)
        # Below the first level every known value is its own node.
        place = int(np.searchsorted(codes, self.missing_code)) if level == 0 < self.domain.height else 0
        # Below the root, missing and unknown values are no part of a known one's node.
        most = self.unknown_code if level >= self.domain.height else self.missing_code - 1
        while place < len(codes):
            node = self.node_at(int(codes[place]), level)
            end = max(place + 1, int(np.searchsorted(codes, min(node[1], most), side="right")))
            bounds[place:end] = node
            place = end
        return bounds

    def lifted(self, low: int, high: int) -> tuple[int, int]:
        """Return the bounds that `node` gave, raised to `min_level`."""
        return self.node_at(low, self.min_level) if self.is_too_fine(low, high) else (low, high)

    def is_too_fine(self, low: int, high: int) -> bool:
        """Return whether the bounds of something published lie within a node of `min_level` and are not it."""
        if not self.min_level:
            return False
        least = self.node_at(low, self.min_level)
        return least[0] <= low and high <= least[1] and (low, high) != least

    def is_too_coarse(self, low: int, high: int) -> bool:
        """Return whether the bounds of something published, of not only unknown values, exceed `max_level`."""
        if self.max_level is None:
            return False
        most = self.node_at(low, self.max_level)
        return low < most[0] or high > most[1]

    def level(self, low: int, high: int) -> int:
        """Return the level of what is published for codes between `low` and `high`."""
        if high < self.missing_code:
            return self.domain.level(low, high)
        return 0 if low == high == self.missing_code else self.domain.height

    def ncp(self, low: int, high: int) -> float:
        """Return the NCP of the bounds that `node` gave."""
        if high < self.missing_code:
            return self.domain.ncp(low, high)
        return 0.0 if low == high == self.missing_code else 1.0

    def publish(self, low: int, high: int) -> Published:
        """Return what is written for the bounds that `node` gave."""
        if high < self.missing_code:
            return self.typed(self.domain.publish(low, high))
        return None if low == high == self.missing_code else ROOT_LABEL

    def publish_set(self, codes: Iterable[int]) -> Published:
        """Return what is written for the set of codes that occur in a class, in code order."""
        codes = sorted(set(codes))
        if len(codes) == 1 or codes[-1] >= self.missing_code:
            return self.publish(*self.node(codes[0], codes[-1]))
        if len(codes) == self.domain.size:
            return ROOT_LABEL
        return [self.publish(code, code) for code in codes]  # type: ignore[misc]

    def ncp_set(self, codes: Iterable[int]) -> float:
        """Return the NCP of a set: values in it / all values, 0 for one."""
        codes = sorted(set(codes))
        if codes[-1] >= self.missing_code:
            return self.ncp(codes[0], codes[-1])
        return 0.0 if len(codes) == 1 else len(codes) / self.domain.size

    def longest(self) -> list[Published]:
        """Return values among which is one whose JSON is as long as that of any published value."""
        if self.publication is PublishedForm.VALUES:
            return [None, [self.publish(code, code) for code in range(self.domain.size)]]  # type: ignore[misc]
        return [None, ROOT_LABEL, *map(self.typed, self.domain.longest())]

    def read(self, published: object) -> tuple[int, ...] | None:
        """Return the codes' bounds (or, for a set, its codes) behind a published value; None if impossible.

        The answer to "*" is the whole domain with the leaves for missing and unknown values. A value finer or
        coarser than the levels that may be published is impossible.
        """
        codes = self._read_any(published)
        if codes is None or self.is_too_fine(codes[0], codes[-1]):
            return None
        # An unknown value is published as "*" whatever the levels are.
        free = published == ROOT_LABEL and self.unknown is Unknown.ROOT
        return None if self.is_too_coarse(codes[0], codes[-1]) and not free else codes

    def _read_any(self, published: object) -> tuple[int, ...] | None:
        """Return what is read of a value on any level."""
        if published is None:
            return None if self.missing is Missing.REJECT else (self.missing_code, self.missing_code)
        if isinstance(published, list):
            return self._read_set(published) if self.publication is PublishedForm.VALUES else None
        if published == ROOT_LABEL:
            return (0, self.unknown_code) if self.root_is_possible else None
        bounds = self._read_one(published)
        if bounds is not None and bounds[0] != bounds[1] and self.publication is PublishedForm.VALUES:
            return None
        return bounds

    @cached_property
    def root_is_possible(self) -> bool:
        """Return whether some values are published as "*": a domain's top may have a name of its own."""
        if self.missing is Missing.LEAF or self.unknown is Unknown.ROOT or self.min_level == self.domain.height:
            return True
        if self.publication is PublishedForm.VALUES:
            return self.domain.size > 1
        return self.domain.publish(0, self.domain.size - 1) == ROOT_LABEL

    def _read_set(self, published: list[object]) -> tuple[int, ...] | None:
        bounds = [self._read_one(item) for item in published]
        codes = [b[0] for b in bounds if b is not None and b[0] == b[1]]
        ordered = len(codes) == len(published) > 1 and all(a < b for a, b in pairwise(codes))
        return tuple(codes) if ordered and len(codes) < self.domain.size else None

    def _read_one(self, published: object) -> tuple[int, int] | None:
        if isinstance(published, bool | int | float) and self.domain.labels() is not None:
            code = self._code_of_typed.get((type(published), published))
            return None if code is None else (code, code)
        bounds = self.domain.read(published)
        if bounds is None or self.publish(*bounds) != published:
            return None
        return bounds

    @cached_property
    def _code_of_typed(self) -> dict[tuple[object, object], int]:
        """Return the code of every leaf that is written in a type other than text; `1`, `1.0` and `true` differ."""
        leaves = [self.publish(code, code) for code in range(self.domain.size)]
        return {(type(leaf), leaf): code for code, leaf in enumerate(leaves) if not isinstance(leaf, str)}

    def typed(self, published: Published) -> Published:
        """Return an exact category in its declared type; groups stay labels."""
        if self.type is ScalarType.STRING or not isinstance(published, str):
            return published
        labels = self.domain.labels()
        if labels is None or published not in labels:
            return published
        if self.type is ScalarType.BOOLEAN:
            return published == "true"
        return int(published) if self.type is ScalarType.INTEGER else float(published)
