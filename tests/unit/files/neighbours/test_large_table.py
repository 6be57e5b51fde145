"""A table that memory does not hold is released under the promises of one that it holds."""

from __future__ import annotations

import gc
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import InputError
from stream_anon.files.anonymizing import SOURCE, CertifiedRelease
from stream_anon.files.file_report import FileReport
from stream_anon.files.job import FileJob
from stream_anon.files.neighbours import large_table, table_on_disk
from stream_anon.files.neighbours.large_table import LargeTable, rows_that_fit
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.judging.one_table import whole
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Suppression
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.settings.policy_file import load_policy
from tests.support.data import ROOT
from tests.support.effort import examples
from tests.support.open_files import open_below
from tests.support.policies import PEOPLE, people, write_json_lines, write_policy

KEY = DrawsKey(b"a key that nobody else has")
# A range of the table may lack one of the two: it would be suppressed, and its people have the other.
WHOLE_FAMILIES = {"invariant": 2, "publish": "value", "families": [["flu", "cold"], ["none", None]]}


def numbered(count: int, each: int = 1, seed: int = 0) -> list[dict[str, Any]]:
    """Return records that tell their place in `visits`."""
    return [{**record, "visits": place} for place, record in enumerate(people(count, seed, each))]


def released(
    policy: Policy, records: list[dict[str, Any]], fit: int, key: DrawsKey | None = None
) -> tuple[CertifiedRelease, list[dict[str, Any]]]:
    """Return the release of a table, and its records in their order."""
    codec, work = JsonCodec(policy), LargeTable(whole(policy), key=key, fit=fit)
    lines = [json.dumps(record).encode() for record in records]
    for first in range(0, len(lines), 17):
        some = lines[first : first + 17]
        assert list(work.add(codec.decode(some, SOURCE, np.arange(first, first + len(some))))) == []
    (certified,) = work.close()
    return certified, [json.loads(record) for one in certified.written() for record in codec.encode(one)]


def tuple_of(record: dict[str, Any]) -> str:
    return json.dumps([record["age"], record["home"]["city"]])


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("policy")
    return load_policy(write_policy(folder, window={"max_records_per_individual": 4}))


@examples(30)
@given(
    count=st.integers(60, 200),
    each=st.integers(1, 6),
    seed=st.integers(0, 9),
    bad=st.sets(st.integers(0, 59), max_size=5),
    spread=st.booleans(),
)
def test_every_record_is_accounted_once_and_every_class_has_its_individuals(
    policy: Policy, count: int, each: int, seed: int, bad: set[int], spread: bool
) -> None:
    records = numbered(count, each, seed)
    if spread:  # everybody is everywhere: their records lie in several windows, and classes of these are alike
        records = [{**record, "age": record["visits"] % 5} for record in records]
    for place in bad:
        records[place]["home"] = {"city": "Atlantis"}
    certified, found = released(policy, records, fit=40)
    release = certified.release
    assert release.released == len(found)
    assert release.released + sum(release.suppressed.values()) + len(release.rejects) == count
    assert len(release.rejects) == len(bad)
    assert max(Counter(one["visits"] for one in found).values(), default=1) == 1
    kept = Counter(records[one["visits"]]["person"] for one in found)
    assert max(kept.values(), default=0) <= 4
    groups: dict[str, list[str]] = defaultdict(list)
    for one in found:
        groups[tuple_of(one)].append(records[one["visits"]]["person"])
    told = {
        tuple_of({"age": one["values"]["age"], "home": {"city": one["values"]["home.city"]}}): one
        for part in certified.certificate
        for one in json.loads(part)["classes"]
    }
    assert told.keys() == groups.keys()
    for name, owners in groups.items():
        assert len(set(owners)) >= 3
        assert max(Counter(owners).values()) <= len(owners) / 2
        assert (told[name]["records"], told[name]["individuals"]) == (len(owners), len(set(owners)))


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, fit: int, **sections: Any) -> tuple[FileReport, bool]:
    """Return what becomes of a file of 600 records, and whether the audit finds nothing."""
    monkeypatch.setattr(large_table, "rows_that_fit", lambda *_: fit)
    monkeypatch.setattr(large_table, "_ENOUGH", 1)
    path = write_policy(folder, **sections)
    source = write_json_lines(folder / "in.jsonl", people(600))
    output, proof = folder / "out.jsonl", folder / "proof.jsonl"
    report = FileJob(load_policy(path), str(source), str(output), proof).run(lambda _: None)
    return report, audit_files(path, output, proof).verdict.clean


