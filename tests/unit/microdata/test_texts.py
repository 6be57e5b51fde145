"""Texts in one room: from outside they are the list that they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_anon.microdata.texts import Texts

lists = st.lists(st.one_of(st.none(), st.binary(max_size=12), st.just("ä".encode())), max_size=12)


@settings(max_examples=60)
@given(lists, lists, st.integers(0, 12), st.integers(0, 12))
def test_every_value_is_kept_whole(
    first: list[bytes | None], second: list[bytes | None], begin: int, end: int
) -> None:
    both = Texts.concatenate([Texts.of(first), Texts.of(second)])
    values = first + second
    assert list(both) == values
    assert [both[i] for i in range(len(both))] == values
    part = both[begin:end]
    assert list(part) == values[begin:end]
    assert [part[i] for i in range(len(part))] == values[begin:end]
    assert list(Texts.concatenate([part, both])) == values[begin:end] + values
    assert len(part.room) >= part.size + 8


def test_bytes_that_are_no_text_are_not_taken_for_text() -> None:
    assert Texts.of([b"a", "ä".encode(), None]).is_text()
    assert not Texts.of([b"a", b"\xff"]).is_text()
    # Half a letter in each of two neighbours.
    assert not Texts.of(["ä".encode()[:1], "ä".encode()[1:]]).is_text()
    assert Texts(np.frombuffer(b"ab" + bytes(8), np.uint8), np.array([1, 2])).is_text()


def test_a_place_beyond_the_end_is_an_error() -> None:
    with pytest.raises(IndexError):
        Texts.of([b"a"])[1]
    with pytest.raises(ValueError, match="steps"):
        Texts.of([b"a", b"b"])[::2]
