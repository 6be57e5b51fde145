"""The domain of numbers: a grid of cells, published as exact values or as intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from stream_anon.errors import SettingsError, Unfit
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.domains.code_reading import ByNumber, Reading
from stream_anon.microdata.domains.domain import Domain, Form, Published, Schema
from stream_anon.microdata.domains.hierarchy import ROOT_LABEL
from stream_anon.microdata.domains.intervals import NumberInterval
from stream_anon.microdata.domains.walk import (
    HALVING,
    HALVING_LEVEL,
    LINEAR,
    PREFIX,
    WIDTHS,
    Digit,
    Walk,
    digits_of_two_bits,
)

MOST_CELLS = 2**30
MOST_NUMBER = 10**15  # beyond, neighbouring decimals are one float and would be published alike
_LONGEST_FLOAT = -1.2345678901234567e-100  # as long as any float is written


def _meant(value: float) -> Decimal:
    """Return the number that was written: the shortest decimal that reads back as this float."""
    return Decimal(value) if isinstance(value, int) else Decimal(str(value))


@dataclass(frozen=True)
class NumericDomain(Domain):
    """Numbers between `minimum` and `maximum` on a grid of cells of width `step`.

    Nodes are halvings of the range or, with `levels`, cells of those widths counted from the minimum.

    Parameters
    ----------
    minimum, maximum, step
        Exact decimals. A cell holds its lower end and all values below the next cell; the last one holds
        the maximum too.
    decimals
        Values have at most so many decimals, anything finer is unfit; a cell that holds a single such value
        publishes it as itself. None: values are continuous and every cell is published as its interval.
    levels
        Widths of the nodes, narrow first, each a multiple of the one before and of `step`.
    tight
        Publish the interval from the least to the greatest value, not the node above them.

    Notes
    -----
    NCP is width / range, 0 for an exact value.
    """

    minimum: Decimal
    maximum: Decimal
    step: Decimal
    decimals: int | None
    levels: tuple[Decimal, ...] = ()
    tight: bool = False
    key: str = "numeric"

    kind: ClassVar[str] = "numeric"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        key = self.key
        named = [("min", self.minimum), ("max", self.maximum), ("step", self.step)]
        self._check_magnitude([*named, *(("levels", width) for width in self.levels)])
        if not self.minimum < self.maximum:
            raise SettingsError(f"{key}.min", "must be less than max")
        if not 0 < self.step <= self.maximum - self.minimum:
            raise SettingsError(f"{key}.step", "must be above 0 and at most max - min")
        if self.size > MOST_CELLS:
            raise SettingsError(f"{key}.step", f"gives more than {MOST_CELLS} cells")
        if self.decimals is not None:
            if not 0 <= self.decimals <= 9:
                raise SettingsError(f"{key}.decimals", "must lie between 0 and 9")
            for name, number in named:
                if number % self._unit:
                    raise SettingsError(f"{key}.{name}", f"has more than {self.decimals} decimals")
        for place, (before, width) in enumerate(pairwise((self.step, *self.levels))):
            if width % before or width < before:
                words = f"{width} is not a multiple of {before}, the {'width before it' if place else 'step'}"
                raise SettingsError(f"{key}.levels.{place}", f"{words}: an interval would lie in two wider ones")

    def _check_magnitude(self, named: list[tuple[str, Decimal]]) -> None:
        for name, number in named:
            if not number.is_finite() or abs(number) > MOST_NUMBER:
                raise SettingsError(f"{self.key}.{name}", "must be a number between -1e15 and 1e15")

    @cached_property
    def _unit(self) -> Decimal:
        return Decimal(1).scaleb(-(self.decimals or 0))

    @cached_property
    def size(self) -> int:
        cells = (self.maximum - self.minimum) / self.step
        return math.floor(cells) + 1 if self.decimals is not None else math.ceil(cells)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Return the widths of `levels` in cells."""
        return tuple(int(width / self.step) for width in self.levels)

    @cached_property
    def height(self) -> int:
        if self.widths:
            return len(self.widths) + (self.widths[-1] < self.size)
        return math.ceil(math.log2(self.size)) if self.size > 1 else 1

    @cached_property
    def slope(self) -> float:
        """Return the NCP that each further cell adds."""
        return float(self.step / (self.maximum - self.minimum))

    @cached_property
    def base(self) -> float:
        """Return the NCP of a single cell: 0 where it holds one value only."""
        inside = self.step if self.decimals is None else self.step - self._unit
        return float(inside / (self.maximum - self.minimum))

    def code(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unfit(Reason.WRONG_TYPE)
        if isinstance(value, float) and not math.isfinite(value):  # an integer may be too large to ask
            raise Unfit(Reason.WRONG_TYPE)
        exact = _meant(value)
        if not self.minimum <= exact <= self.maximum:
            raise Unfit(Reason.OUT_OF_RANGE)
        if self.decimals is not None and exact % self._unit:
            raise Unfit(Reason.WRONG_TYPE)
        return min(int((exact - self.minimum) // self.step), self.size - 1)

    def node(self, low: int, high: int) -> tuple[int, int]:
        if self.tight or low == high:
            return low, high
        for width in self.widths:
            if low // width == high // width:
                return low // width * width, min(low // width * width + width, self.size) - 1
        return (0, self.size - 1) if self.widths else self._halve(low, high)[:2]

    def _halve(self, low: int, high: int, most: int = MOST_CELLS) -> tuple[int, int, int]:
        """Return the smallest halving that holds `low` and `high`, and its depth, which is at most `most`."""
        left, right, depth = 0, self.size - 1, 0
        while left < right and depth < most:
            middle = left + (right - left + 1) // 2 - 1
            if high <= middle:
                right = middle
            elif low > middle:
                left = middle + 1
            else:
                break
            depth += 1
        return left, right, depth

    def node_at(self, code: int, level: int) -> tuple[int, int]:
        if self.widths:
            width = (1, *self.widths, self.size)[level]
            return code // width * width, min(code // width * width + width, self.size) - 1
        return self._halve(code, code, self.height - level)[:2]

    def by_nodes(self) -> NumericDomain:
        return replace(self, tight=False)

    def level(self, low: int, high: int) -> int:
        if low == high:
            return 0
        for level, width in enumerate(self.widths, start=1):
            if low // width == high // width:
                return level
        return self.height if self.widths else self.height - self._halve(low, high)[2]

    def ncp(self, low: int, high: int) -> float:
        width = (high - low) * self.slope + self.base
        if high == self.size - 1:  # the top cell ends at the maximum, wherever its grid would
            width = max(0.0, min(width, 1.0 - low * self.slope))
        return min(1.0, width)

    def ends(self, low: int, high: int) -> tuple[int | float, int | float]:
        bottom = self.minimum + low * self.step
        top = self.minimum + (high + 1) * self.step - (0 if self.decimals is None else self._unit)
        top = min(top, self.maximum)
        return (int(bottom), int(top)) if self.decimals == 0 else (float(bottom), float(top))

    def publish(self, low: int, high: int) -> Published:
        bottom, top = self.ends(low, high)
        if bottom == top:
            return bottom
        if low == 0 and high == self.size - 1:
            return ROOT_LABEL
        return {"min": bottom, "max": top}

    def read(self, published: object) -> tuple[int, int] | None:
        if published == ROOT_LABEL:
            return (0, self.size - 1) if self.publish(0, self.size - 1) == ROOT_LABEL else None
        if isinstance(published, dict) and list(published) == ["min", "max"]:
            bottom, top = published["min"], published["max"]
        else:
            bottom = top = published
        kind = int if self.decimals == 0 else float
        if type(bottom) is not kind or type(top) is not kind or not -math.inf < bottom <= top < math.inf:
            return None
        if _meant(bottom) < self.minimum or _meant(top) > self.maximum:
            return None
        first = int((_meant(bottom) - self.minimum) // self.step)
        last = int((_meant(top) - self.minimum) // self.step)
        # A float is not always the end it stands for to the last digit, and the top may begin the next cell.
        for low in range(first - 1, first + 2):
            for high in range(max(low, last - 1), last + 2):
                inside = low >= 0 and high < self.size and self.node(low, high) == (low, high)
                if inside and repr(self.publish(low, high)) == repr(published):  # -0.0 is not written
                    return low, high
        return None

    def outline(self) -> dict[str, Any]:
        """See `Domain`; halvings depend on the whole range, widths on where they are counted from."""
        grid = {"min": plain(self.minimum), "decimals": self.decimals}
        if not self.levels:
            grid |= {"max": plain(self.maximum), "step": plain(self.step)}
        wider = zip(self.levels, self.widths, strict=True)
        levels = [(plain(self.step), self.size), *((plain(w), -(-self.size // n)) for w, n in wider)]
        return {
            "kind": "numeric",
            "grid": grid,
            "range": [plain(self.minimum), plain(self.maximum)],
            "levels": [{"name": name, "groups": groups} for name, groups in levels],
        }

    def longest(self) -> Sequence[Published]:
        ends = (int(self.minimum), int(self.maximum)) if self.decimals == 0 else (_LONGEST_FLOAT,)
        return [{"min": end, "max": end} for end in ends]

    def interval(self) -> NumberInterval:
        return NumberInterval(*self.ends(0, self.size - 1), whole=self.decimals == 0)

    def reading(self) -> Reading:
        return ByNumber(self.minimum, self.maximum, self.step, self.decimals, self.size)

    def walk(self) -> Walk:
        widths = np.array([min(width, self.size) for width in self.widths], np.int32)
        return Walk(LINEAR if self.tight else WIDTHS if len(widths) else HALVING, self.slope, self.base, widths)

    def level_walk(self) -> Walk:
        if not self.widths:
            return Walk(HALVING_LEVEL, 1 / self.height, 0.0, np.array([self.height], np.int32))
        # The widest cells may not be the whole range: then that is one level more.
        widths = [min(width, self.size) for width in (*self.widths, self.size)]
        return Walk(PREFIX, 1 / self.height, 0.0, np.array(widths, np.int32))

    def digits(self) -> Sequence[Digit]:
        return digits_of_two_bits(self.size)

    def schemas(self, form: Form) -> list[Schema]:  # noqa: ARG002 - numbers have no other type
        ends = self.interval()
        end = {"type": ends.type, "minimum": ends.least, "maximum": ends.greatest}
        choices: list[Schema] = [
            {
                "type": "object",
                "description": "an interval, both ends included",
                "properties": {"min": end, "max": end},
                "required": ["min", "max"],
                "additionalProperties": False,
            }
        ]
        if self.decimals is not None:
            choices.insert(0, {**end, "description": "an exact value"})
        return choices

    def words(self) -> str:
        levels = f"{self.height} level{'s' if self.height != 1 else ''} above"
        return f"numbers from {self.minimum} to {self.maximum} by {self.step}, {levels}"


def plain(number: Decimal) -> str:
    """Return a decimal in its one shortest way of writing."""
    return format(number.normalize(), "f")
