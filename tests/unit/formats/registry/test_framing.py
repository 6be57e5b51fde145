"""Frames of registries, whatever the bytes."""

from __future__ import annotations

import struct
import uuid

from hypothesis import given
from hypothesis import strategies as st

from stream_anon.formats.registry.framing import UNFRAMED, Framing, SchemaKey, frames_of, lead_of
from stream_anon.formats.registry.messages import name_at, number_at, place_at
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


GLUE = b"\3\0" + GUID.bytes
# Messages as each framing names them.
NAMED = {
    Framing.CONFLUENT: (b"\0\0\0\0\7", [b"\0", b"\2\0", b"\2\2", b"\4\2\0"]),
    Framing.GLUE: (GLUE, [b"\0", b"\1", b"\xac\2"]),
    Framing.APICURIO_GLOBAL: (b"\0" * 8 + b"\7", [b"\7\n\5Visit", b"\7\n\5Other", b"\x03\n\1V"]),
}
_READERS = {Framing.CONFLUENT: place_at, Framing.GLUE: number_at, Framing.APICURIO_GLOBAL: name_at}


@given(st.data(), st.sampled_from(list(NAMED)))
def test_each_value_names_the_message_that_it_names_by_itself(data: st.DataObject, framing: Framing) -> None:
    head, names = NAMED[framing]
    behind = st.one_of(st.sampled_from(names), st.binary(max_size=3))
    framed = st.builds(lambda name, body: head + name + body, behind, st.binary(max_size=4))
    values = data.draw(st.lists(st.one_of(st.none(), st.binary(max_size=4), framed), max_size=20))
    texts = Texts.of(values)
    frames = frames_of(texts, framing, messages=True)
    for row, value in enumerate(values):
        plain = _plain(value, framing)
        expected = None if plain is None else _READERS[framing](plain[1])
        if plain is None or expected is None:
            assert frames.owners[row] == UNFRAMED
        else:
            message, size = expected
            assert frames.keys[frames.owners[row]] == SchemaKey(plain[0].id, message)
            assert texts.room[frames.bodies[row] : texts.stops[row]].tobytes() == plain[1][size:]
    assert len(set(frames.keys)) == len(frames.keys)
    assert {*frames.owners.tolist()} - {UNFRAMED} == {*range(len(frames.keys))}, "a schema that nobody names"


def test_many_messages_of_one_schema_are_told_apart() -> None:
    values = [GLUE + bytes([number]) + b"x" for number in range(100)]
    frames = frames_of(Texts.of(values), Framing.GLUE, messages=True)
    assert [frames.keys[owner].message for owner in frames.owners.tolist()] == list(range(100))


def test_what_is_written_names_the_schema_as_confluent_does() -> None:
    assert lead_of(258) == b"\0\0\0\1\2"
    assert lead_of(258, message=True) == b"\0\0\0\1\2\0"
