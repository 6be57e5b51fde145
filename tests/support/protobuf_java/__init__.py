"""Google's reader of Protobuf in Java, from its Maven jar."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.apache_kafka.launcher import fetch_jars

HERE = Path(__file__).parent
_JAR = "protobuf-java"


def missing_parts() -> str:
    """Return why Java cannot read Protobuf here; empty if it can."""
    if shutil.which("java") is None:
        return "Google's reader in Java needs Java 17 (no `java` on the path)"
    if not list((HERE / "libs").glob(f"{_JAR}-*.jar")) and shutil.which("mvn") is None:
        return "Google's reader in Java needs its jar (no `mvn` on the path to fetch it)"
    return ""


def reread(file: bytes, bodies: Sequence[bytes]) -> list[bytes]:
    """Return what Java writes of bodies that it read, each of the first message of a file's descriptor."""
    fetch_jars(HERE, _JAR)
    given = b"".join(struct.pack(">i", len(one)) + one for one in (file, *bodies))
    command = ["java", "-cp", f"{HERE / 'libs'}/*", str(HERE / "Reread.java")]
    done = subprocess.run(command, input=given, capture_output=True, check=True, timeout=120)
    found, at = [], 0
    while at < len(done.stdout):
        (size,) = struct.unpack_from(">i", done.stdout, at)
        found.append(done.stdout[at + 4 : at + 4 + size])
        at += 4 + size
    return found
