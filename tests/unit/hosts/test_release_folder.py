from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stream_anon import Policy
from stream_anon.engine.keyed_draws import DrawsKey
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.files import anonymizing
from stream_anon.files.incoming import Incoming
from stream_anon.hosts import release_folder
from stream_anon.hosts.release_folder import ReleaseFolder
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.signing.signature import with_signatures
from tests.support.commands import run
from tests.support.data import ROOT
from tests.support.meddling import ONE, OTHER, check_each_meddling_is_named, in_parts
from tests.support.policies import people, write_document, write_json_lines, write_policy
from tests.support.stored import as_a_file, audited, contents, rows_of, signers_of

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
        rejected = [json.loads(line) for line in (made.private / "rejects.jsonl").read_text().splitlines()]
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
    assert sorted(path.name for path in (tmp_path / "released").iterdir()) == ["_origin", "_private", "batch=1"]


@pytest.mark.parametrize("step", range(9))
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
    # Four files and their folder come first. Then the release is made: what is left is that readers see it, and
    # that it is on the disk.
    monkeypatch.setattr(release_folder, "keep", whole)
    assert not list((tmp_path / "released" / "_private" / "making").iterdir())
    assert (tmp_path / "released" / "batch=1").exists() == (step == 8)
    assert (releases.stored("batch=1") is None) == (step < 5)
    made = releases.release("batch=1", people(60))
    assert (made.records_in, made.records.parent) == (60, tmp_path / "released" / "batch=1")
    assert audited(tmp_path / "policy.yaml", made)


def test_records_that_cannot_be_read_leave_no_release_and_no_value_in_the_message(
    policy: Policy, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="has no column 'age'"):
        folder_of(policy, tmp_path).release("batch=1", pa.Table.from_pylist([{"person": "p1"}]))
    assert not (tmp_path / "released" / "batch=1").exists()
    assert not list((tmp_path / "released" / "_private").rglob("batch=1"))


def test_readers_find_nothing_but_records_and_whole_seconds(policy: Policy, tmp_path: Path) -> None:
    made = folder_of(policy, tmp_path).release("batch=1", people(60))
    shown = tmp_path / "released" / "batch=1"
    assert made.records == shown / "released.parquet"
    for path, mode in ((shown, 0o777), (made.records, 0o666)):
        found = path.stat()
        assert stat.S_IMODE(found.st_mode) == mode & ~_umask()
        assert found.st_mtime_ns % 1_000_000_000 == found.st_atime_ns % 1_000_000_000 == 0
    assert [path.name for path in shown.iterdir()] == ["released.parquet"]
    private = tmp_path / "released" / "_private"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert {path.name for path in made.private.iterdir()} == {
        "released.parquet",
        "certificates.jsonl",
        "rejects.jsonl",
        "report.json",
    }
    assert private in made.private.parents


def test_readers_do_not_learn_that_a_release_without_rows_was_made(policy: Policy, tmp_path: Path) -> None:
    releases = folder_of(policy, tmp_path)
    releases.release("batch=1", people(60))
    seen: list[dict[str, os.stat_result]] = []

    def look() -> Any:
        visible = [tmp_path / "released", *(tmp_path / "released").iterdir(), *(tmp_path / "released").glob("b*/*")]
        seen.append({str(path): path.stat() for path in visible})
        return visible

    look()

    def records() -> Any:
        look()
        yield from people(2)

    empty = releases.release("batch=2", records())
    look()
    assert releases.stored("batch=2") == empty
    assert (empty.records_in, empty.released) == (2, 0)
    for later in seen[1:]:
        assert later.keys() == seen[0].keys()
        for path, before in seen[0].items():  # all but the time of reading, which this test changes
            assert later[path][:7] == before[:7]
            assert (later[path].st_mtime_ns, later[path].st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


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
    assert sorted(path.name for path in (tmp_path / "released").iterdir()) == ["_origin", "_private"]


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


def rare(count: int = 60) -> list[dict[str, Any]]:
    return [{**record, "visits": place} for place, record in enumerate(people(count))]


def test_the_first_release_that_readers_would_see_is_judged(policy: Policy, tmp_path: Path) -> None:
    folder = folder_of(policy, tmp_path)
    assert folder.release("batch=0", rare(2)).released == 0  # nobody sees anything of it
    with pytest.raises(Refused, match=r"(?s)rare-values: .*visits: 60 of 60.*give accept_risks=..rare-values.."):
        folder.release("batch=1", rare())
    assert folder.stored("batch=1") is None
    assert not list((tmp_path / "released" / "_private" / "making").iterdir())


def test_an_accepted_risk_is_named_by_certificates_and_the_report(policy: Policy, tmp_path: Path) -> None:
    folder = ReleaseFolder(tmp_path / "released", policy, "a query", accept_risks=["rare-values"])
    made = folder.release("batch=1", rare())
    assert made.report["accepted_risks"] == ["rare-values"]
    certificates = [json.loads(line) for line in made.certificates.read_text().splitlines()]
    assert {tuple(one["accepted"]) for one in certificates if "achieved" in one} == {("rare-values",)}
    with pytest.raises(SettingsError, match="accept_risks"):
        ReleaseFolder(tmp_path / "released", policy, "a query", accept_risks=["rare"])


def test_once_a_release_of_a_policy_was_judged_its_later_ones_do_not_stop_their_host(
    policy: Policy, tmp_path: Path
) -> None:
    folder_of(policy, tmp_path).release("batch=1", people(120))
    assert folder_of(policy, tmp_path).release("batch=2", rare(4)).released == 4
    other = Policy.load(tmp_path / "policy.yaml", privacy={"k": 2})
    with pytest.raises(Refused, match="rare-values"):
        folder_of(other, tmp_path).release("batch=3", rare(4))


def test_what_was_released_under_an_accepted_risk_vouches_for_nothing_without_it(
    policy: Policy, tmp_path: Path
) -> None:
    ReleaseFolder(tmp_path / "released", policy, "a query", accept_risks=["rare-values"]).release("batch=1", rare())
    with pytest.raises(Refused, match="rare-values"):
        folder_of(policy, tmp_path).release("batch=2", rare())


def test_rejects_alone_never_stop_a_host(policy: Policy, tmp_path: Path) -> None:
    made = folder_of(policy, tmp_path).release("batch=1", [{**record, "age": 1000} for record in people(30)])
    assert (made.records_in, made.released) == (30, 0)


def test_by_a_key_the_same_records_are_released_alike_under_another_name(tmp_path: Path) -> None:
    policy, records = Policy.load(write_policy(tmp_path, window={"max_records": 120})), people(120)

    def made(name: str, given: list[dict[str, Any]], key: bytes) -> bytes:
        folder = ReleaseFolder(tmp_path / "released", policy, "a query", draws_key=DrawsKey(key))
        return folder.release(name, given).records.read_bytes()

    once = made("batch=1", records, b"k" * 32)
    assert made("batch=2", records[::-1], b"k" * 32) == once
    assert made("batch=3", records, b"o" * 32) != once


def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymizing, "certificate_parts", partial(certificate_parts, part_bytes=4000))


