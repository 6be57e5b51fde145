"""Protobuf records behind a mark, of the one message that knows whatever JSON knows, for the conformance suite."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from google.protobuf.struct_pb2 import Struct

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.protobuf.message_reader import MessageReader
from stream_anon.formats.unwrapping import UnwrappingCodec
from stream_anon.microdata.policy import Policy
from tests.support.marked_records import MARK, MarkUnwrapper
from tests.support.protobuf_records import Unfit, meaning, plain_class

_PLAIN_STRUCT = plain_class("google.protobuf.Struct")


class ProtobufCodec(UnwrappingCodec):
    """Reads Protobuf and writes JSON. The mark is framing: a message may have no byte, a record must have one."""

    def __init__(self, policy: Policy, *, max_record_bytes: int = 1_048_576) -> None:
        paths = [attribute.path for attribute in policy.attributes]
        reader = MessageReader(Struct.DESCRIPTOR, paths, max_record_bytes)
        super().__init__([MarkUnwrapper(), reader], JsonCodec(policy, max_record_bytes=max_record_bytes))
        self._most = max_record_bytes

    def most_released(self, read: int) -> int:
        return super().most_released(self._most)  # a number of nine bytes may have more digits


def written(record: dict[str, Any]) -> bytes | None:
    """Return a record as Protobuf has it; None if it holds a number that is no double, or what is no text."""
    if not _is_known(record):
        return None
    message = Struct()
    message.update(record)
    return MARK + message.SerializeToString()


def _is_known(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_known(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return all(map(_is_known, value))
    if isinstance(value, str):
        return not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value)
    return not isinstance(value, int) or (abs(value) < 2**1000 and int(float(value)) == value)


def meant(body: bytes) -> Any:
    """Return what a record says; `ValueError` if it says nothing."""
    if not body.startswith(MARK):
        raise ValueError
    try:
        return _with_floats(meaning(_PLAIN_STRUCT, body.removeprefix(MARK)))
    except Unfit:
        raise ValueError from None


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(_with_floats, value))
    return float(value) if isinstance(value, Decimal) else value
