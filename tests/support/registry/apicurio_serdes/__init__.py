"""Apicurio's own serializers in Java, from their Maven jars."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.java import QUICK, Jars

HERE = Path(__file__).parent
JARS = Jars("Apicurio's serializers in Java", HERE, "apicurio-registry-serdes-avro-serde")
missing_parts = JARS.missing_parts


async def write(
    address: str, topic: str, form: str, schema: Path, records: Sequence[bytes], settings: Mapping[str, str]
) -> None:
    """Send records, each a JSON text as the format's own reader in Java takes it.

    Parameters
    ----------
    form
        `avro`, `protobuf` or `json-schema`.
    schema
        A file of the schema; of Protobuf, of the file's descriptor, whose message Person is written.
    settings
        Of the serializer, without `apicurio.registry.` before their names.
    """
    JARS.fetch()
    given = [f"{name}={value}" for name, value in settings.items()]
    command = [*QUICK, "-cp", JARS.path, str(HERE / "Write.java"), address, topic, form, str(schema), *given]
    lines = b"".join(record + b"\n" for record in records)
    done = await asyncio.to_thread(subprocess.run, command, input=lines, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
