"""How a key that arrives resembles a declared one that does not, without repeating the key."""

from __future__ import annotations

import json

import pytest

from stream_anon.judging.likeness import MOST_LOOKED_AT, likeness, one_edit_apart


@pytest.mark.parametrize(
    ("record", "path", "told"),
    [
        ({"Age": 3}, ("age",), "only in case"),
        ({"after": {"AGE": 3}}, ("after", "age"), "only in case"),
        ({"after.age": 3}, ("after", "age"), "single key with the dots"),
        ({"after": {"x.age": 3}}, ("after", "x", "age"), "single key with the dots"),
        ({"after": {"age": 3}}, ("after.age",), "one within the other"),
        ({"after": {"age": 3}}, ("after", "agee"), "one character"),
        ({"ag": 3}, ("age",), "one character"),
        ({"income": 3}, ("age",), ""),
        ({"age": None}, ("age",), ""),
        ({"age": {"years": 3}}, ("age",), ""),
    ],
)
def test_a_key_that_comes_is_likened_to_the_declared_one(
    record: dict[str, object], path: tuple[str, ...], told: str
) -> None:
    found = likeness([b"{", None, b"[]", json.dumps(record).encode()], path)
    assert (told in found) if told else not found


def test_no_key_of_the_sample_is_repeated() -> None:
    found = likeness([b'{"zyxwvut": 1}'], ("zyxwvu",))
    assert found
    assert "zyxwv" not in found


def test_only_the_first_records_are_looked_at() -> None:
    assert not likeness([b"{}"] * MOST_LOOKED_AT + [b'{"Age": 1}'], ("age",))


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("age", "agee", True),
        ("age", "gage", True),
        ("age", "ago", True),
        ("age", "age", False),
        ("age", "aegx", False),
        ("", "a", True),
        ("age", "agexy", False),
        ("abc", "xbd", False),
    ],
)
def test_one_edit_adds_leaves_out_or_replaces_a_character(one: str, other: str, apart: bool) -> None:
    assert one_edit_apart(one, other) is apart
    assert one_edit_apart(other, one) is apart
