"""Google's reader of Protobuf in Java, from its Maven jar."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.java import Jars

HERE = Path(__file__).parent
JARS = Jars("Google's reader in Java", HERE, "protobuf-java")
missing_parts = JARS.missing_parts


def reread(file: bytes, bodies: Sequence[bytes]) -> list[bytes]:
    """Return what Java writes of bodies that it read, each of the first message of a file's descriptor."""
    JARS.fetch()
    given = b"".join(struct.pack(">i", len(one)) + one for one in (file, *bodies))
    command = ["java", "-cp", JARS.path, str(HERE / "Reread.java")]
    done = subprocess.run(command, input=given, capture_output=True, check=True, timeout=120)
    found, at = [], 0
    while at < len(done.stdout):
        (size,) = struct.unpack_from(">i", done.stdout, at)
        found.append(done.stdout[at + 4 : at + 4 + size])
        at += 4 + size
    return found
