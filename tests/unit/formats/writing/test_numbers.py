"""Decimals, days and moments as kernels write them, against Python's own."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_anon.compiled import bare_kernel
from stream_anon.formats.writing.numbers import (
    MOST_DECIMAL,
    MOST_DECIMAL_BYTES,
    MOST_SCALE,
    SCRATCH,
    day_of,
    put_day,
    put_decimal,
    put_integer,
    put_moment,
    put_time,
    put_unsigned,
)
from tests.support.avro_records import meaning

LONGS = st.integers(-(2**63), 2**63 - 1)


@bare_kernel
def integer(number: int, out: Any, place: int) -> int:
    return put_integer(number, out, place)


def written(put: Any, *arguments: Any) -> str:
    out = np.zeros(MOST_DECIMAL + 64, np.uint8)
    return out[: put(*arguments, out, 0)].tobytes().decode()


@given(LONGS)
@example(-(2**63))
@example(10**18)
@example(10**18 - 1)
@example(0)
def test_an_integer_is_written_as_python_writes_it(number: int) -> None:
    assert written(integer, np.int64(number)) == str(number)


@given(st.binary(max_size=MOST_DECIMAL_BYTES), st.integers(0, MOST_SCALE))
@example(b"", 3)
@example(b"\x80" + bytes(MOST_DECIMAL_BYTES - 1), 0)
@example(b"\xff" * MOST_DECIMAL_BYTES, 1)
def test_a_decimal_is_written_with_every_digit(raw: bytes, scale: int) -> None:
    text = written(put_decimal, np.frombuffer(raw, np.uint8), 0, len(raw), scale, np.empty(SCRATCH, np.int64))
    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == meaning(raw, "decimal", {"scale": scale})
    assert len(text.partition(".")[2]) == scale


def test_a_decimal_of_too_many_bytes_cannot_be_read_unless_they_say_nothing() -> None:
    for raw, expected in (
        (b"\x01" * (MOST_DECIMAL_BYTES + 1), "[[]]"),
        (b"\xff" * 5000 + b"\x85", "-123"),
        (bytes(5000) + b"\x05", "5"),
    ):
        scratch = np.empty(SCRATCH, np.int64)
        assert written(put_decimal, np.frombuffer(raw, np.uint8), 0, len(raw), 0, scratch) == expected


@given(st.integers(-800_000, 3_000_000) | st.integers(-(2**31), 2**31 - 1))
@example(-719_162)
@example(-719_163)
@example(2_932_896)
@example(2_932_897)
def test_a_day_is_written_as_python_writes_it(day: int) -> None:
    expected = meaning(day, "date", {})
    assert json.loads(written(put_day, np.int64(day))) == (expected or [[]])


@pytest.mark.parametrize(("unit", "digits"), [("millis", 3), ("micros", 6), ("nanos", 9)])
@pytest.mark.parametrize("zulu", [True, False])
@given(number=LONGS | st.integers(-(10**15), 10**15))
@example(-1)
@example(-62_135_596_800_000)
@example(253_402_300_799_999_999)
def test_a_moment_is_written_as_python_writes_it(unit: str, digits: int, zulu: bool, number: int) -> None:
    expected = meaning(number, f"{'' if zulu else 'local-'}timestamp-{unit}", {})
    found = written(put_moment, np.int64(number), 10**digits, digits, int(zulu))
    assert json.loads(found) == (expected or [[]])


@given(st.integers(-5, 86_400_005_000) | LONGS)
def test_a_time_of_day_is_written_as_python_writes_it(number: int) -> None:
    expected = meaning(number, "time-micros", {})
    assert json.loads(written(put_time, np.int64(number), 10**6, 6)) == (expected or [[]])


@bare_kernel
def _day(year: int, month: int, day: int, out: Any) -> int:
    return put_day(day_of(year, month, day), out, 0)


@bare_kernel
def _unsigned(number: int, out: Any) -> int:
    return put_unsigned(number, out, 0)


@given(st.dates() | st.tuples(st.integers(-2, 10_001), st.integers(-1, 14), st.integers(-1, 33)))
def test_a_day_is_one_of_the_calendar_or_unreadable(given_day: dt.date | tuple[int, int, int]) -> None:
    year, month, day = given_day if isinstance(given_day, tuple) else given_day.timetuple()[:3]
    try:
        wanted = f'"{dt.date(year, month, day).isoformat()}"'
    except ValueError:
        wanted = "[[]]"
    out = np.zeros(32, np.uint8)
    assert out[: _day(year, month, day, out)].tobytes().decode() == wanted


@given(st.integers(0, 2**64 - 1) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 0]))
def test_integers_without_a_sign_are_written_whole(number: int) -> None:
    out = np.zeros(32, np.uint8)
    signed = number if number < 2**63 else number - 2**64
    assert out[: _unsigned(signed, out)].tobytes() == str(number).encode()
