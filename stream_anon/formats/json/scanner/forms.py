"""The forms of a value: what the scanner knows about it before its attribute is looked at.

The span of a string is within its quotes. The span of a decimal ends before trailing zeros, so that `248.0` is the
integer `248`. An `ODD` value is sound JSON that needs a closer look: a string with escapes, or a number with an
exponent or with more digits than kernels calculate with. Its span is its whole text, with quotes.
A `NEST` is an array or object that is taken as it stands, brackets and all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ABSENT, NULL, STRING, INTEGER, DECIMAL, TRUE, FALSE, OTHER, OBJECT, ODD, NEST = range(11)
LIST = -3  # stands for the table of a field's keys where it is a list
MOST_DIGITS = 18  # of an integer in 64 bits
MOST_EXACT = 15  # of a decimal whose float has no other decimal


class FieldSpans(NamedTuple):
    """The forms of the values of a field in n records, and where they stand; or of p fields, by field and record.

    Parameters
    ----------
    forms, starts, stops
        int8, int64 and int64[n] or [p, n].
    """

    forms: NDArray[np.int8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
