"""What a program that reads Avro consists of: steps, each of which reads one value or leads on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

(
    NOTHING,
    END,
    CALL,
    RETURN,
    UNION,
    ARRAY,
    ITEM,
    BOOLEAN,
    INT,
    LONG,
    FLOAT,
    DOUBLE,
    BYTES,
    STRING,
    FIXED,
    ENUM,
    DAY,
    TIME,
    MOMENT,
    LOCAL_MOMENT,
    DECIMAL,
    UUID,
) = range(22)

OPERATION, WRITTEN, FIRST, SECOND, TEXT_START, TEXT_STOP, NEXT = range(7)
COLUMNS = 7

NO_SIZE = -1  # of a decimal that tells its own


class Program(NamedTuple):
    """How bodies of one schema are read.

    Parameters
    ----------
    steps
        int64[s, `COLUMNS`]. A step writes a constant text, from `TEXT_START` to `TEXT_STOP`, does its operation and
        goes on at `NEXT`. Where `WRITTEN` is 0 its value is read and thrown away. `FIRST` and `SECOND` are:

        ===================  ==================================  ====================================
        operation            first                               second
        ===================  ==================================  ====================================
        CALL                 the step a named type begins at
        UNION                place of its steps in `tables`      how many types it has
        ITEM                 the step an item begins at          1 for a map, whose items have keys
        FIXED                bytes
        ENUM                 place of its texts in `tables`      how many symbols it has
        TIME, MOMENT         units a second                      digits of the fraction
        DECIMAL              scale                               bytes, `NO_SIZE` if a length precedes
        ===================  ==================================  ====================================
    tables
        int64[]: steps of unions, and starts and stops of the texts of enums.
    texts
        The words of all constant texts (`keys.padded_words`).
    """

    steps: NDArray[np.int64]
    tables: NDArray[np.int64]
    texts: NDArray[np.int64]
