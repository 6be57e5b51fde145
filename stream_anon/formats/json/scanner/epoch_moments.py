"""From numbers that count moments to the days, hours or minutes that they fall on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.json.scanner import tables as t
from stream_anon.formats.json.scanner.fields import units_of
from stream_anon.formats.json.scanner.forms import ABSENT, DECIMAL, INTEGER, NULL, ODD, FieldSpans
from stream_anon.microdata.domains.code_reading import ByMoment

MomentArrays: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], int]
"""The fields of `ByMoment`."""

_MISSING, _UNKNOWN = t.MISSING, t.UNKNOWN


def moment_arrays(moments: ByMoment | None) -> MomentArrays:
    """Return the table of moments for kernels; one without stretches for None."""
    if moments is None:
        return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64), 1
    return moments.begins, moments.codes, moments.anchors, moments.unit


@checked_inlined
def code_at(number: int, moments: MomentArrays) -> int:
    """Return the code of a moment, -1 if it has none; O(log stretches)."""
    begins, firsts, anchors, unit = moments
    low, high = 0, len(begins)
    while low < high:
        middle = (low + high) // 2
        if begins[middle] <= number:
            low = middle + 1
        else:
            high = middle
    if low == 0 or firsts[low - 1] < 0:
        return -1
    return int(firsts[low - 1] + (number - anchors[low - 1]) // unit)


@checked_kernel
def moment_codes(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    field: NDArray[np.int64],
    moments: MomentArrays,
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write the codes of numbers by the stretches that they fall into; see `fields` and `ByMoment`."""
    for i in range(len(spans.forms)):
        form, code = spans.forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == INTEGER or form == DECIMAL:
            number, _ = units_of(text, spans.starts[i], spans.stops[i], 0)
            code = code_at(number, moments)
            if code < 0:
                code = field[_UNKNOWN]
        codes[i] = code
        plain[i] &= code >= 0
