"""Windows of a released file, as its certificates state them."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.errors import InputError, LaterVersionError
from stream_anon.microdata.attributes import Identifier
from stream_anon.microdata.domains.numbers import NumericDomain
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.operations.released_windows import ReleasedWindows, certified_windows
from tests.support.commands import run
from tests.support.policies import write_document, write_json_lines

DOCUMENT: dict[str, Any] = {
    "privacy": {"k": 2, "individual": "every-record"},
    "attributes": {"age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}}},
    "window": {"max_records": 10, "max_delay": "60s"},
}

POLICY = Policy(
    (QuasiIdentifier("age", NumericDomain(Decimal(0), Decimal(99), Decimal(1), 0)),), k=2, individual=EVERY_RECORD
)


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """Certificates of windows of 10, 10 and 5 records that fit; before every fifth stands one that does not."""
    policy = write_document(tmp_path, DOCUMENT)
    records = [
        {"age": age} if part else {"age": "old"} for age in range(25) for part in ((0, 1) if age % 5 == 0 else (1,))
    ]
    source, proof = write_json_lines(tmp_path / "in.jsonl", records), tmp_path / "proof.jsonl"
    options = ("--by-arrival", "--fresh-draws", "--max-rejected", "50%", "--certificates", proof)
    assert run("anonymize", "-c", policy, source, tmp_path / "out.jsonl", *options) == 0
    return proof


def test_each_window_has_its_records_and_ends_where_its_input_does(certificates: Path) -> None:
    windows = certified_windows(certificates, POLICY)
    assert windows.released.tolist() == [10, 10, 5]
    assert windows.ends.tolist() == [12, 24, 30]
    assert windows.people.tolist() == [2, 2, 2]
    by_name = replace(POLICY, attributes=(Identifier("name"), *POLICY.attributes), individual="name")
    assert certified_windows(certificates, by_name).people.tolist() == [0, 0, 0], "records were counted"
    records = windows.of_records()
    assert [next(records) for _ in range(25)] == [0] * 10 + [1] * 10 + [2] * 5
    with pytest.raises(InputError, match="certifies fewer records than were released"):
        next(records)
    with pytest.raises(InputError, match="certifies more records than were released"):
        windows.of_boxes([0, 1, 2], 24)
    assert windows.of_boxes([0, 0, 1, 2], 25).of_box.tolist() == [0, 0, 1, 2]


def test_an_offset_is_in_the_window_that_ends_behind_it() -> None:
    windows = ReleasedWindows(np.array([0, 1, 2]), np.array([12, 12, 30]))
    assert windows.of_offsets(np.array([0, 11, 12, 29, 30])).tolist() == [0, 0, 2, 2, -1]


def test_records_of_others_are_spread_over_the_same_time() -> None:
    windows = ReleasedWindows(np.array([0]), np.array([12, 24, 30]))
    assert windows.stretched(np.arange(10)).tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]
    assert windows.stretched(np.empty(0, np.int64)).tolist() == []


def test_records_that_are_numbered_otherwise_than_the_input_was_are_refused(certificates: Path) -> None:
    """Offsets of a topic do not begin where those of a file do, and have gaps."""
    windows = certified_windows(certificates, POLICY)
    came = np.array([number for number in range(31) if number % 6])
    windows.require_records("in.jsonl", came[:25])
    with pytest.raises(InputError, match="certifies windows of another input"):
        windows.require_records("in.jsonl", came[:25] + 1_000)
    with pytest.raises(InputError, match="numbered otherwise"):
        windows.require_records("in.jsonl", np.arange(25) // 2)


def _changed(path: Path, **changes: Any) -> Path:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return write_json_lines(path, [line | changes if "batch" in line else line for line in lines])


def test_what_does_not_tell_windows_is_refused(certificates: Path, tmp_path: Path) -> None:
    text = certificates.read_text()
    nothing = write_json_lines(tmp_path / "nothing.jsonl", [])
    with pytest.raises(InputError, match="certifies no window"):
        certified_windows(nothing, POLICY)
    inputs = [{"topic": "input", "partition": place, "start": 0, "end": 9} for place in (0, 1)]
    with pytest.raises(InputError, match="windows of several inputs or partitions"):
        certified_windows(_changed(certificates, inputs=inputs), POLICY)
    certificates.write_text(text)
    with pytest.raises(LaterVersionError):
        certified_windows(_changed(certificates, schema=9), POLICY)
    certificates.write_text(text + '{"anything": "else"}\n')
    with pytest.raises(InputError, match="part 5 is of no certificate and no policy document"):
        certified_windows(certificates, POLICY)
