"""How whole columns of quasi-identifiers become codes, by table or by arithmetic, exactly as one by one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Attribute, Missing, QuasiIdentifier, Unknown
from stream_anon.microdata.domains.domain import WHOLE_TABLE
from stream_anon.microdata.domains.reading import ByLabel, ByNumber, ByPrefix

_MOST_EDGES = 64 * WHOLE_TABLE
_MOST_LITERALS = 10_000
_SMALL = 2**60  # integers below it have hashes of their own
_WHOLE = re.compile(r"-?[0-9]{1,18}")

Column = Sequence[Any]
CodeColumn = Callable[[Column], NDArray[np.int64]]


@dataclass(frozen=True)
class Table:
    """The code of every value of an attribute, missing included where it has one.

    Parameters
    ----------
    codes
        By decoded value. Values that are equal in Python have one code.
    default
        The code of a value that is not in `codes`; None where only a single look tells.
    """

    codes: Mapping[object, int]
    default: int | None


def accepted_type(attribute: Attribute) -> Any:
    """Return the JSON types that tables and arithmetic tell apart; truth is the number 1 to a dictionary."""
    if not isinstance(attribute, QuasiIdentifier):
        return str | int | float | None
    match attribute.domain.reading():
        case ByLabel(labels):
            whole, truths = _whole_labels(labels), _truths(labels)
            if attribute.unknown is Unknown.REJECT and not whole and not truths and len(labels) <= _MOST_LITERALS:
                # Found in place and never copied; anything else, as it is most often a reject, is looked at alone.
                return Literal[*labels] | None
            if truths and not whole:
                return str | bool | None
            return str | int | None if attribute.unknown is Unknown.ROOT else str | int | float | None
        case ByNumber(decimals=decimals):
            integers = decimals == 0 and attribute.unknown is Unknown.ROOT
            return int | None if integers else int | float | None
        case ByPrefix():
            return str | int | float | None
    return str | None


def table_of(attribute: QuasiIdentifier) -> Table | None:
    """Return the table of an attribute, None where its values are too many or not all known."""
    known = attribute.domain.values()
    if known is None:
        return None
    codes: dict[object, int] = {value: code for value, code in known.items()}  # noqa: C416 - widens the keys
    exhaustive = False
    match attribute.domain.reading():
        case ByLabel(labels):
            codes.update(_whole_labels(labels) or _truths(labels))
            exhaustive = True
        case ByNumber(decimals=decimals):
            if any(not _agrees(attribute, value, code) for value, code in known.items()):
                return None
            exhaustive = decimals == 0
    if attribute.missing is Missing.LEAF:
        codes[None] = attribute.missing_code
    outside = exhaustive and attribute.unknown is Unknown.ROOT and attribute.missing is Missing.LEAF
    return Table(codes, attribute.unknown_code if outside else None)


def column_coder(attribute: QuasiIdentifier) -> CodeColumn:
    """Return what codes a column of an attribute without a table; `attribute.size` marks what it leaves open."""
    match attribute.domain.reading():
        case ByPrefix() as prefix if prefix.least == prefix.length:
            return _PrefixColumn(attribute, prefix)
        case ByNumber(decimals=None) as grid if grid.size <= _MOST_EDGES:
            edges = [grid.minimum + i * grid.step for i in range(grid.size)]
            if all(Decimal(str(float(edge))) == edge for edge in edges):
                return _NumberColumn(attribute, grid, np.array([float(edge) for edge in edges]))
    return lambda column: _distinct(attribute, column)


def _whole_labels(labels: Mapping[str, int]) -> dict[object, int]:
    """Return the codes of labels that whole numbers stand for, by number."""
    return {int(t): code for t, code in labels.items() if _WHOLE.fullmatch(t) and str(int(t)) == t}


def _truths(labels: Mapping[str, int]) -> dict[object, int]:
    return {truth: labels[text] for truth, text in ((True, "true"), (False, "false")) if text in labels}


def _agrees(attribute: QuasiIdentifier, value: object, code: int) -> bool:
    """Tell whether a table's entry is what the value gets alone: a float may not be the decimal it stands for."""
    try:
        return attribute.code(value) == code
    except Unfit:
        return False


