from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.compiled import bare_kernel
from stream_anon.formats.writing.varints import MOST_VARINT, put_varint, read_varint, varint, varint_size
from tests.support import protobuf_records

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300) | st.sampled_from([2**k for k in range(63)])


@bare_kernel
def _put(number: int, out: Any) -> int:
    return put_varint(number, out, 0)


@bare_kernel
def _read(text: Any, stop: int) -> tuple[int, int]:
    return read_varint(text, 0, stop)


@bare_kernel
def _size(number: int) -> int:
    return varint_size(number)


@given(NUMBERS)
def test_what_is_written_is_read_again_and_has_the_size_that_was_told(number: int) -> None:
    out = np.zeros(16, np.uint8)
    size = _put(number, out)
    wanted = protobuf_records.varint(number)
    assert out[:size].tobytes() == wanted == varint(number % 2**64)
    assert _size(number) == size <= MOST_VARINT
    assert _read(out, size) == (number, size)
    assert _read(out, size - 1)[1] == -1  # it breaks off


def test_longer_forms_are_read_up_to_ten_bytes() -> None:
    for more in range(10):
        text = np.frombuffer(protobuf_records.varint(5, more), np.uint8)
        assert _read(text, len(text)) == (5, len(text))
    assert _read(np.full(11, 0x80, np.uint8), 11)[1] == -1
    last = np.array([0x80] * 9 + [0x7F], np.uint8)
    assert _read(last, 10) == (-(2**63), 10)  # bits beyond 64 are dropped


def test_a_number_of_more_than_64_bits_has_no_bytes() -> None:
    assert len(varint(2**64 - 1)) == MOST_VARINT
    with pytest.raises(OverflowError):
        varint(2**64)
