"""Frames of registries, whatever the bytes."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.adapters.registry.framing import UNFRAMED, Framing, SchemaKey, frames_of, lead_of, message_place
from stream_anon.microdata.texts import Texts

GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")


def _plain(value: bytes | None, framing: Framing) -> tuple[SchemaKey, bytes] | None:
    """Return what a frame names and what is behind it, one value at a time."""
    if not value:
        return None
    match framing:
        case Framing.GLUE:
            if value[0] == 3 and len(value) >= 18 and value[1] in (0, 5):
                return SchemaKey(str(uuid.UUID(bytes=value[2:18]))), value[18:]
        case Framing.CONFLUENT:
            if value[0] == 0 and len(value) >= 5:
                return SchemaKey(struct.unpack(">i", value[1:5])[0]), value[5:]
            if value[0] == 1 and len(value) >= 17:
                return SchemaKey(str(uuid.UUID(bytes=value[1:17]))), value[17:]
        case _:
            if value[0] == 0 and len(value) >= 9:
                return SchemaKey(struct.unpack(">q", value[1:9])[0]), value[9:]
    return None


def _framed() -> st.SearchStrategy[bytes | None]:
    ids = st.sampled_from(
        [b"\0\0\0\0\7", b"\0\xff\xff\xff\xff", b"\0" * 9, b"\1" + GUID.bytes, b"\3\0" + GUID.bytes]
    )
    framed = st.builds(lambda head, body: head + body, ids, st.binary(max_size=12))
    return st.one_of(st.none(), st.binary(max_size=30), framed)


@given(st.lists(_framed(), max_size=12), st.sampled_from(list(Framing)))
def test_each_value_has_the_frame_that_it_has_by_itself(values: list[bytes | None], framing: Framing) -> None:
    texts = Texts.of(values)
    frames = frames_of(texts, framing)
    for row, value in enumerate(values):
        expected = _plain(value, framing)
        if expected is None:
            assert frames.owners[row] == UNFRAMED
        else:
            key, body = expected
            assert frames.keys[frames.owners[row]] == key
            assert texts.room[frames.bodies[row] : texts.stops[row]].tobytes() == body


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
def test_the_place_of_a_message_is_read_or_not_there(
    data: bytes, place: tuple[tuple[int, ...], int] | None
) -> None:
    assert message_place(data) == place


def test_frames_that_name_messages_tell_them_apart() -> None:
    head = b"\0\0\0\0\7"
    values = [head + b"\0a", head + b"\2\0a", head + b"\2\2b", head + b"\1", b"{}", None, head + b"\0c"]
    texts = Texts.of(values)
    frames = frames_of(texts, Framing.CONFLUENT, messages=True)
    named = [None if owner == UNFRAMED else frames.keys[owner] for owner in frames.owners.tolist()]
    first, second = SchemaKey(7, (0,)), SchemaKey(7, (1,))
    assert named == [first, first, second, None, None, None, first]
    bodies = [texts.room[b:s].tobytes() for b, s in zip(frames.bodies.tolist(), texts.stops.tolist(), strict=True)]
    assert [bodies[row] for row in (0, 1, 2, 6)] == [b"a", b"a", b"b", b"c"]


def test_what_is_written_names_the_schema_as_confluent_does() -> None:
    assert lead_of(258) == b"\0\0\0\1\2"
    assert lead_of(258, (0,)) == b"\0\0\0\1\2\0"
