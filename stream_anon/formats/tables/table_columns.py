"""Code records column by column: each distinct value of a column is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import Unfit
from stream_anon.formats.tables.passed_columns import PassedColumns
from stream_anon.microdata.attributes import Attribute, Missing, PassThrough, Unknown
from stream_anon.microdata.batch import CodedBatch, Reason, Rejects
from stream_anon.microdata.coding import code_value, individual_text, passed_value
from stream_anon.microdata.ids import normalized
from stream_anon.microdata.keys import text_keys
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.sensitive_keys import criterion_keys

FITS = -1  # in place of a reason


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of n cells.

    Parameters
    ----------
    values
        Its different values, in any order; a value may stand twice.
    places
        int[n], the place of each cell's value among them.
    """

    values: Sequence[Any]
    places: NDArray[np.integer]

    @classmethod
    def of(cls, cells: Sequence[Hashable]) -> Column:
        """Return the column of n cells of one type."""
        number = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
        return cls(list(number), np.fromiter(map(number.__getitem__, cells), np.int64, len(cells)))


@dataclass(frozen=True, slots=True, eq=False)
class KeyColumn:
    """The individuals of n records.

    Parameters
    ----------
    keys
        int64[n], see `microdata.coding.individual_key`.
    reasons
        int8[n], why an id does not fit, `FITS` where it does.
    """

    keys: NDArray[np.int64]
    reasons: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class CodeColumn:
    """The codes of n values of a quasi-identifier.

    Parameters
    ----------
    codes
        int32[n].
    reasons
        int8[n], why a value does not fit, `FITS` where it does.
    """

    codes: NDArray[np.int32]
    reasons: NDArray[np.int8]

    @classmethod
    def of(
        cls,
        attribute: QuasiIdentifier,
        codes: NDArray[np.int32],
        missing: NDArray[np.bool_],
        wrong: NDArray[np.bool_],
    ) -> CodeColumn:
        """Return the column of codes of a domain, -1 of values outside; missing and wrong ones have any code."""
        reasons = np.full(len(codes), FITS, np.int8)
        reasons[wrong] = Reason.WRONG_TYPE
        outside = (codes < 0) & (reasons == FITS)
        if attribute.unknown is Unknown.REJECT:
            reasons[outside] = Reason.OUT_OF_RANGE
        reasons[missing] = Reason.MISSING if attribute.missing is Missing.REJECT else FITS
        known = np.where(outside, attribute.unknown_code, codes)
        return cls(np.where(missing, attribute.missing_code, known).astype(np.int32), reasons)


