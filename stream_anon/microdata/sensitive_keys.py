"""Keys of sensitive values: equal for equal values, of lists for the same items."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import Passing, PassThrough, ScalarType, Sensitive
from stream_anon.microdata.batch import MISSING_KEY, ItemKeys
from stream_anon.microdata.domains.domain import Scalar
from stream_anon.microdata.domains.families import MISSING_TEXT
from stream_anon.microdata.keys import text_keys


def sensitive_keys(values: Sequence[Scalar | None], ordered: bool = False) -> NDArray[np.int64]:
    """Return keys that are equal for equal values, int64[n]: 1 and 1.0 are equal, missing is a value of its own.

    With `ordered` keys of numbers ascend as the numbers do.
    """
    if ordered:
        return np.array([_rank(v) if isinstance(v, int | float) else MISSING_KEY for v in values], np.int64)
    texts = [_sensitive_text(value) for value in values]
    keys = text_keys([text or "" for text in texts])
    keys[[text is None for text in texts]] = MISSING_KEY
    return keys


def set_keys(values: Sequence[Passing]) -> tuple[NDArray[np.int64], ItemKeys]:
    """Return keys that are equal for lists of the same items, int64[n], and the keys of the items behind each.

    Order and repetition do not count. A list without items says as little as a missing one.
    """
    lists = [value if isinstance(value, tuple) else () for value in values]
    items = [tuple(sorted(set(sensitive_keys(one).tolist()))) for one in lists]
    keys = text_keys([",".join(map(str, one)) for one in items])
    keys[[not one for one in items]] = MISSING_KEY
    return keys, {key: one for key, one in zip(keys.tolist(), items, strict=True) if one}


def criterion_keys(
    attribute: PassThrough, values: Sequence[Passing], ordered: bool
) -> tuple[NDArray[np.int64], ItemKeys]:
    """Return the keys of values of an attribute with a criterion, and the sets behind them if they are lists.

    Numbers that are one as a float are one: readers of JSON and Avro see no difference. With families a missing
    value is a value.
    """
    if isinstance(attribute, Sensitive) and attribute.families:
        values = [MISSING_TEXT if value is None else value for value in values]
    if attribute.type is ScalarType.NUMBER:
        values = [
            tuple(map(_as_float, one)) if isinstance(one, tuple) else one and _as_float(one) for one in values
        ]
    return (
        set_keys(values) if attribute.many else (sensitive_keys(cast("list[Scalar | None]", values), ordered), {})
    )


def family_keys(attribute: Sensitive) -> dict[int, int]:
    """Return the number of its family for the key of each value of a family that is published as it is."""
    numbers = [number for number, family in enumerate(attribute.families) for _ in family]
    values = [value for family in attribute.families for value in family]
    return dict(zip(criterion_keys(attribute, values, ordered=False)[0].tolist(), numbers, strict=True))


def _as_float(value: Scalar) -> Scalar:
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return value


def _sensitive_text(value: Scalar | None) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if value is None or isinstance(value, str) else str(value)


def _rank(number: float) -> int:
    """Return a number's bits, turned so that they ascend with it; those that are one as a float are one."""
    try:
        double = float(number) + 0.0
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    bits: int = struct.unpack("<q", struct.pack("<d", double))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF
