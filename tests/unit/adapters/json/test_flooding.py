"""Values that a producer has chosen so that tables of them take a square of the time."""

from __future__ import annotations

import numpy as np

from stream_anon.adapters.json.column_tables import unpredictable
from stream_anon.adapters.json.decoding import _keys

FLOOD = [i * (2**61 - 1) for i in range(2, 1000)]


def test_integers_of_one_hash_key_a_table() -> None:
    assert len(set(map(hash, FLOOD))) == 1
    assert len(set(map(hash, unpredictable(FLOOD)))) == len(FLOOD)
    assert len(set(map(hash, unpredictable([-value for value in FLOOD])))) == len(FLOOD)


def test_equal_values_get_two_keys_or_different_ones_get_one() -> None:
    column = [1, 2**70, "1", 1.5, None, -(2**70), 2**70, 1, 10**4000, "0x1"]
    keys = np.array(_keys(column, False))
    same = keys[:, None] == keys[None, :]
    assert same.tolist() == [[str(a) == str(b) for b in column] for a in column]  # as they are written
