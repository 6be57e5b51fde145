"""Audit files and topics: read what was released and what was certified, and hand both to the audit."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from stream_anon.adapters.clock import Clock
from stream_anon.adapters.kafka.committed import CommittedRecord, committed_records
from stream_anon.adapters.logs import open_log, quiet_libraries
from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.cells import CellReader, header_cells
from stream_anon.audit.records import decode_record
from stream_anon.audit.verdict import Verdict
from stream_anon.errors import InputError
from stream_anon.microdata.policy import Policy
from stream_anon.runtime.policy_file import build_policy, load_policy
from stream_anon.runtime.settings import KafkaSettings, load_settings
from stream_anon.runtime.wiring import connection_of, kafka_of

MOST_LINE_BYTES = 64 * 2**20
_MOST_CELL = 2**24

PATIENCE = 15.0  # seconds for a transaction to end whose worker died: its timeout is 10 by default

Decoded = dict[str, Any] | None


def audit_files(policy_path: Path, output: Path, certificates: Path) -> Verdict:
    """Return the verdict on released records in a CSV or JSON Lines file, one window in memory at a time.

    Parameters
    ----------
    policy_path
        Settings file of the policy.
    output
        Released records; CSV if its name ends so, else JSON Lines.
    certificates
        A part of a certificate a line, windows in the order of `output`.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    policy = load_policy(policy_path)
    with ExitStack() as stack:
        parts = _lines(stack.enter_context(_open(certificates)), certificates)
        if output.suffix.lower() == ".csv":
            records = _rows(stack.enter_context(_open(output)), output, policy)
        else:
            records = map(decode_record, _lines(stack.enter_context(_open(output)), output))
        return audit_in_order(policy, parts, records)


def audit_topic(config: Path) -> Verdict:
    """Return the verdict on the output topic of a settings file and its certificates, read to their ends.

    Where the service still writes, it reads on until all that was begun is there.

    Raises
    ------
    SettingsError, BrokerError
        If the settings are wrong, or the topics cannot be read.
    """
    settings = load_settings(config)
    kafka, policy = kafka_of(settings), build_policy(settings, config)
    clock = Clock()
    with quiet_libraries(open_log(clock.wall, settings.logs.format, "error"), clock.monotonic):
        return asyncio.run(audit_committed(kafka, policy))


async def audit_committed(kafka: KafkaSettings, policy: Policy) -> Verdict:
    """Return the verdict on what readers of committed records see of an output topic; see `audit_topic`."""
    audit = Audit(policy)
    topics = (kafka.output, kafka.certificates)
    async for records in committed_records(connection_of(kafka), topics, lambda: audit.at_rest, PATIENCE):
        for record in records:
            if record.topic == kafka.certificates:
                audit.add_part(record.value, _batch(record) or "")
            else:
                bare = not record.keyed and len(record.headers) == 1
                audit.add_record(_batch(record), decode_record(record.value), record.time, bare=bare)
    return audit.finish()


def _batch(record: CommittedRecord) -> str | None:
    """Return the header that names the window; None where it is absent or stands twice."""
    values = [value for name, value in record.headers if name == "batch"]
    return values[0].decode("ascii", "replace") if len(values) == 1 else None


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise InputError(f"{path}: line {number} is longer than {MOST_LINE_BYTES // 2**20} MiB")
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _rows(file: BinaryIO, path: Path, policy: Policy) -> Iterator[Decoded]:
    """Yield the records of a CSV file with a header of dotted names."""
    lines = _texts(file, path)
    header = next(lines, "")
    delimiter, names = header_cells(header.removeprefix("\ufeff"), policy, _split)
    reader = CellReader(policy, names)
    limit = csv.field_size_limit(_MOST_CELL)
    try:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        yield from (reader.read(row) for row in rows if row)
    except csv.Error:
        raise InputError(f"{path}: is not valid CSV after its header") from None
    finally:
        csv.field_size_limit(limit)


def _texts(file: BinaryIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InputError(f"{path}: line {number} is not UTF-8 text") from None


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
