"""Code columns of cells: a cell is text, and its attribute says what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Attribute, PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.batch import CodedBatch, Rejects
from stream_anon.microdata.coding import (
    UNREADABLE,
    code_value,
    individual_key,
    passed_value,
    scalar_of,
    sensitive_keys,
)
from stream_anon.microdata.domains.reading import ByLabel, ByMoment, ByNumber
from stream_anon.microdata.policy import EVERY_RECORD, Policy

Column = tuple[str, ...]


def parse(attribute: Attribute, cell: str, nulls: frozenset[str] = frozenset()) -> object:
    """Return the value that a cell stands for, as JSON would hold it; None for an empty one and one of `nulls`.

    A cell that does not fit the attribute's type stays text or becomes unreadable, and coding rejects it.
    """
    if isinstance(attribute, PassThrough) and attribute.type is ScalarType.STRING:
        return None if cell in nulls else cell or None
    text = cell.strip()
    if not text or text in nulls:
        return None
    if isinstance(attribute, PassThrough):
        return scalar_of(attribute.type, text, comma=attribute.coerce)
    match attribute.domain.reading() if isinstance(attribute, QuasiIdentifier) else None:
        case ByNumber() | ByMoment():
            return scalar_of(ScalarType.NUMBER, text, comma=attribute.coerce)
        case ByLabel(codes):
            value = scalar_of(attribute.type, text)  # type: ignore[attr-defined]
            return text if value is UNREADABLE or text in codes else value
    return text


class CellColumns:
    """Code rows column by column; each distinct cell of a column is looked at once.

    Parameters
    ----------
    policy
        Declares the attributes.
    places
        The column of each attribute; None for one that is not read.
    """

    def __init__(self, policy: Policy, places: Sequence[int | None]) -> None:
        self._policy = policy
        self._places = places
        self._diverse = {name: diversity.ordered for name, diversity in policy.diversity.items()}
        self._nulls = policy.null_values
        self._numbers = 0  # running, where every record is an individual

    def batch(
        self,
        rows: Sequence[Sequence[str]],
        offsets: NDArray[np.int64],
        source: int,
        bad: list[tuple[int, int, int, int]],
    ) -> CodedBatch:
        """Return the coded batch of rows that all have as many cells as the header.

        Parameters
        ----------
        rows
            Cells; the tables that are made of them are dropped after this call.
        offsets
            int64[n], their numbers.
        source
            The number that stands for the file.
        bad
            Rejects that were found before, as rows of `Rejects`.
        """
        n = len(rows)
        cells: list[Column] = list(zip(*rows, strict=True))
        faults: dict[int, tuple[int, int]] = {}
        codes, sensitive, passed = [], [], []
        individuals: Sequence[int] = [0] * n
        for i, (attribute, place) in enumerate(zip(self._policy.attributes, self._places, strict=True)):
            if place is None:
                continue
            column = cells[place] if n else ()
            if isinstance(attribute, QuasiIdentifier):
                codes.append(_look_up(i, attribute, column, self._nulls, _code, faults))
            elif isinstance(attribute, PassThrough):
                passed.append(_look_up(i, attribute, column, self._nulls, _pass, faults))
                if attribute.name in self._diverse:
                    sensitive.append(sensitive_keys(passed[-1], self._diverse[attribute.name]))
            else:
                individuals = _look_up(i, attribute, column, self._nulls, self._individual, faults)
        kept = [row for row in range(n) if row not in faults]
        lost = [(*fault, source, int(offsets[row])) for row, fault in faults.items()]
        rejects = sorted([*bad, *lost], key=lambda reject: reject[3])
        payload = list(zip(*passed, strict=True)) if passed else [()] * n
        return CodedBatch(
            np.array(codes, np.int32).reshape(len(codes), n)[:, kept],
            np.array(sensitive, np.int64).reshape(len(sensitive), n)[:, kept],
            self._individuals(individuals, kept),
            np.full(len(kept), source, np.int32),
            offsets[kept],
            [payload[row] for row in kept],
            Rejects.of(rejects),
        )

    def _individual(self, _attribute: Attribute, value: object) -> int:
        return individual_key(value, self._policy.normalize)

    def _individuals(self, keys: Sequence[int], kept: list[int]) -> NDArray[np.int64]:
        if self._policy.individual != EVERY_RECORD:
            return np.array(keys, np.int64)[kept]
        self._numbers += len(kept)
        return np.arange(self._numbers - len(kept), self._numbers)


def _look_up(
    index: int,
    attribute: Any,
    column: Column,
    nulls: frozenset[str],
    code: Callable[[Any, object], Any],
    faults: dict[int, tuple[int, int]],
) -> list[Any]:
    """Return the code of each cell; note the rows of cells that do not fit, by their first fault."""
    table: dict[str, Any] = {}
    unfit: dict[str, int] = {}
    for cell in set(column):
        try:
            table[cell] = code(attribute, parse(attribute, cell, nulls))
        except Unfit as error:
            table[cell], unfit[cell] = 0, error.reason
    if unfit:
        for row, cell in enumerate(column):
            if cell in unfit:
                faults.setdefault(row, (unfit[cell], index))
    return list(map(table.__getitem__, column))


def _code(attribute: QuasiIdentifier, value: object) -> int:
    return code_value(attribute, value)


def _pass(attribute: PassThrough, value: object) -> object:
    return passed_value(attribute, value)
