"""Frames that name schemas, as registries have them, before JSON; some of Glue's are compressed."""

from __future__ import annotations

import asyncio
import zlib
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.registry.framing import Framing
from stream_anon.microdata.batch import Reason
from tests.fuzz import json_inputs, reading
from tests.fuzz.cases import Case, Limits
from tests.fuzz.json_targets import MOST, json_value, may_differ
from tests.fuzz.mutations import mutated

_UUID = UUID("89791762-2336-4186-9674-299b90a802e2")
_NUMBER = 5
_FRAMES = {
    Framing.CONFLUENT: (b"\0" + _NUMBER.to_bytes(4, "big"), str(_NUMBER)),
    Framing.APICURIO_GLOBAL: (b"\0" + _NUMBER.to_bytes(8, "big"), str(_NUMBER)),
    Framing.GLUE: (b"\3\0" + _UUID.bytes, str(_UUID)),
}
_PACKED = b"\3\5" + _UUID.bytes
_WORDS = (*json_inputs.WORDS, *(frame for frame, _ in _FRAMES.values()), _PACKED, b"\1" + bytes(16))


class FrameTarget:
    """Records behind a frame; the setting is the number of the policy."""

    def __init__(self, framing: Framing) -> None:
        self._framing = framing

    def draw(self, draws: Random, count: int) -> Case:
        number = draws.randrange(len(json_inputs.policies()))
        frame, _ = _FRAMES[self._framing]
        records = list[bytes | None]()
        for text in json_inputs.records(json_inputs.policies()[number], draws, count):
            if text is None or self._framing is not Framing.GLUE or draws.random() < 0.6:
                own = None if text is None else frame + text
            else:
                own = _PACKED + zlib.compress(text, 1)
            is_changed = own is not None and draws.random() < 0.15
            records.append(mutated(own or b"", draws, [], _WORDS) if is_changed else own)
        return Case(b"%d" % number, tuple(records))

    def check(self, case: Case, limits: Limits) -> None:
        reading.check(_reader(self._framing, int(case.setting)), case.records, limits)


@cache
def _reader(framing: Framing, number: int) -> reading.Reader:
    policy, (frame, name) = json_inputs.policies()[number], _FRAMES[framing]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "anything.json"
        file.write_text("{}")
        access = RegistryAccess("http://127.0.0.1:1", framing, {name: file})
        codec = topic_codec(policy, MOST, RecordFormats("json-schema", "json", access))
        asyncio.run(codec.learn([[frame]]))
    codec.warm_up()
    return reading.Reader(
        codec, policy, lambda value: _meaning(framing, frame, value), _may_differ, same_reasons=False
    )


def _meaning(framing: Framing, frame: bytes, value: bytes | None) -> Any:
    """Return what stands behind a frame; nothing behind another one, of which no schema is known."""
    if not value or len(value) > MOST:
        raise reading.NoRecord
    if framing is Framing.GLUE and value.startswith(_PACKED):
        stream = zlib.decompressobj()
        try:
            text = stream.decompress(value[len(_PACKED) :])
        except zlib.error:
            raise reading.NoRecord from None
        if not stream.eof or stream.unused_data:
            raise reading.NoRecord
        return json_value(text)
    if not value.startswith(frame):
        raise reading.NoRecord
    return json_value(value[len(frame) :])


def _may_differ(reason: Reason | None, value: bytes | None) -> bool:
    """Return what JSON may differ in, which may be compressed."""
    if value is not None and value.startswith(_PACKED):
        try:
            value = zlib.decompressobj().decompress(value[len(_PACKED) :])
        except zlib.error:
            return False
    return may_differ(reason, value)