def test_what_somebody_does_to_the_signed_certificates_of_a_release_is_named(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch)
    folder = ReleaseFolder(tmp_path / "released", policy, "a query", signing_key=ONE)
    made = folder.release("batch=1", people(300))
    assert in_parts(made.certificates.read_bytes().splitlines()[-2])
    check_each_meddling_is_named(tmp_path / "policy.yaml", made.records, made.certificates, tmp_path)


def test_what_was_made_without_the_key_is_signed_afterwards_as_if_it_had_been_there(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch)
    made = folder_of(policy, tmp_path).release("batch=1", people(300))
    made.certificates.chmod(0o640)
    before, unsigned = contents(tmp_path), made.certificates.read_bytes().splitlines()
    folder_of(policy, tmp_path).sign("batch=1")
    assert contents(tmp_path) == before, "without a key nothing is written"
    ReleaseFolder(tmp_path / "released", policy, "a query", signing_key=ONE).sign("batch=1")
    assert made.certificates.read_bytes().splitlines() == with_signatures(unsigned, ONE.sign)
    assert stat.S_IMODE(made.certificates.stat().st_mode) == 0o640
    changed = {name for name, content in contents(tmp_path).items() if content != before[name]}
    assert changed == {str(made.certificates.relative_to(tmp_path))}
    check_each_meddling_is_named(tmp_path / "policy.yaml", made.records, made.certificates, tmp_path)


def test_a_release_that_is_there_keeps_its_signature_when_the_key_is_replaced(
    policy: Policy, tmp_path: Path
) -> None:
    for key, records in ((ONE, people(60)), (OTHER, people(60, 1))):
        folder = ReleaseFolder(tmp_path / "released", policy, "a query", signing_key=key)
        made = [folder.release("batch=1", records)]
    made.append(folder.release("batch=2", people(60, 1)))
    (tmp_path / "public.pem").write_bytes(ONE.public + OTHER.public)
    found = [signers_of(tmp_path / "policy.yaml", one, tmp_path / "public.pem") for one in made]
    assert found == [[ONE.name], [OTHER.name]]


def test_an_audit_and_a_report_verify_a_release_by_public_keys_alone(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ReleaseFolder(tmp_path / "released", policy, "a query", signing_key=ONE)
    made, told = folder.release("batch=1", people(60)), tmp_path / "told.json"
    monkeypatch.setenv("COLUMNS", "200")
    for key, code in ((ONE, 0), (OTHER, 1)):
        (tmp_path / "public.pem").write_bytes(key.public)
        files = ("--output", made.records, "--certificates", made.certificates)
        options = ("-c", tmp_path / "policy.yaml", *files, "--public-key", tmp_path / "public.pem")
        assert run("audit", *options) == code
        assert run("report", *options, "--json", told) == code
        assert json.loads(told.read_text())["audit"]["counts"]["signed"] == 1 - code
    assert "is signed by a key that was not given" in capsys.readouterr().out


def test_a_release_that_was_put_under_another_name_passes_by_itself_and_is_found_as_the_guide_says(
    policy: Policy, tmp_path: Path
) -> None:
    folder, released = folder_of(policy, tmp_path), tmp_path / "released"
    made = [folder.release(f"batch={number}", people(60, number)) for number in (1, 2)]
    guide = (ROOT / "docs" / "guides" / "integrations.md").read_text().splitlines()
    (command,) = (line for line in guide if line.startswith("grep -om1"))

    def found() -> str:
        done = subprocess.run(
            ["bash", "-c", command.replace("FOLDER", str(released))], capture_output=True, check=True
        )
        return done.stdout.decode()

    assert found() == ""
    shutil.copytree(made[0].private, made[0].private.with_name("batch=3"))
    again = folder.stored("batch=3")
    assert again is not None
    assert audited(tmp_path / "policy.yaml", again)
    certificate = json.loads(made[0].certificates.read_text().splitlines()[-1])
    assert found() == f'"batch":"{certificate["batch"]}"\n'
