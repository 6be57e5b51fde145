"""The formats of records by name. A new one is a room beside `json` and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from stream_anon.adapters.json.codec import JsonCodec
from stream_anon.microdata.policy import Policy
from stream_anon.ports import MOST_RECORD_BYTES, Codec


class _Maker(Protocol):
    def __call__(self, policy: Policy, *, max_record_bytes: int) -> Codec: ...


FORMATS: Mapping[str, _Maker] = {"json": JsonCodec}


def codec_of(policy: Policy, max_record_bytes: int = MOST_RECORD_BYTES, name: str = "json") -> Codec:
    """Return the codec of a format.

    Parameters
    ----------
    max_record_bytes
        Larger records are rejected unread.
    name
        One of `FORMATS`.
    """
    return FORMATS[name](policy, max_record_bytes=max_record_bytes)
