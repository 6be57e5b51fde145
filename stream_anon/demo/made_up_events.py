"""The events of a demo: made-up clinic visits, or the rows of any CSV file as JSON records."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from stream_anon.errors import InputError
from stream_anon.formats.tables.csv_cells import parse
from stream_anon.formats.tables.small_texts import read_table
from stream_anon.microdata.attributes import Attribute
from stream_anon.microdata.coding import UNREADABLE, find
from stream_anon.microdata.policy import EVERY_RECORD, Policy

MOST_EVENTS = 500_000


def csv_events(path: Path, policy: Policy, most: int) -> list[bytes]:
    """Return the first `most` rows of a CSV file with a header as JSON records, typed by the policy.

    A column is an attribute's dotted name; columns that the policy does not declare stay texts. An empty cell is
    a missing value. A cell that is not of its attribute's type stays a text: the service will reject it.

    Raises
    ------
    InputError
        If there is no row, or no column for the individual or for any quasi-identifier.
    """
    rows = read_table(path)
    if len(rows) < 2:
        raise InputError(f"{path}: holds no rows below its header")
    header = rows[0]
    needed = [a.column for a in policy.quasi_identifiers]
    if policy.individual != EVERY_RECORD:
        needed.append(policy.attribute(policy.individual).column)
    absent = [name for name in needed if name not in header]
    if absent:
        raise InputError(f"{path}: has no column {', '.join(absent)} that the policy declares")
    declared = {attribute.column: attribute for attribute in policy.attributes}
    columns = [
        (declared[name].path if name in declared else (name,), _reader(declared.get(name))) for name in header
    ]
    encode = msgspec.json.Encoder().encode
    return [encode(_record(columns, row)) for row in rows[1 : most + 1]]


def _record(
    columns: Sequence[tuple[tuple[str, ...], Callable[[str], object]]], row: Sequence[str]
) -> dict[str, object]:
    record: dict[str, object] = {}
    for (path, read), cell in zip(columns, row, strict=False):
        if cell == "":
            continue
        branch = record
        for key in path[:-1]:
            branch = branch.setdefault(key, {})  # type: ignore[assignment] # declared names never clash
        branch[path[-1]] = read(cell)
    return record


def _reader(attribute: Attribute | None) -> Callable[[str], object]:
    if attribute is None:
        return str

    def read(cell: str) -> object:
        value = parse(attribute, cell)
        return cell if value is UNREADABLE else value

    return read


def partition_of(event: bytes, policy: Policy, number: int, partitions: int) -> int:
    """Return where an event goes: with all others of its individual, as a producer with keys would send it."""
    if policy.individual == EVERY_RECORD:
        return number % partitions
    try:
        record = msgspec.json.decode(event)
    except msgspec.MsgspecError:
        return number % partitions
    path = policy.attribute(policy.individual).path
    return zlib.crc32(str(find(record, path)).encode()) % partitions
