"""What a program that reads Protobuf consists of: messages, and the fields of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

VARINT, FIXED_64, LENGTH, GROUP, END_GROUP, FIXED_32 = range(6)
"""The forms that a value has in bytes, as its tag tells."""

OBJECT, VALUE, ENTRY, TIMESTAMP, DURATION, DATE, DECIMAL, DECIMAL_TEXT = range(8)
"""The kinds of messages.

An entry is one of a map. A value is written as its only field, or that one of a oneof, without an object around it.
The others are written as scalars are.
"""

(
    INT_32,
    INT_64,
    UINT_32,
    UINT_64,
    SINT_32,
    SINT_64,
    BOOLEAN,
    ENUM,
    CLOSED_ENUM,
    NULL,
    FIXED_32_UNSIGNED,
    FIXED_32_SIGNED,
    FLOAT,
    FIXED_64_UNSIGNED,
    FIXED_64_SIGNED,
    DOUBLE,
    STRING,
    BYTES,
    MESSAGE,
    IGNORED,
) = range(20)
"""What a field holds. An ignored one is not read, and still clears the others of its oneof.

One of a closed enum has the numbers of that: another number is not there, and clears nothing.
"""

ONE, MANY, MAP = range(3)
"""How often a field may occur."""

SPECIAL_FIELDS = {
    TIMESTAMP: {1: INT_64, 2: INT_32},
    DURATION: {1: INT_64, 2: INT_32},
    DATE: {1: INT_32, 2: INT_32, 3: INT_32},
    DECIMAL_TEXT: {1: STRING},
    DECIMAL: {1: BYTES, 2: UINT_32, 3: INT_32},
}
"""What the kernel takes to be in messages of these kinds: what each field holds, by its number."""

KIND, FIRST_FIELD, FIELDS = range(3)
"""The columns of a message."""

NUMBER, OPERATION, FORM, OFTEN, TWIN, DEFAULT, FIRST, SECOND, TEXT_START, TEXT_STOP = range(10)
"""The columns of a field."""

FIELD_COLUMNS = 10
NO_DEFAULT = -(2**40)
"""No enum has such a number."""


class Program(NamedTuple):
    """How bodies of one message are read.

    Parameters
    ----------
    messages
        int64[m, 3]: `KIND`, the place of the first field, and how many there are. The body's own is the first.
    fields
        int64[f, `FIELD_COLUMNS`]: those of a message together, by `NUMBER`. `FORM` is that of a single value.
        `TWIN` is the next member of the same oneof, round and round; -1 if there is none. `DEFAULT` is the number
        that an absent field stands for, `NO_DEFAULT` where it is missing. `FIRST` of a message is its place in
        `messages`. `FIRST` and `SECOND` of an enum are the place of its numbers in `tables`, and how many there
        are. The text is that of the key.
    tables
        int64[]: of each enum its numbers, ascending, each with the start and the stop of its text.
    texts
        The words of all constant texts (`keys.padded_words`).
    most_fields
        The most fields of a message.
    """

    messages: NDArray[np.int64]
    fields: NDArray[np.int64]
    tables: NDArray[np.int64]
    texts: NDArray[np.int64]
    most_fields: int
