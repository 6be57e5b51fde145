"""JSON behind the frame of a registry, whose one schema stands in a file."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

from stream_anon.adapters.registry.access import RegistryAccess
from stream_anon.formats.codecs import RecordFormats, topic_codec
from stream_anon.formats.registry.framing import Framing
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec

_SCHEMA = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
FRAME = b"\3\0" + _SCHEMA.bytes


def framed_codec(policy: Policy, *, max_record_bytes: int = 1_048_576) -> Codec:
    """Return a codec that has learned the schema and asks nobody."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "anything.json"
        file.write_text("{}")
        access = RegistryAccess("http://127.0.0.1:1", Framing.GLUE, {str(_SCHEMA): file})
        codec = topic_codec(policy, max_record_bytes, RecordFormats("json-schema", "json", access))
        asyncio.run(codec.learn([[FRAME]]))
    return codec
