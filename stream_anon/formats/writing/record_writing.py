"""Join the texts that a class shares and the passing values of each record, without the interpreter's lock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.writing.copying import copied


class JoinedTexts(NamedTuple):
    """Texts one behind the other, without gaps.

    Parameters
    ----------
    words
        Those of all texts (`keys.padded_words`).
    ends
        int64[...]: where each ends.
    """

    words: NDArray[np.int64]
    ends: NDArray[np.int64]


@checked_kernel
def write_records(
    order: NDArray[np.int64],
    class_of_row: NDArray[np.int32],
    shared: JoinedTexts,
    passed: JoinedTexts,
    places: NDArray[np.int64],
    records: JoinedTexts,
) -> None:
    """Write the m released records, without gaps.

    Parameters
    ----------
    order
        int64[m], rows.
    class_of_row
        int32[n].
    shared
        By [c, p + 1]: the texts of each class that come before, between and after the passing values.
    passed
        By [n, p].
    places
        int64[p], which passing value comes first, second and so on.
    records
        By [m]; written, with eight bytes of room at its end.
    """
    between, fields = len(places), passed.ends.shape[1]
    filled = 0
    for i in range(len(order)):
        row = order[i]
        own = class_of_row[row]
        start = shared.ends[own - 1, between] if own > 0 else 0
        for turn in range(between + 1):
            filled = copied(shared.words, start, shared.ends[own, turn], records.words, filled)
            start = shared.ends[own, turn]
            if turn < between:
                field = places[turn]
                first = 0
                if field > 0:
                    first = passed.ends[row, field - 1]
                elif row > 0:
                    first = passed.ends[row - 1, fields - 1]
                filled = copied(passed.words, first, passed.ends[row, field], records.words, filled)
        records.ends[i] = filled
