"""Whole numbers of chosen fields become decimals, and nothing else of the passing fields changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.writing.passed_texts import PassedTexts

numbers = (
    st.none()
    | st.integers(-(10**18), 10**18)
    | st.integers(-20, 20)
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.tuples(st.text(max_size=4) | st.none(), numbers, st.integers(-9, 9) | st.booleans(), numbers)


def decimal(value: Any) -> Any:
    return float(value) if type(value) is int and len(str(value)) <= 15 else value


@given(rows=st.lists(values, max_size=8), fields=st.sets(st.sampled_from([1, 3])))
def test_whole_numbers_of_the_fields_are_decimals(rows: list[Any], fields: set[int]) -> None:
    passed = PassedTexts.of(rows, 4).as_decimals(sorted(fields))
    expected = [tuple(decimal(one) if i in fields else one for i, one in enumerate(row)) for row in rows]
    assert list(map(repr, passed)) == list(map(repr, expected))
    assert int(passed.widths.sum()) == passed.text.size


def test_numbers_that_a_decimal_would_confuse_stay_as_they_are() -> None:
    rows = [(999_999_999_999_999,), (1_000_000_000_000_000,), (-99_999_999_999_999,), (1e22,), (None,)]
    texts = PassedTexts.of(rows, 1).as_decimals([0])
    written = np.split(texts.text, texts.ends[:-1, 0])
    assert [piece.tobytes() for piece in written] == [
        b"999999999999999.0",
        b"1000000000000000",
        b"-99999999999999.0",
        b"1e22",
        b"null",
    ]
