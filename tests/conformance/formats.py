"""Every format that the conformance suite of codecs tests; a new one adds an entry here and no test of laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from stream_anon.formats.codecs import FORMATS as SHIPPED
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.envelopes.wrapping import EnvelopeKind, Updates, Wrapping
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from tests.support import avro_codec, protobuf_codec
from tests.support.framed_records import FRAME, framed_codec
from tests.support.hostile import text_of
from tests.support.marked_records import MARK, MarkedCodec
from tests.support.msgpack_codec import MsgpackCodec


class _Maker(Protocol):
    def __call__(self, policy: Policy, *, max_record_bytes: int) -> Codec: ...


@dataclass(frozen=True)
class Format:
    """A format and what a producer and a reader of it do.

    Parameters
    ----------
    make
        Its codec.
    write
        A record of the format; None where it cannot hold such a record.
    read
        What a released record says.
    scraps
        Bytes that look like the format and are not.
    means
        What a written record says; None if `read` tells.
    null
        What a null value is rejected for.
    most_text
        Returns the most bytes of text that a value of so many bytes stands for: no more, where it is the text.
    """

    make: _Maker
    write: Callable[[dict[str, Any]], bytes | None]
    read: Callable[[bytes], Any]
    scraps: tuple[bytes, ...]
    means: Callable[[bytes], Any] | None = None
    null: Reason = Reason.EMPTY
    most_text: Callable[[int], int] = lambda size: size

    def meaning(self, text: bytes) -> Any:
        """Return what a record of the input says; raises ValueError for what is none."""
        return self.read(text) if self.means is None else self.means(text)


def _packed(record: dict[str, Any]) -> bytes | None:
    try:
        return msgspec.msgpack.encode(record)
    except (OverflowError, UnicodeEncodeError):
        return None


def _wrapping(kind: EnvelopeKind, updates: Updates = Updates.RELEASE) -> _Maker:
    def make(policy: Policy, *, max_record_bytes: int) -> Codec:
        return codec_of(policy, max_record_bytes, wrapping=Wrapping(kind, updates))

    return make


def _around(before: bytes, after: bytes) -> Callable[[dict[str, Any]], bytes | None]:
    """Return what writes a record between two texts."""

    def write(record: dict[str, Any]) -> bytes | None:
        text = text_of(record)
        return None if text is None else before + text + after

    return write


def _within(*path: str) -> Callable[[bytes], Any]:
    """Return what reads the object at a path of keys; raises ValueError where there is none."""

    def means(text: bytes) -> Any:
        found = msgspec.json.decode(text)
        for key in path:
            if not isinstance(found, dict) or key not in found:
                raise ValueError(key)
            found = found[key]
        return found

    return means


def _marked(record: dict[str, Any]) -> bytes | None:
    text = text_of(record)
    return None if text is None else MARK + text


DEBEZIUM_SCRAPS = (
    b"{}",
    b'{"op":"c"}',
    b'{"op":"d","before":{"id":1},"after":null,"source":{"connector":"mysql"}}',
    b'{"op":"d","before":{"id":1},"after":null,"source":{}}',
    b'{"op":"d","id":1,"age":30}',
    b'{"op":"u","after":{"id":1,"id":2}}',
    b'{"op":"c","after":{},"op":"d"}',
    b'{"op":"x","after":{}}',
    b'{"op":7,"after":{}}',
    b'{"payload":{"op":"c","after":{}}}',
    b'{"schema":{},"payload":null}',
    b'{"schema":{},"payload":[]}',
    b'{"ts_ms":1}',
    b'{"status":"BEGIN","id":"1:2"}',
    b'{"op":"c","after":' + b"[" * 5000,
)
CLOUDEVENTS_SCRAPS = (
    b"{}",
    b'{"specversion":"1.0"}',
    b'{"specversion":"2.0","data":{}}',
    b'{"specversion":1,"data":{}}',
    b'{"specversion":"1.0","data_base64":"e30="}',
    b'{"specversion":"1.0","data":{},"data_base64":"e30="}',
    b'{"specversion":"1.0","data":"{}"}',
    b'{"specversion":"1.0","data":null}',
)


def _most_of_binary(size: int) -> int:
    """Return the bound on texts of formats whose schemas name what is written; each byte may be a number."""
    return 1_000 + 32 * size


def _framed(record: dict[str, Any]) -> bytes | None:
    text = text_of(record)
    return None if text is None else FRAME + text


FORMATS: Mapping[str, Format] = {
    "framed": Format(
        framed_codec,
        _framed,
        msgspec.json.decode,
        (
            FRAME,
            FRAME + b"[]",
            FRAME + b"{",
            FRAME[:-1],
            b"{}",
            b"\3\5" + FRAME[2:] + b"{}",
            b"\3\0" + bytes(16) + b"{}",
        ),
        lambda text: msgspec.json.decode(text.removeprefix(FRAME)),
    ),
    "avro": Format(
        avro_codec.AvroCodec,
        avro_codec.written,
        msgspec.json.decode,
        (
            b"\x00\x00",
            b"\x02",
            b"\x02\x04id\x08\x02\xff\x00",
            b"\x01\x00\x00",
            b"\xff" * 10,
            b"\x02\x00\x0a" * 2000,
            b"\x02\x00\x0c" * 2000,
        ),
        avro_codec.meant,
        most_text=_most_of_binary,
    ),
    "protobuf": Format(
        protobuf_codec.ProtobufCodec,
        protobuf_codec.written,
        msgspec.json.decode,
        (
            MARK,
            b"\x0a\x00",
            MARK + b"\x00\x00",
            MARK + b"\x0a\xff\xff\xff\xff\x07",
            MARK + b"\x0a\x04\x0a\x02id",
            MARK + b"\x0a\x07\x0a\x01a\x12\x02\x1a\xff",
            MARK + b"\x0a\x06\x0a\x02\xff\xfe\x12\x00",
            MARK + b"\x0b" * 3000,
            MARK + b"\x80" * 20,
        ),
        protobuf_codec.meant,
        most_text=_most_of_binary,
    ),
    "marked": Format(
        MarkedCodec,
        _marked,
        msgspec.json.decode,
        (MARK, MARK + b"[]", MARK + b"{", b"{}"),
        lambda text: msgspec.json.decode(text.removeprefix(MARK)),
    ),
    "debezium": Format(
        _wrapping(EnvelopeKind.DEBEZIUM),
        _around(b'{"before": {"id": "old", "age": [1, {}]}, "after": ', b', "source": {"db": "x"}, "op": "c"}'),
        msgspec.json.decode,
        DEBEZIUM_SCRAPS,
        _within("after"),
        Reason.TOMBSTONE,
    ),
    "debezium-pair": Format(
        _wrapping(EnvelopeKind.DEBEZIUM, Updates.SKIP),
        _around(b'{"schema":{"type":"struct","fields":[]},"payload":{"op":"r","before":null,"after":', b"}}"),
        msgspec.json.decode,
        DEBEZIUM_SCRAPS,
        _within("payload", "after"),
        Reason.TOMBSTONE,
    ),
    "cloudevents": Format(
        _wrapping(EnvelopeKind.CLOUDEVENTS),
        _around(b'{"specversion" : "1.0", "id": "a", "type": "t", "source": "/s", "data" : ', b" }"),
        msgspec.json.decode,
        CLOUDEVENTS_SCRAPS,
        _within("data"),
        Reason.TOMBSTONE,
    ),
    "cloudevents-binary": Format(
        _wrapping(EnvelopeKind.CLOUDEVENTS),
        text_of,
        msgspec.json.decode,
        CLOUDEVENTS_SCRAPS,
        null=Reason.TOMBSTONE,
    ),
    "connect": Format(
        _wrapping(EnvelopeKind.CONNECT),
        _around(b'{"schema":{"type":"struct","fields":[],"optional":false},"payload":', b"}"),
        msgspec.json.decode,
        (b"{}", b'{"payload":{}}', b'{"schema":null,"payload":null}', b'{"schema":{},"payload":[]}', b"[]"),
        _within("payload"),
        Reason.TOMBSTONE,
    ),
    "json": Format(
        SHIPPED["json"],
        text_of,
        msgspec.json.decode,
        (
            b"null",
            b"[]",
            b"{",
            b"{}{}",
            b'{"id":',
            b'{"id":"\xff"}',
            b"[" * 5000,
            b'{"a":' * 5000,
            b"\xef\xbb\xbf{}",
        ),
    ),
    "msgpack": Format(
        MsgpackCodec,
        _packed,
        msgspec.msgpack.decode,
        (
            b"\xc0",
            b"\x90",
            b"\x81",
            b"\xc1",
            b"\x81\xa2id\xa1\xff",
            b"\x91" * 5000,
            b"\x81\xa1a" * 5000,
            b"\xdf\xff",
        ),
    ),
}