class ColumnCoder:
    """Code columns of n records to a batch.

    Parameters
    ----------
    policy
        Declares the attributes.
    meaning
        What a value of a column stands for, as JSON would hold it; None for a missing one.

    Attributes
    ----------
    coerced
        How many texts of coded records counted as another type so far because their attributes say so.
    """

    def __init__(self, policy: Policy, meaning: Callable[[Attribute, Any], object]) -> None:
        self._policy = policy
        self._meaning = meaning
        self._diverse = {name: diversity.ordered for name, diversity in policy.diversity.items()}
        self.coerced = 0
        self._numbers = 0  # running, where every record is an individual

    def batch(
        self,
        columns: Sequence[Column | CodeColumn | KeyColumn | None],
        offsets: NDArray[np.int64],
        source: int,
        bad: Sequence[tuple[int, int, int, int]] = (),
    ) -> CodedBatch:
        """Return the coded batch of n records.

        Parameters
        ----------
        columns
            For each attribute of the policy; None for one that is not read. Codes only for quasi-identifiers, keys
            only for the individuals.
        offsets
            int64[n], ascending.
        source
            The number that stands for the input.
        bad
            Rejects that were found before, as rows of `Rejects`.
        """
        n = len(offsets)
        reasons = np.full(n, FITS, np.int8)
        faulty = np.zeros(n, np.int16)
        codes, sensitive = [], []
        sets: dict[int, tuple[int, ...]] = {}
        passed: list[Column] = []
        individuals = np.zeros(n, np.int64)
        coerced = np.zeros(n, np.int64)
        for i, (attribute, column) in enumerate(zip(self._policy.attributes, columns, strict=True)):
            if column is None:
                continue
            if isinstance(column, KeyColumn):
                found, individuals = column.reasons, column.keys
            elif isinstance(column, CodeColumn) or isinstance(attribute, QuasiIdentifier):
                own = column if isinstance(column, CodeColumn) else self._coded(attribute, column)
                coerced += self._texts(attribute, column)
                codes.append(own.codes)
                found = own.reasons
            elif isinstance(attribute, PassThrough):
                values, unfit = self._each(attribute, column, passed_value, None)
                coerced += self._texts(attribute, column)
                passed.append(Column(values, column.places))
                if attribute.name in self._diverse:
                    keys, items = criterion_keys(attribute, values, self._diverse[attribute.name])
                    sensitive.append(keys[column.places])
                    sets |= items
                found = unfit[column.places]
            else:
                texts, unfit = self._each(attribute, column, self._individual, "")
                individuals = text_keys(texts)[column.places]
                found = unfit[column.places]
            fresh = (found != FITS) & (reasons == FITS)
            reasons[fresh], faulty[fresh] = found[fresh], i
        kept = np.flatnonzero(reasons == FITS)
        lost = np.flatnonzero(reasons != FITS)
        self.coerced += int(coerced[kept].sum())
        rejects = _in_order(bad, reasons[lost], faulty[lost], source, offsets[lost])
        payload = PassedColumns.of([(column.values, column.places) for column in passed], n)
        return CodedBatch(
            np.array(codes, np.int32).reshape(len(codes), n)[:, kept],
            np.array(sensitive, np.int64).reshape(len(sensitive), n)[:, kept],
            self._people(individuals[kept]),
            np.full(len(kept), source, np.int32),
            offsets[kept],
            payload.take(kept) if len(lost) else payload,
            rejects,
            sets,
        )

    def _coded(self, attribute: Attribute, column: Column) -> CodeColumn:
        values, unfit = self._each(attribute, column, code_value, 0)
        return CodeColumn(np.array(values, np.int32)[column.places], unfit[column.places])

    def _each(
        self, attribute: Any, column: Column, code: Callable[[Any, object], Any], instead: object
    ) -> tuple[list[Any], NDArray[np.int8]]:
        """Return what each distinct value becomes, `instead` if it does not fit, and why it does not."""
        results: list[Any] = []
        reasons = np.full(len(column.values), FITS, np.int8)
        for place, value in enumerate(column.values):
            try:
                results.append(code(attribute, self._meaning(attribute, value)))
            except Unfit as unfit:
                results.append(instead)
                reasons[place] = unfit.reason
        return results, reasons

    def _texts(self, attribute: Attribute, column: Column | CodeColumn) -> NDArray[np.int64] | int:
        """Return which cells are texts where these count as another type, int64[n]; 0 for none."""
        if not attribute.coerce or isinstance(column, CodeColumn):
            return 0
        found = np.array([isinstance(self._meaning(attribute, value), str) for value in column.values], np.int64)
        cells: NDArray[np.int64] = found[column.places]
        return cells

    def _individual(self, _attribute: Attribute, value: object) -> str:
        text = normalized(individual_text(value), self._policy.normalize)
        if not text:
            raise Unfit(Reason.NO_INDIVIDUAL)
        return text

    def _people(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._policy.individual != EVERY_RECORD:
            return keys
        self._numbers += len(keys)
        return np.arange(self._numbers - len(keys), self._numbers)


def _in_order(
    bad: Sequence[tuple[int, int, int, int]],
    reasons: NDArray[np.int8],
    faulty: NDArray[np.int16],
    source: int,
    offsets: NDArray[np.int64],
) -> Rejects:
    """Return rejects that were found before and others, by offset."""
    rows = zip(reasons.tolist(), faulty.tolist(), offsets.tolist(), strict=True)
    return Rejects.of(
        sorted([*bad, *((*fault, source, offset) for *fault, offset in rows)], key=lambda row: row[3])
    )
