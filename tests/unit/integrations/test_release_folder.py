from __future__ import annotations

import json
import os
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream_anon import Policy
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files.incoming import Incoming
from stream_anon.integrations import release_folder
from stream_anon.integrations.release_folder import ReleaseFolder
from tests.support.policies import people, write_document, write_json_lines, write_policy
from tests.support.stored import as_a_file, audited, contents, rows_of

SEEDED = {"engine": {"name": "mondrian", "seed": 1}}


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return Policy.load(write_policy(tmp_path, **SEEDED))


def folder_of(policy: Policy, tmp_path: Path, origin: str = "a query") -> ReleaseFolder:
    return ReleaseFolder(tmp_path / "released", policy, origin)


def test_a_release_is_the_one_that_a_file_of_the_same_records_gives(policy: Policy, tmp_path: Path) -> None:
    records = people(120)
    records[7]["age"] = 1000
    source = write_json_lines(tmp_path / "in.jsonl", records)
    expected, rows = as_a_file(policy, source, tmp_path)
    for name, given in (("batch=1", records), ("batch=2", pa.Table.from_pylist(records))):
        made = folder_of(policy, tmp_path).release(name, given)
        assert (made.records_in, made.released) == (120, expected.released)
        assert made.report["gcp"] == pytest.approx(expected.gcp)
        assert made.report["classes"] == expected.classes
        assert rows_of(made.records) == rows
        assert audited(tmp_path / "policy.yaml", made)
        rejected = [json.loads(line) for line in (made.folder / "_rejects.jsonl").read_text().splitlines()]
        assert rejected == [{"line": 8, "reason": "out-of-range", "attribute": "age"}]


def test_a_release_that_is_there_is_returned_and_nothing_is_read_or_changed(policy: Policy, tmp_path: Path) -> None:
    first = folder_of(policy, tmp_path).release("batch=1", people(60))
    before = contents(tmp_path)

    def unread() -> Any:
        raise AssertionError("was read")
        yield

    again = folder_of(policy, tmp_path)
    assert again.release("batch=1", unread()) == again.stored("batch=1") == first
    assert contents(tmp_path) == before
    assert again.stored("batch=2") is None


def test_of_several_that_make_a_release_at_the_same_time_one_does(policy: Policy, tmp_path: Path) -> None:
    list(Incoming(policy).batches(people(1)))  # what is compiled is compiled once

    def make(seed: int) -> Counter[str]:
        return rows_of(folder_of(policy, tmp_path).release("batch=1", people(60, seed)).records)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(make, range(4)))
    assert all(rows == found[0] for rows in found)
    assert sorted(path.name for path in (tmp_path / "released").iterdir()) == ["_origin", "batch=1"]


@pytest.mark.parametrize("step", range(6))
def test_what_fails_before_the_end_leaves_no_release_and_is_made_anew(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    releases = folder_of(policy, tmp_path)
    steps = iter(range(100))
    whole = release_folder.keep

    def failing(path: Path) -> None:
        if next(steps) == step:
            raise OSError(28, "No space left on device")
        whole(path)

    monkeypatch.setattr(release_folder, "keep", failing)
    with pytest.raises(InputError, match="cannot be written"):
        releases.release("batch=1", people(60))
    # Four files and their folder come first. In the last step the name stands, and may not be on the disk yet.
    assert (releases.stored("batch=1") is None) == (step < 5)
    assert not list((tmp_path / "released").glob(".*"))
    assert releases.release("batch=1", people(60)).records_in == 60


def test_records_that_cannot_be_read_leave_no_release_and_no_value_in_the_message(
    policy: Policy, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="has no column 'age'"):
        folder_of(policy, tmp_path).release("batch=1", pa.Table.from_pylist([{"person": "p1"}]))
    assert [path.name for path in (tmp_path / "released").iterdir()] == ["_origin"]


def test_nobody_else_can_look_into_a_release_that_is_being_made(policy: Policy, tmp_path: Path) -> None:
    modes: list[int] = []

    def records() -> Any:
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "released").glob(".*"))
        yield from people(60)

    folder_of(policy, tmp_path).release("batch=1", records())
    assert modes == [0o700]


def test_only_their_owner_can_read_what_stands_beside_the_records(policy: Policy, tmp_path: Path) -> None:
    made = folder_of(policy, tmp_path).release("batch=1", people(60))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in made.folder.iterdir()}
    assert modes.pop("released.parquet") & 0o444 == 0o666 & ~_umask() & 0o444
    assert modes == {"_certificates.jsonl": 0o600, "_rejects.jsonl": 0o600, "_report.json": 0o600}
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def test_a_folder_takes_releases_of_one_origin_only(policy: Policy, tmp_path: Path) -> None:
    folder_of(policy, tmp_path).release("batch=1", people(60))
    before = contents(tmp_path)
    with pytest.raises(Refused, match="another origin"):
        folder_of(policy, tmp_path, "another query")
    assert contents(tmp_path) == before


def test_of_several_origins_that_claim_a_folder_at_the_same_time_one_gets_it(
    policy: Policy, tmp_path: Path
) -> None:
    def claim(origin: int) -> bool:
        try:
            folder_of(policy, tmp_path, str(origin))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(claim, range(8))) == 1
    assert [path.name for path in (tmp_path / "released").iterdir()] == ["_origin"]


@pytest.mark.parametrize("name", ["", ".hidden", "_origin", "a/b", "..", "a" * 101, "ä"])
def test_a_name_leads_nowhere_else(policy: Policy, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="a release's name"):
        folder_of(policy, tmp_path).release(name, people(60))


def test_too_few_people_make_an_empty_release(policy: Policy, tmp_path: Path) -> None:
    made = folder_of(policy, tmp_path).release("batch=1", people(2))
    assert (made.records_in, made.released) == (2, 0)
    assert audited(tmp_path / "policy.yaml", made)
    none = folder_of(policy, tmp_path).release("batch=2", [])
    assert (none.records_in, none.released) == (0, 0)


def test_policies_whose_releases_no_folder_can_hold_are_refused(tmp_path: Path) -> None:
    year = {"role": "quasi-identifier", "date": {"min": "2025-01-01", "max": "2025-12-31"}}
    document = {"privacy": {"k": 2, "individual": "every-record"}, "attributes": {"day": year}}
    with pytest.raises(SettingsError, match=r"attributes\.day: all its days lie in one year"):
        folder_of(Policy.load(write_document(tmp_path, document)), tmp_path)
    method = {"name": "anatomy", "target": "illness"}
    privacy = {"sensitive": {"illness": {"distinct_l": 2}}, "k": 3, "individual": "person"}
    with pytest.raises(SettingsError, match="anatomy makes two tables"):
        folder_of(Policy.load(write_policy(tmp_path, method=method, privacy=privacy)), tmp_path)
