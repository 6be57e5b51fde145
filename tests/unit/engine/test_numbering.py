from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.numbering import Numbering

KEYS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)


@given(st.lists(st.lists(KEYS, max_size=30), max_size=6), st.integers(1, 4))
def test_people_are_numbered_as_by_a_dictionary(batches: list[list[int]], limit: int) -> None:
    numbering = Numbering(limit)
    known: dict[int, int] = {}
    admitted: dict[int, int] = {}
    for keys in batches:
        expected = []
        for key in keys:
            number = known.setdefault(key, len(known))
            admitted[key] = admitted.get(key, 0) + 1
            expected.append(number if admitted[key] <= limit else -1)
        assert numbering.number(np.array(keys, np.int64)).tolist() == expected
        assert len(numbering) == len(known)


def test_growing_keeps_numbers_and_counts() -> None:
    numbering = Numbering(2)
    keys = np.arange(5_000, dtype=np.int64) * 7_919
    assert numbering.number(keys[:10]).tolist() == list(range(10))
    assert numbering.number(keys).tolist() == list(range(5_000))
    assert (numbering.number(keys[:10]) == -1).all()
    assert numbering.number(keys[10:20]).tolist() == list(range(10, 20))
    assert (numbering.number(keys[10:20]) == -1).all()


def _chosen(factor: int) -> np.ndarray:
    """Return keys that all fall on one place of a table up to 2**20 for somebody who knows the factor."""
    high = np.arange(1, 200_001, dtype=np.uint64)
    mixed = (high << np.uint64(32)) | (high ^ ((high & np.uint64(4095)) << np.uint64(20)))
    turned = mixed * np.uint64(pow(factor, -1, 2**64))
    turned = turned[turned < 2**63][:90_000]
    return (turned ^ (turned >> np.uint64(32))).astype(np.int64)


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(_chosen(0x5851F42D4C957F2D), id="chosen by somebody who knows this code"),
        pytest.param(np.arange(100_000, dtype=np.int64) << 40, id="low bits zero"),
        pytest.param(np.arange(100_000, dtype=np.float64).view(np.int64), id="bits of floats"),
        pytest.param(np.arange(100_000, dtype=np.int64) << 20, id="middle bits"),
        pytest.param(-np.arange(100_000, dtype=np.int64), id="negative"),
    ],
)
def test_keys_alike_in_their_low_bits_are_numbered_fast(keys: np.ndarray) -> None:
    numbering = Numbering(1)
    numbering.number(keys[:10])
    start = time.thread_time()
    numbering.number(keys[10:])
    assert time.thread_time() - start < 0.5  # 10 s and more where all fall on one place
    assert len(numbering) == len(keys)