def _distinct(attribute: QuasiIdentifier, column: Column) -> NDArray[np.int64]:
    """Code each distinct value once. The table lives for this column only: it holds persons' values."""
    codes: dict[object, int] = {}
    keys = unpredictable(column)
    for key, value in zip(keys, column, strict=True):
        if key not in codes:
            codes[key] = attribute.size
            with contextlib.suppress(Unfit):
                codes[key] = attribute.code(value)
    return np.fromiter(map(codes.__getitem__, keys), np.int64, len(column))


def unpredictable(column: Sequence[Any]) -> Sequence[Any]:
    """Return what a table of a column's values may be keyed by: large integers as tuples with their text.

    Python's hash of an integer is the integer modulo 2**61 - 1: of those a producer chooses all may collide, and a
    table of n takes n^2 steps. That of a text has a key of the process's own.
    """
    return [(hex(value),) if type(value) is int and not -_SMALL < value < _SMALL else value for value in column]


class _NumberColumn:
    """Find the cells of continuous numbers by bisection, where floats and cell ends are exact decimals."""

    def __init__(self, attribute: QuasiIdentifier, grid: ByNumber, edges: NDArray[np.float64]) -> None:
        self._attribute = attribute
        self._edges = edges
        # Ends that are no exact floats are told by a single look.
        low, high = float(grid.minimum), float(grid.maximum)
        self._low = np.nextafter(low, -np.inf) if _inside(attribute, low) else low
        self._high = np.nextafter(high, np.inf) if _inside(attribute, high) else high

    def __call__(self, column: Column) -> NDArray[np.int64]:
        try:
            numbers = np.array(column, np.float64)  # missing becomes not-a-number, which JSON cannot write
        except OverflowError:
            return _distinct(self._attribute, column)
        codes = np.searchsorted(self._edges, numbers, side="right") - 1
        outside = ~((numbers > self._low) & (numbers < self._high))
        codes[outside] = self._attribute.size
        if self._attribute.missing is Missing.LEAF:
            codes[np.isnan(numbers)] = self._attribute.missing_code
        return codes


def _inside(attribute: QuasiIdentifier, value: float) -> bool:
    try:
        attribute.domain.code(value)
    except Unfit:
        return False
    return True


class _PrefixColumn:
    """Read texts of one length as numbers in the base of their alphabet, all at once."""

    def __init__(self, attribute: QuasiIdentifier, prefix: ByPrefix) -> None:
        self._attribute = attribute
        self._prefix = prefix
        points = np.array([ord(letter) for letter in prefix.places], np.uint32)
        self._order = np.argsort(points)
        self._points = points[self._order]
        self._filler = next(iter(prefix.places)) * prefix.length

    def __call__(self, column: Column) -> NDArray[np.int64]:
        attribute, prefix = self._attribute, self._prefix
        texts, absent = column, []
        try:
            if attribute.missing is Missing.LEAF and None in column:
                absent = [i for i, text in enumerate(column) if text is None]
                texts = [self._filler if text is None else text for text in column]
            if set(map(len, texts)) != {prefix.length}:
                return _distinct(attribute, column)
        except TypeError:  # numbers have no length
            return _distinct(attribute, column)
        points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).reshape(-1, prefix.length)
        slots = np.minimum(np.searchsorted(self._points, points), len(self._points) - 1)
        letters = self._order[slots]
        powers = prefix.base ** np.arange(prefix.keep - 1, -1, -1, dtype=np.int64)
        codes: NDArray[np.int64] = letters[:, : prefix.keep] @ powers
        codes[(self._points[slots] != points).any(axis=1)] = attribute.size
        codes[absent] = attribute.missing_code
        return codes
