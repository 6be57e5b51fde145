"""Texts that mean a missing value, found among the values of a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.json.scanner.forms import NULL, STRING
from stream_anon.formats.json.scanner.lexing import look_up


@checked_kernel
def clear_nulls(
    words: NDArray[np.int64],
    forms: NDArray[np.int8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    table: NDArray[np.int64],
    slots: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> None:
    """Treat texts that mean a missing value as null.

    Parameters
    ----------
    forms, starts, stops
        int8 and int64[fields, n]; forms are written.
    table, slots, labels
        int64[2] and see `ScanTables`.
    """
    for field in range(len(forms)):
        for i in range(forms.shape[1]):
            if forms[field, i] == STRING:
                start = starts[field, i]
                if look_up(words, start, stops[field, i] - start, table[0], table[1], slots, labels) >= 0:
                    forms[field, i] = NULL
