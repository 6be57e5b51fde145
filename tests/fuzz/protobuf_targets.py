"""Protobuf through the codec of a registry: by sound descriptors, and by others."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cache, lru_cache
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from stream_anon.formats.protobuf import proto_files
from stream_anon.microdata.batch import Reason
from tests.fuzz import protobuf_inputs, reading, schema_policy
from tests.fuzz.avro_targets import CHECKED, DRAWN, FRAME
from tests.fuzz.cases import Case, Limits
from tests.fuzz.mutations import mutated
from tests.support.protobuf_records import F, Unfit, meaning, plain_class

FIRST = FRAME + b"\0"
"""Before a body of the first message."""
_PLACES = (b"\2\2", b"\4\0\0", b"\4\0\2", b"\4\2\0", b"\6\0\0\0", b"\2\x7f", b"\x80", b"\2\4", b"\4\2\2", b"\2\6")
_WITH_VALUES = {f".google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")}
_READ = {*schema_policy.NAMES, "where", "zip"}
_SOUND, _SPOILT = b"=", b"~"


class ProtobufTarget:
    """Records of a descriptor, as those of Avro."""

    def __init__(self, *, spoilt: bool) -> None:
        self._spoilt = spoilt

    def draw(self, draws: Random, count: int) -> Case:
        file = protobuf_inputs.file(draws)
        bodies = protobuf_inputs.Bodies(draws, file, odd=draws.choice((0, 3, 20)))
        sound = [FIRST + bodies.body(".drawn.A") for _ in range(count // DRAWN + 1)]
        records = [_framed(draws, sound) for _ in range(count - len(sound))]
        text = protobuf_inputs.text_of(protobuf_inputs.spoilt(file, draws) if self._spoilt else file)
        return Case((_SPOILT if self._spoilt else _SOUND) + text.encode(), (*sound, *records))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(_reader(case.setting), case.records, limits)


def _framed(draws: Random, sound: list[bytes]) -> bytes | None:
    """Return a record that differs from sound ones, mostly behind its frame; some name another message."""
    own, fate = draws.choice(sound), draws.random()
    if fate < 0.01:
        return draws.choice((None, b"", FRAME, FIRST, b"\1" + bytes(17), bytes(schema_policy.MOST + 1)))
    if fate < 0.1:
        return FRAME + draws.choice(_PLACES) + own[len(FIRST) :]
    if fate < 0.97:
        return FIRST + mutated(own[len(FIRST) :], draws, sound, protobuf_inputs.WORDS)
    return mutated(own, draws, sound, protobuf_inputs.WORDS)


@lru_cache(4)
def _reader(setting: bytes) -> reading.Reader:
    text, policy = setting[1:].decode(), schema_policy.policy()
    with _known_files_are_compiled_once():
        codec = schema_policy.codec_with("protobuf", text, (b"\0", *_PLACES))
    if not setting.startswith(_SOUND):
        return reading.Reader(codec, policy, None)
    file = FileDescriptorProto.FromString(b64decode(text))
    kind = plain_class("drawn.A", _with_what_is_read(file))
    return reading.Reader(
        codec,
        policy,
        lambda value: _meaning(kind, value),
        lambda reason, value: _may_differ(reason, value, file),
        same_reasons=False,
        checked=CHECKED,
    )


def _with_what_is_read(file: FileDescriptorProto) -> FileDescriptorProto:
    """Return a file without the fields that no attribute declares: we do not look at them.

    Those of oneofs stay, since they replace others, but nobody asks whether their texts are UTF-8.
    """
    found = FileDescriptorProto.FromString(file.SerializeToString())
    for message in found.message_type:
        kept = [one for one in message.field if one.name in _READ or one.HasField("oneof_index")]
        del message.field[:]
        message.field.extend(kept)
        for one in message.field:
            if one.name not in _READ and one.type == FieldDescriptorProto.TYPE_STRING:
                one.type = FieldDescriptorProto.TYPE_BYTES
    return found


@contextmanager
def _known_files_are_compiled_once() -> Iterator[None]:
    """Let a process of protoc for the files that descriptors import serve all of them."""
    real = proto_files._compiled

    def compiled(schema: str, references: Mapping[str, str]) -> FileDescriptorSet:
        return real(schema, references) if references else _compiled_once(real, schema)

    proto_files._compiled = compiled
    try:
        yield
    finally:
        proto_files._compiled = real


@cache
def _compiled_once(real: Callable[[str, Mapping[str, str]], FileDescriptorSet], schema: str) -> FileDescriptorSet:
    return real(schema, {})


def _meaning(kind: Any, value: bytes | None) -> Any:
    """Return what a framed body of the first message means by Google's own reader."""
    if value is None or not value.startswith(FIRST):
        raise reading.NoRecord
    try:
        return _as_json(meaning(kind, value[len(FIRST) :]))
    except Unfit:
        raise reading.NoRecord from None


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    return _number(value) if isinstance(value, Decimal) else value


def _number(value: Decimal) -> int | float:
    return int(value) if value.as_tuple().exponent == 0 else float(value)


def _may_differ(reason: Reason | None, value: bytes | None, file: FileDescriptorProto) -> bool:
    """Return whether we may differ from Google's reader.

    It looks at messages that another member of their oneof replaces; we do not. The text of a message may be too
    large though its body is not.
    """
    if reason is Reason.TOO_LARGE:
        return schema_policy.is_long(value)
    if reason is None:
        return not (value or b"").startswith(FIRST) or _has_replaced_messages(file)
    return False


def _has_replaced_messages(file: FileDescriptorProto) -> bool:
    """Return whether a message may be in a oneof; what a Value holds is in one."""
    return any(
        field.type_name in _WITH_VALUES
        or (field.HasField("oneof_index") and field.type in (F.TYPE_MESSAGE, F.TYPE_GROUP))
        for outer in file.message_type
        for message in (outer, *outer.nested_type)
        for field in message.field
    )
