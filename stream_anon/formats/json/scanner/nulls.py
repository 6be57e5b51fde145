"""Texts that mean a missing value, found among the values of a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel
from stream_anon.formats.json.scanner.forms import NULL, STRING, FieldSpans
from stream_anon.formats.json.scanner.lexing import LabelTables, look_up


@checked_kernel
def clear_nulls(
    words: NDArray[np.int64],
    spans: FieldSpans,
    table: int,
    labels: LabelTables,
) -> None:
    """Treat texts that mean a missing value as null.

    Parameters
    ----------
    spans
        Of all fields; the forms are written.
    table
        The table of these texts.
    """
    for field in range(len(spans.forms)):
        for i in range(spans.forms.shape[1]):
            if spans.forms[field, i] == STRING:
                start = spans.starts[field, i]
                if look_up(words, start, spans.stops[field, i] - start, table, labels) >= 0:
                    spans.forms[field, i] = NULL
