"""Join the texts that a class shares and the passing values of each record, without the interpreter's lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.writing.copying import copied


@checked_kernel
def write_records(
    order: NDArray[np.int64],
    class_of_row: NDArray[np.int32],
    shared: NDArray[np.int64],
    shared_ends: NDArray[np.int64],
    passed: NDArray[np.int64],
    passed_ends: NDArray[np.int64],
    places: NDArray[np.int64],
    records: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Write the m released records, without gaps.

    Parameters
    ----------
    order
        int64[m], rows.
    class_of_row
        int32[n].
    shared, passed, records
        The words of texts (`keys.padded_words`); `records` is written and has eight bytes of room at its end.
    shared_ends
        int64[c, p + 1]: where the texts of each class end that come before, between and after the passing values.
    passed_ends
        int64[n, p].
    places
        int64[p], which passing value comes first, second and so on.
    ends
        int64[m], written.
    """
    between, fields = len(places), passed_ends.shape[1]
    filled = 0
    for i in range(len(order)):
        row = order[i]
        own = class_of_row[row]
        start = shared_ends[own - 1, between] if own > 0 else 0
        for turn in range(between + 1):
            filled = copied(shared, start, shared_ends[own, turn], records, filled)
            start = shared_ends[own, turn]
            if turn < between:
                field = places[turn]
                first = 0
                if field > 0:
                    first = passed_ends[row, field - 1]
                elif row > 0:
                    first = passed_ends[row - 1, fields - 1]
                filled = copied(passed, first, passed_ends[row, field], records, filled)
        ends[i] = filled
