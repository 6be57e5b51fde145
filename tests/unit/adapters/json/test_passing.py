from __future__ import annotations

import numpy as np
import pytest

from stream_anon.adapters.json.passing import PassedTexts
from stream_anon.microdata.payload import joined, missing_values, taken

ROWS = [("a", 1, None), ("", -2.5, True), ("ü\u2028", 10**30, False), ("d", None, None)]


@pytest.mark.parametrize("rows", [[0], [3, 1], [1, 1, 0], [], [2, 3], [0, 1, 2, 3]])
def test_the_chosen_rows_are_taken_and_no_others_stay_in_memory(rows: list[int]) -> None:
    payload = PassedTexts.of(ROWS, 3)
    part = taken(payload, np.array(rows, np.intp))
    assert list(part) == [ROWS[row] for row in rows]
    assert isinstance(part, PassedTexts)
    assert len(part.text) == (part.ends[-1, -1] if rows else 0)  # nobody else's values stay in memory


@pytest.mark.parametrize("chosen", [slice(0, 2), slice(1, 4), slice(2, 2), slice(None, None, 2), slice(3, None)])
def test_a_slice_keeps_no_other_rows_alive(chosen: slice) -> None:
    part = taken(PassedTexts.of(ROWS, 3), chosen)
    assert list(part) == ROWS[chosen]
    assert isinstance(part, PassedTexts)
    assert part.text.base is None or len(part.text.base) == len(part.text)


def test_payloads_are_joined_in_order_with_all_their_values() -> None:
    payload = PassedTexts.of(ROWS, 3)
    whole = joined([taken(payload, slice(2, 4)), [], payload, taken(payload, slice(0, 1))])
    assert list(whole) == [*ROWS[2:], *ROWS, ROWS[0]]
    assert joined([[1], [2, 3]]) == [1, 2, 3]
    assert joined([]) == []
    assert list(joined([payload, [("x",)]])) == [*ROWS, ("x",)]


def test_rows_without_values_are_kept() -> None:
    payload = PassedTexts.of([()] * 3, 0)
    assert list(payload) == [()] * 3
    assert len(taken(payload, np.array([0, 2]))) == 2
    assert len(joined([payload, payload])) == 6


def test_a_row_is_read_by_its_number_from_either_end() -> None:
    payload = PassedTexts.of(ROWS, 3)
    assert [payload[i] for i in range(-4, 4)] == ROWS * 2
    with pytest.raises(IndexError):
        payload[4]


@pytest.mark.parametrize("chosen", [slice(0, 4), slice(1, 3), slice(2, 2), slice(3, 4)])
def test_missing_values_are_counted_as_in_the_rows_themselves(chosen: slice) -> None:
    expected = [sum(row[field] is None for row in ROWS[chosen]) for field in range(3)]
    assert missing_values(PassedTexts.of(ROWS, 3), chosen, 3).tolist() == expected
    assert missing_values(ROWS, chosen, 3).tolist() == expected
    texts = PassedTexts.of([("null",), ("n",), (None,)], 1)
    assert missing_values(texts, slice(0, 3), 1).tolist() == [1]
    assert missing_values(PassedTexts.of([()] * 4, 0), chosen, 0).tolist() == []
