from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.compiled import bare_kernel
from stream_anon.formats.writing.varints import (
    MOST_VARINT,
    put_varint,
    read_varint,
    read_zigzag,
    varint,
    varint_at,
    varint_size,
    zigzag,
    zigzagged,
)
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


@bare_kernel
def _put_zigzag(number: int, out: Any) -> int:
    return put_varint(zigzagged(number), out, 0)


@bare_kernel
def _read_zigzag(text: Any, stop: int) -> tuple[int, int]:
    return read_zigzag(text, 0, stop)


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


@given(NUMBERS)
def test_a_zigzag_integer_is_read_as_it_was_written_by_either_way(number: int) -> None:
    out = np.zeros(16, np.uint8)
    size = _put_zigzag(number, out)
    assert out[:size].tobytes() == zigzag(number) == varint(2 * number if number >= 0 else -2 * number - 1)
    assert _read_zigzag(out, size) == (number, size)
    assert _read_zigzag(out, size - 1)[1] == -1


@given(st.binary(max_size=14), st.integers(0, 15), st.integers(1, MOST_VARINT))
def test_one_integer_is_read_from_any_bytes_as_the_kernel_reads_it(data: bytes, at: int, most: int) -> None:
    found = varint_at(data, at, most)
    number, after = _read(np.frombuffer(data[at:] + bytes(1), np.uint8), min(len(data[at:]), most))
    if found is None:
        assert after == -1
    else:
        assert (found[0] % 2**64, found[1]) == (number % 2**64, at + after)


def test_a_number_of_more_than_64_bits_has_no_bytes() -> None:
    assert len(varint(2**64 - 1)) == MOST_VARINT
    with pytest.raises(OverflowError):
        varint(2**64)
