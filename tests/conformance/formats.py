"""Every format that the conformance suite of codecs tests; a new one adds an entry here and no test of laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from stream_anon.adapters.codecs import FORMATS as SHIPPED
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec
from tests.support.hostile import text_of
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
    """

    make: _Maker
    write: Callable[[dict[str, Any]], bytes | None]
    read: Callable[[bytes], Any]
    scraps: tuple[bytes, ...]


def _packed(record: dict[str, Any]) -> bytes | None:
    try:
        return msgspec.msgpack.encode(record)
    except (OverflowError, UnicodeEncodeError):
        return None


FORMATS: Mapping[str, Format] = {
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
