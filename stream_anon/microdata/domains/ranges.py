"""The domain of numbers whose ranges are drawn by hand: of unequal widths, such as those of equal frequency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.numbers import NumericDomain, plain
from stream_anon.microdata.domains.walk import FIRSTS_LEVEL, RANGES, Walk

MOST_RANGED_CELLS = 2**20  # kernels look up the range of each cell, level by level


@dataclass(frozen=True)
class RangedDomain(NumericDomain):
    """Numbers on a grid, published in ranges that begin at given cuts.

    ::

        0 ........ 18 .... 30 ...... 45 .............. 120      cuts 18, 30, 45
        |   0-17    | 18-29 |  30-44  |      45-120      |      level 1
        |       0-29        |           30-120           |      level 2, `arity` 2 ranges each

    Parameters
    ----------
    cuts
        First numbers of all ranges but the first, in ascending order, each on the grid. They are published with the
        policy, so they must tell nothing of a person.
    arity
        How many neighbouring ranges make one range of the next level.

    Notes
    -----
    NCP is width / range, 0 for an exact value.
    """

    cuts: tuple[Decimal, ...] = ()
    arity: int = 2

    kind: ClassVar[str] = "ranges"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels or self.tight:
            raise SettingsError(f"{self.key}.cuts", "cannot stand beside levels or publish: tight")
        if not self.cuts:
            raise SettingsError(f"{self.key}.cuts", "must have at least one number")
        if self.arity < 2:
            raise SettingsError(f"{self.key}.arity", "must be at least 2")
        if self.size > MOST_RANGED_CELLS:
            raise SettingsError(f"{self.key}.step", f"gives more than {MOST_RANGED_CELLS} cells, too many for cuts")
        self._check_magnitude([("cuts", cut) for cut in self.cuts])
        if any((cut - self.minimum) % self.step for cut in self.cuts):
            raise SettingsError(f"{self.key}.cuts", "must lie on the grid: min plus a multiple of step")
        if any(low >= high for low, high in pairwise([*self._first_codes, self.size])):
            raise SettingsError(f"{self.key}.cuts", "must ascend, above min and at most max")

    @property
    def _first_codes(self) -> list[int]:
        return [0, *(int((cut - self.minimum) / self.step) for cut in self.cuts)]

    @cached_property
    def starts(self) -> tuple[NDArray[np.int32], ...]:
        """Return the first code of each range, level by level, without the root."""
        cells, found = self._first_codes, []
        while len(cells) > 1:
            found.append(np.array(cells, np.int32))
            cells = cells[:: self.arity]
        return tuple(found)

    @cached_property
    def height(self) -> int:
        return len(self.starts) + 1

    def _range(self, level: int, code: int) -> tuple[int, int]:
        """Return the range of a level, counted from 0, that holds a code; O(log ranges)."""
        starts = self.starts[level]
        place = int(np.searchsorted(starts, code, "right"))
        last = int(starts[place]) - 1 if place < len(starts) else self.size - 1
        return int(starts[place - 1]), last

    def node(self, low: int, high: int) -> tuple[int, int]:
        if low == high:
            return low, high
        for level in range(len(self.starts)):
            first, last = self._range(level, low)
            if high <= last:
                return first, last
        return 0, self.size - 1

    def level(self, low: int, high: int) -> int:
        if low == high:
            return 0
        for level in range(len(self.starts)):
            if high <= self._range(level, low)[1]:
                return level + 1
        return self.height

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        if level == 0:
            return code, code
        return self._range(level - 1, code) if level <= len(self.starts) else (0, self.size - 1)

    def outline(self) -> dict[str, Any]:
        """See `Domain`; a range of the whole grid is named by its first numbers."""
        given: Mapping[str, Any] = super().outline()
        ends = {"max": plain(self.maximum), "step": plain(self.step)}
        levels = [
            {"name": ",".join(str(self.ends(int(code), int(code))[0]) for code in starts), "groups": len(starts)}
            for starts in self.starts
        ]
        return {
            **given,
            "kind": self.kind,
            "grid": {**given["grid"], **ends},
            "levels": [given["levels"][0], *levels],
        }

    def walk(self) -> Walk:
        return Walk(RANGES, self.slope, self.base, self._firsts())

    def level_walk(self) -> Walk:
        return Walk(FIRSTS_LEVEL, 1 / self.height, 0.0, self._firsts())

    def _firsts(self) -> NDArray[np.int32]:
        codes = np.arange(self.size)
        rows = [starts[np.searchsorted(starts, codes, "right") - 1] for starts in self.starts]
        return np.concatenate(rows).astype(np.int32)

    def words(self) -> str:
        return f"numbers from {self.minimum} to {self.maximum} by {self.step}, in {len(self.cuts) + 1} ranges"
