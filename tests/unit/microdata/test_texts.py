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
    assert Texts.of([b"a", "ä".encode(), None]).are_text().all()
    assert Texts.of([b"a", b"\xff", "ä".encode()]).are_text().tolist() == [True, False, True]
    # Half a letter in each of two neighbours.
    assert not Texts.of(["ä".encode()[:1], "ä".encode()[1:]]).are_text().any()


@given(values=lists, spans=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=9))
def test_parts_that_are_cut_out_hold_what_stood_there(
    values: list[bytes | None], spans: list[tuple[int, int]]
) -> None:
    texts = Texts.of(values)
    joint = texts.room[: texts.size].tobytes()
    spans = [(min(a, b, len(joint)), min(max(a, b), len(joint))) for a, b in spans]
    starts, stops = (np.array([span[end] for span in spans], np.int64) for end in (0, 1))
    missing = np.array([a == b and a % 2 == 0 for a, b in spans], np.bool_)
    cut = texts.cut(starts, stops, missing)
    assert list(cut) == [None if none else joint[a:b] for (a, b), none in zip(spans, missing.tolist(), strict=True)]
    assert list(Texts.of(list(cut))) == list(cut)
    assert cut.room[: cut.size].tobytes() == Texts.of(list(cut)).room[: cut.size].tobytes()


@given(values=lists, seed=st.integers(0, 2**16))
def test_chosen_values_are_whole(values: list[bytes | None], seed: int) -> None:
    rows = np.random.default_rng(seed).random(len(values)) < 0.5
    assert list(Texts.of(values).chosen(rows)) == [value for value, row in zip(values, rows, strict=True) if row]


def test_a_place_beyond_the_end_is_an_error() -> None:
    with pytest.raises(IndexError):
        Texts.of([b"a"])[1]
    with pytest.raises(ValueError, match="steps"):
        Texts.of([b"a", b"b"])[::2]


@given(st.lists(st.binary(max_size=20), max_size=10), st.binary(max_size=8), st.sampled_from([0, 1]), st.data())
def test_parts_are_copied_as_they_are_behind_what_leads_them(
    values: list[bytes], lead: bytes, gap: int, data: st.DataObject
) -> None:
    texts = Texts.of(values)
    starts = texts.starts
    cuts = np.array([data.draw(st.integers(0, len(value))) for value in values], np.int64)
    copied = texts.cut(starts + cuts, texts.stops, lead=lead, gap=gap)
    expected = [lead + value[cut:] for value, cut in zip(values, cuts.tolist(), strict=True)]
    assert list(copied) == expected
    assert copied.gap == gap
