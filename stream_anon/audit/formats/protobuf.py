"""Read Protobuf by Google's own library: what schemas say, and bodies that hold nothing twice or unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_VARINT, _EIGHT, _SIZED, _FOUR = 0, 1, 2, 5  # how a field is written
_MOST_LEVELS = 100
# Types by their numbers in descriptors, which this module reads without the library.
_FIXED = frozenset({1, 2, 6, 7, 15, 16})
_SIGNED = frozenset({5, 14})  # int32 and enums: negative numbers are written as those of 64 bits
_BITS = {8: 1, 13: 32, 17: 32, 5: 31, 14: 31}  # bool, uint32, sint32, and numbers that are not negative


def protobuf_bodies(message: Any) -> Callable[[bytes | None], dict[str, Any] | None]:
    """Return what decodes bodies of a message, of which the descriptor is given."""
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    kind = GetMessageClass(message)

    def decode(body: bytes | None) -> dict[str, Any] | None:
        try:
            _check_once(body or b"", message, (), set())
            return _plain(kind.FromString(body or b""), message)
        except (DecodeError, ValueError, IndexError, RecursionError):  # a library's message may hold a value
            return None

    return decode


def file_said_plainly(message: Any) -> bytes:
    """Return the file of a message's descriptor, each thing in its one place; descriptors have no comments."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto()
    message.file.CopyToProto(file)
    _put_in_order(file.message_type)
    file.enum_type.sort(key=lambda enum: enum.name)
    said: bytes = file.SerializeToString()
    return said


def _put_in_order(messages: Any) -> None:
    """Sort messages by name and fields by number, all the way down: a registry may print them in another order."""
    for message in messages:
        names = [oneof.name for oneof in message.oneof_decl]
        message.oneof_decl.sort(key=lambda oneof: oneof.name)
        places = {oneof.name: place for place, oneof in enumerate(message.oneof_decl)}
        for field in message.field:
            if field.HasField("oneof_index"):
                field.oneof_index = places[names[field.oneof_index]]
        message.field.sort(key=lambda field: field.number)
        message.enum_type.sort(key=lambda enum: enum.name)
        _put_in_order(message.nested_type)
    messages.sort(key=lambda message: message.name)


def _plain(value: Any, message: Any) -> dict[str, Any]:
    """Return a message as the JSON of typed records, null where nothing is set; ValueError for unseen bytes."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    # A declared field is unknown too if it is written as another type has it.
    if len(UnknownFieldSet(value)):
        raise ValueError("an unknown field")
    found: dict[str, Any] = {}
    for field in message.fields:
        held = getattr(value, field.name)
        if field.is_repeated:
            # A writer's own messages would break off whoever writes them as JSON.
            found[field.name] = [_plain(e, e.DESCRIPTOR) if hasattr(e, "DESCRIPTOR") else e for e in held] or None
        elif not value.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = _plain(held, field.message_type) if field.message_type is not None else held
    return found


def _check_once(body: bytes, message: Any, path: tuple[int, ...], seen: set[tuple[int, ...]]) -> None:
    """Raise ValueError if a single value stands twice or a field is unknown: a reader would not see it."""
    if len(path) > _MOST_LEVELS:
        raise ValueError("too deep")
    at = 0
    while at < len(body):
        key, at = _number(body, at)
        field = message.fields_by_number.get(key >> 3)
        if field is None:
            raise ValueError("an unknown field")
        place = (*path, key >> 3)
        start = at
        if key & 7 == _SIZED:
            size, start = _number(body, at)
            at = start + size
        elif key & 7 == _VARINT:
            number, at = _number(body, at)
            _check_held(number, field)
        elif key & 7 in (_EIGHT, _FOUR):
            at += 8 if key & 7 == _EIGHT else 4
        else:
            raise ValueError("a group")
        if at > len(body):
            raise ValueError("broken off")
        within = field.message_type is not None and not field.is_repeated
        packed = field.is_packed and start < at and key & 7 == _SIZED
        # Objects come in parts, of which each says something; texts of a list come one by one.
        if place in seen and not (within and start < at) and (packed or not field.is_repeated):
            raise ValueError("twice")
        if field.is_packed:
            _check_packed(body[start:at] if packed else b"", field)
        if within:
            _check_once(body[start:at], field.message_type, place, seen)
        seen.add(place)


def _check_packed(body: bytes, field: Any) -> None:
    """Raise ValueError if a number of a packed list is written longer than need be."""
    if not body:
        raise ValueError("not packed, or an empty list")
    at = 0
    while at < len(body) and field.type not in _FIXED:
        number, at = _number(body, at)
        _check_held(number, field)


def _check_held(number: int, field: Any) -> None:
    """Raise ValueError if a varint has bits that its field does not hold: a reader would drop them."""
    if number >> _BITS.get(field.type, 64) and not (field.type in _SIGNED and number >> 31 == (1 << 33) - 1):
        raise ValueError("more than the field holds")


def _number(body: bytes, at: int) -> tuple[int, int]:
    """Return a varint and the place behind it. Raises IndexError where it does not end."""
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if not byte and shift:
                raise ValueError("longer than need be")
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("no number")
