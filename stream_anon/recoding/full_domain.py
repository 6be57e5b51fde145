"""Full-domain recoding: every value of an attribute becomes its node of one level, the same for all records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.recoding.lattice.group_table import TupleKeys, numbered


class FullDomain:
    """Tells which rows are alike on fixed levels.

    Parameters
    ----------
    attributes
        The quasi-identifiers.
    levels
        The level of each; None for one that does not count.
    """

    def __init__(self, attributes: Sequence[QuasiIdentifier], levels: Sequence[int | None]) -> None:
        self._chosen = [
            (place, _Column(attribute, level))
            for place, (attribute, level) in enumerate(zip(attributes, levels, strict=True))
            if level is not None
        ]
        self._keys = TupleKeys([attributes[place].size + 1 for place, _ in self._chosen])

    def groups(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the group of each row, numbered from 0 without gaps in the order of their nodes; O(q n log n).

        Parameters
        ----------
        codes
            int32[q, n].
        """
        nodes = np.stack([column.starts(codes[place]) for place, column in self._chosen])
        return numbered(self._keys.write(nodes))[1]


class _Column:
    """One attribute on one level."""

    def __init__(self, attribute: QuasiIdentifier, level: int) -> None:
        self._attribute = attribute
        self._level = level
        small = attribute.domain.size <= WHOLE_TABLE
        self._table = self._found(np.arange(attribute.size, dtype=np.int32)) if small else None

    def starts(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return for each code what names its node: 0 for the root, else its first code and 1; int64[n]."""
        if self._table is not None:
            return self._table[codes]
        unique, inverse = np.unique(codes, return_inverse=True)
        return self._found(unique)[inverse]

    def _found(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        bounds = self._attribute.nodes_at(codes, self._level)
        return np.where(bounds[:, 1] == self._attribute.unknown_code, 0, bounds[:, 0] + 1)
