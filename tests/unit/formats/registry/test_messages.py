"""What names a message of a Protobuf schema behind a frame."""

from __future__ import annotations

import pytest

from stream_anon.formats.registry.messages import MOST_BYTES, MessagePlace, name_at, number_at, place_at, place_in


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"\0rest", ((0,), 1)),
        (b"\2\0rest", ((0,), 2)),
        (b"\4\2\6rest", ((1, 3), 3)),
        (b"\2\xac\2", ((150,), 3)),
        (b"", None),
        (b"\2", None),
        (b"\1\0", None),  # minus one number
        (b"\2\1", None),  # place minus one
        (b"\xff\xff\xff\xff\xff\xff", None),
        (b"\x40" + bytes(40), None),  # 32 messages within each other
    ],
)
def test_the_place_of_a_message_is_read_or_not_there(data: bytes, place: tuple[MessagePlace, int] | None) -> None:
    assert place_at(data) == place


@pytest.mark.parametrize(
    ("data", "number"),
    [(b"\0rest", (0, 1)), (b"\1rest", (1, 1)), (b"\xac\2rest", (300, 2)), (b"", None), (b"\x80", None)],
)
def test_a_number_without_a_sign_is_read_or_not_there(data: bytes, number: tuple[int, int] | None) -> None:
    assert number_at(data) == number


LONG = b"n" * 512


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x08\n\6Personrest", ("Person", 9)),
        (b"\x83\4\n\x80\4" + LONG + b"rest", ("n" * 512, 517)),
        (b"\x84\4\n\x81\4n" + LONG, None),  # too long
        (b"\x08\n\6Perso", None),
        (b"\x09\n\6Person\0", None),  # something stands behind the name
        (b"\x08\x12\6Person", None),  # another field
        (b"\3\n\1\xff", None),  # not UTF-8
        (b"\0", None),
        (b"\2\n", None),
        (b"", None),
    ],
)
def test_the_name_of_a_message_is_read_or_not_there(data: bytes, name: tuple[str, int] | None) -> None:
    assert name_at(data) == name
    assert len(data[: 0 if name is None else name[1]]) <= MOST_BYTES


def test_a_message_is_found_by_what_its_framing_calls_it_and_by_nothing_else() -> None:
    places = ((), ((), ()))
    assert place_in((1, 1), places) == (1, 1)
    assert place_in((), ()) == ()
    assert place_in((0, 0), places) is None
    assert place_in(1, places) is None
    assert place_in("Person", {"Person": (3,)}) == (3,)
    assert place_in("Other", {"Person": (3,)}) is None
    assert place_in((0,), {0: (0,)}) is None