@pytest.mark.parametrize("engine", ["forest", "mondrian"])
def test_a_table_in_windows_passes_the_audit_and_loses_hardly_more_than_in_one(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = {"engine": {"name": engine, "seed": 1}, "privacy": {"sensitive": {"illness": {"distinct_l": 2}}}}
    one, clean = run(tmp_path, monkeypatch, 10_000, **sections)
    several, clean_too = run(tmp_path, monkeypatch, 200, **sections)
    assert clean
    assert clean_too
    assert (one.windows, several.windows) == (1, 1)
    assert one.released == several.released == 600
    assert one.gcp is not None
    assert several.gcp is not None
    assert several.gcp < 1.25 * one.gcp


def test_rows_that_find_no_class_at_the_end_of_a_window_find_one_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = {**PEOPLE["attributes"], "age": {**PEOPLE["attributes"]["age"], "max_level": 3}}
    policy = load_policy(write_policy(tmp_path, attributes=attributes))
    records = [{**one, "age": None if place % 9 == 0 else one["age"]} for place, one in enumerate(numbered(1200))]
    suppressed = []
    for most in (table_on_disk._MOST_LEFT, 0):
        monkeypatch.setattr(table_on_disk, "_MOST_LEFT", most)
        certified, found = released(policy, records, fit=200)
        release = certified.release
        suppressed.append(sum(release.suppressed.values()))
        assert len(found) == release.released == 1200 - suppressed[-1]
        assert len({one["visits"] for one in found}) == len(found)
        assert release.missing == {"age": 134}  # each once, however often it was handed on
        assert release.records_in == 1200
        assert min(release.classes.individuals) >= 3
    assert 0 <= suppressed[0] < suppressed[1]


def test_a_table_of_which_too_many_records_are_suppressed_is_suppressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    privacy = {"max_suppressed": 0, "above_max_suppressed": "suppress", "individual": "person"}
    source = people(600)
    monkeypatch.setattr(large_table, "rows_that_fit", lambda *_: 200)
    monkeypatch.setattr(large_table, "_ENOUGH", 1)
    path = write_policy(tmp_path, privacy=privacy, window={"max_records_per_individual": 1})
    file = write_json_lines(tmp_path / "in.jsonl", [*source, source[0]])
    output, proof = tmp_path / "out.jsonl", tmp_path / "proof.jsonl"
    report = FileJob(load_policy(path), str(file), str(output), proof).run(lambda _: None)
    assert report.suppressed == {"over-limit": 1, "max-suppressed": 600}
    assert output.read_bytes() == b""
    assert audit_files(path, output, proof).verdict.clean


def test_the_place_of_a_record_in_the_output_tells_nothing_of_its_window(policy: Policy) -> None:
    records = numbered(2000)
    _, found = released(policy, records, fit=400)
    ages = np.array([records[one["visits"]]["age"] for one in found])
    cities = np.array([records[one["visits"]]["home"]["city"] in ("Oslo", "Bergen") for one in found])
    for values in (ages, cities):
        assert abs(np.corrcoef(np.arange(len(found)), values)[0, 1]) < 0.13  # six times the deviation


def test_with_a_key_a_table_that_memory_does_not_hold_is_refused(policy: Policy) -> None:
    """Where its windows end would depend on the free memory: a second release of it would be another one."""
    records = numbered(300)
    assert released(policy, records, 1_000, KEY)[1] == released(policy, records, 1_000, KEY)[1]
    with pytest.raises(InputError, match=r"a key of the draws \(--fresh-draws .*--by-arrival"):
        released(policy, records, 80, KEY)


def spilled(policy: Policy) -> LargeTable:
    """Return a table of 100 people on the disk."""
    work = LargeTable(whole(policy), fit=40)
    lines = [json.dumps(record).encode() for record in people(100)]
    list(work.add(JsonCodec(policy).decode(lines, SOURCE, np.arange(100))))
    return work


def test_records_on_the_disk_have_no_name_and_their_room_is_given_back_with_the_last_of_them(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    work = spilled(policy)
    assert (open_below(tmp_path), list(tmp_path.iterdir())) == (1, [])
    (certified,) = work.close()
    heaps = certified.written()
    count = next(heaps).released
    assert (open_below(tmp_path), list(tmp_path.iterdir())) == (1, [])
    assert count + sum(one.released for one in heaps) == certified.release.released > 0
    assert open_below(tmp_path) == 0


def test_a_table_that_is_not_released_gives_its_room_back(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    work = spilled(policy)
    assert open_below(tmp_path) == 1
    del work
    gc.collect()
    assert open_below(tmp_path) == 0


def test_where_open_files_keep_their_name_they_are_their_owners_and_removed_at_the_end(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "unlink", refuse)
    work = spilled(policy)
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]
    (certified,) = work.close()
    assert sum(one.released for one in certified.written()) > 0
    assert list(tmp_path.iterdir()) == []


def coded(policy: Policy, count: int, length: int = 4, bad: int = 0) -> CodedBatch:
    """Return a batch with texts of so many characters, and with so many rejects."""
    records = [{**record, "illness": "x" * length} for record in people(count)]
    lines = [json.dumps(record).encode() for record in records] + [b"{}"] * bad
    return JsonCodec(policy).decode(lines, SOURCE, np.arange(len(lines)))


def test_rejected_records_do_not_count_for_the_rows_that_fit(policy: Policy) -> None:
    assert len(coded(policy, 100, bad=5000).rejects) == 5000
    assert rows_that_fit(coded(policy, 100, bad=5000), 10**6) == rows_that_fit(coded(policy, 100), 10**6)


@pytest.mark.parametrize(
    ("batches", "on_disk"),
    [
        ([(1000, 4), (1000, 4), (1000, 4)], False),
        ([(5, 4), (1000, 2000), (1000, 2000)], True),
        ([(1000, 4), (1000, 2000), (1000, 2000)], True),
        ([(1, 2000), (1000, 4), (1000, 4)], False),
        ([(1, 2000)] * 3, False),
        ([(500, 2000)] * 6, True),
    ],
)
def test_the_largest_rows_of_many_decide_whether_the_table_goes_to_the_disk(
    policy: Policy,
    batches: list[tuple[int, int]],
    on_disk: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    memory = 2 * large_table._TIMES * 1000 * 1000  # for a thousand rows of a kilobyte
    monkeypatch.setattr(large_table, "free_memory", lambda: memory)
    work = LargeTable(whole(policy))
    for count, length in batches:
        list(work.add(coded(policy, count, length)))
    assert open_below(tmp_path) == on_disk


def test_processes_that_share_the_memory_have_windows_of_as_many_rows_fewer(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "free_memory", lambda: 10_000_000)
    alone, shared = large_table.Room(policy), large_table.Room(policy, 4)
    for room in (alone, shared):
        room.measure(coded(policy, 1000, 4))
    assert alone.rows == pytest.approx(4 * shared.rows, abs=4)


@pytest.mark.parametrize(
    ("privacy", "needed"),
    [
        ({"sensitive": {"illness": {"t_closeness": {"t": 0.3}}}}, "frequencies"),
        ({"shields": [{"attributes": ["age"], "k": 4}]}, "shields"),
        ({"sensitive": {"illness": WHOLE_FAMILIES}}, "families whose values are published"),
    ],
)
def test_what_windows_of_neighbours_cannot_keep_is_refused(
    privacy: dict[str, Any], needed: str, tmp_path: Path
) -> None:
    policy = load_policy(write_policy(tmp_path, privacy=privacy))
    assert released(policy, numbered(60), fit=100)[0].release.released > 0
    with pytest.raises(InputError, match=rf"{needed}.*--by-arrival"):
        released(policy, numbered(120), fit=100)


def test_a_table_of_too_few_people_releases_nobody(policy: Policy) -> None:
    records = [{**record, "person": "p"} for record in numbered(100)]
    certified, found = released(policy, records, fit=40)
    assert found == []
    assert certified.release.suppressed == {Suppression.OVER_LIMIT: 96, Suppression.SHORTFALL: 4}


_KILLED = """
import os, signal, sys
from stream_anon.cli import main
from stream_anon.files.neighbours import large_table, table_on_disk
from stream_anon.files.neighbours.pieces import Pieces
large_table.rows_that_fit = lambda *_: 40
large_table._ENOUGH = 1
write = Pieces.write
def write_and_end(pieces, piece):
    write(pieces, piece)
    os.kill(os.getpid(), signal.SIGKILL)
Pieces.write = write_and_end
sys.argv = ["stream-anon", "anonymize", "--fresh-draws", "-c", *sys.argv[1:]]
main.main()
"""


def test_a_killed_run_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    source = write_json_lines(tmp_path / "in.jsonl", people(200))
    command = [sys.executable, "-c", _KILLED, write_policy(tmp_path), source, tmp_path / "out.jsonl"]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(place)}, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    assert list(place.iterdir()) == []


def test_an_empty_table_has_no_release(policy: Policy) -> None:
    assert list(LargeTable(whole(policy), fit=40).close()) == []
