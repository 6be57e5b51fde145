"""Whichever way records come in, the same person is counted for the same id."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.tables.csv_files import CsvReader
from stream_anon.formats.tables.json_lines import JsonLinesReader
from stream_anon.library import Anonymizer, Policy
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import BatchBuilder
from tests.support.object_coder import ObjectCoder
from tests.support.policies import write_policy

STEPS = ["nfkc", "casefold", "strip", "uuid", "digits"]
UUID = "0fab37c1-22d0-4b4e-9d0c-5a1f0e6c7d88"
PEOPLE = [
    ["Jos\u00e9", "JOSE\u0301", " jos\u00e9", "\uff2a\uff4f\uff53\u00e9", "Jos\u00e9\u200b"],
    ["7", "07", "\uff17", "007 ", "\u0667"],
    [UUID, UUID.upper(), f"{{{UUID}}}", UUID.replace("-", ""), f"urn:uuid:{UUID}"],
]
RECORDS = [
    {"person": spelling, "age": 30, "home": {"city": "Oslo"}, "visits": 1, "illness": "flu"}
    for spellings in PEOPLE
    for spelling in spellings
]


def _by_hand(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    builder, coder = BatchBuilder(policy, 0), ObjectCoder(policy)
    for number, record in enumerate(records):
        builder.add(coder.code_object(record), number)
    return builder.build()


def _by_scanner(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    values = [json.dumps(record, ensure_ascii=False).encode() for record in records]
    return JsonCodec(policy).decode(values, 0, np.arange(len(values)))


def _by_columns(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    values = [json.dumps(record).encode().replace(b"flu", rb"fl\u0075") for record in records]
    return JsonCodec(policy).decode(values, 0, np.arange(len(values)))


def _by_json_lines(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    text = "".join(json.dumps(record) + "\n" for record in records)
    (batch,) = JsonLinesReader(io.BytesIO(text.encode()), JsonCodec(policy).decode)
    return batch


def _by_csv(policy: Policy, records: list[dict[str, Any]]) -> CodedBatch:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["person", "age", "home.city", "visits", "illness"])
    writer.writerows([[r["person"], r["age"], r["home"]["city"], r["visits"], r["illness"]] for r in records])
    (batch,) = CsvReader(io.BytesIO(file.getvalue().encode()), policy)
    return batch


WAYS: dict[str, Callable[[Policy, list[dict[str, Any]]], CodedBatch]] = {
    "records": _by_hand,
    "scanner": _by_scanner,
    "columns": _by_columns,
    "json lines": _by_json_lines,
    "csv": _by_csv,
}


def policy_of(folder: Path, *steps: str) -> Policy:
    return Policy.load(write_policy(folder, privacy={"individual": {"field": "person", "normalize": [*steps]}}))


@pytest.mark.parametrize("way", WAYS)
def test_ten_spellings_are_the_same_person_on_every_way_in(way: str, tmp_path: Path) -> None:
    policy = policy_of(tmp_path, *STEPS)
    batch = WAYS[way](policy, RECORDS)
    assert len(batch) == len(RECORDS)
    people = batch.individuals.reshape(len(PEOPLE), -1)
    assert (people == people[:, :1]).all()
    assert len(set(people[:, 0].tolist())) == len(PEOPLE)
    assert people[:, 0].tolist() == _by_hand(policy, RECORDS).individuals[:: len(PEOPLE[0])].tolist()


@pytest.mark.parametrize("as_bytes", [False, True])
def test_one_person_in_many_spellings_does_not_make_a_class(as_bytes: bool, tmp_path: Path) -> None:
    """Three are k; two are not, in however many spellings."""

    def released(*steps: str) -> int:
        anonymizer = Anonymizer(policy_of(tmp_path, *steps))
        records: list[Any] = [json.dumps(record).encode() if as_bytes else record for record in RECORDS[:10]]
        return sum(len(release.records) for release in [*anonymizer.add(records), *anonymizer.close()])

    assert released() == 10
    assert released(*STEPS) == 0
