from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from stream_anon import Anonymizer, Policy, anonymize_frame
from stream_anon.errors import InputError, Refused, SettingsError
from stream_anon.hosts.release_folder import ReleaseFolder
from stream_anon.operations.audit.auditing import WantedAudit, audit_files
from tests.support.data import ROOT
from tests.support.policies import people, write_policy
from tests.support.signing import key_of, secret_of


def classes_of(records: list[dict[str, object]]) -> Counter[str]:
    return Counter(str((record["age"], record["home"])) for record in records)


def test_no_record_is_lost_or_doubled_between_add_and_close(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    records = people(130)
    records[7]["age"] = 1000
    releases = [*anonymizer.add(records), *anonymizer.close()]
    assert [release.certificate[0]["in"] for release in releases] == [51, 50, 29]
    assert sum(len(release.records) for release in releases) == 129
    assert Counter(r["illness"] for release in releases for r in release.records) == Counter(
        r["illness"] for i, r in enumerate(records) if i != 7
    )
    assert [(r.number, r.reason, r.attribute) for r in releases[0].rejected] == [(7, "out-of-range", "age")]


def test_no_class_is_smaller_than_k(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path), privacy={"k": 5}))
    for release in [*anonymizer.add(people(200)), *anonymizer.close()]:
        assert min(classes_of(release.records).values()) >= 5


def test_every_shield_holds_and_the_certificate_says_by_how_much(tmp_path: Path) -> None:
    shields = [{"attributes": ["home.city"], "k": 12}, {"attributes": ["age"], "k": 10}]
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path, privacy={"shields": shields})))
    for release in [*anonymizer.add(people(200)), *anonymizer.close()]:
        least = [min(Counter(str(record[key]) for record in release.records).values()) for key in ("home", "age")]
        assert least[0] >= 12
        assert least[1] >= 10
        assert [shield["k"] for shield in release.certificate[0]["achieved"]["shields"]] == least


def test_no_undeclared_or_identifying_field_passes(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    (release,) = anonymizer.add(people(50))
    assert {key for record in release.records for key in record} == {"age", "home", "visits", "illness"}


def test_closing_an_empty_window_yields_nothing_and_close_can_be_repeated(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)), accept_risks=["rare-values"])
    assert list(anonymizer.close()) == []
    assert list(anonymizer.add(people(20))) == []
    (release,) = anonymizer.close()
    assert len(release.records) == 20
    assert list(anonymizer.close()) == []


def test_records_that_are_not_taken_are_not_lost_in_silence(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    added = anonymizer.add(people(60))
    for call in (anonymizer.close, lambda: anonymizer.add(people(1))):
        with pytest.raises(RuntimeError, match="not taken yet"):
            call()
    assert len(next(added)) == 50
    with pytest.raises(RuntimeError, match="not taken yet"):
        anonymizer.close()
    assert list(added) == []
    (release,) = anonymizer.close()
    assert len(release) == 10


def test_an_iterator_that_is_dropped_in_the_middle_is_told_too(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    assert len(next(anonymizer.add(people(2000)))) == 50
    with pytest.raises(RuntimeError, match="not taken yet"):
        anonymizer.close()


def test_what_is_no_records_is_refused_before_it_is_iterated_and_leaves_nothing_unfinished(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    for wrong in (5, None, {"age": 1}, b"{}", "records"):
        with pytest.raises(TypeError, match="several records"):
            anonymizer.add(wrong)
    with pytest.raises(InputError, match="has no column"):
        anonymizer.add(pa.table({"x": [1]}))
    assert list(anonymizer.close()) == []


def test_after_records_that_broke_off_what_came_before_can_be_closed(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)), accept_risks=["rare-values"])
    records = [*people(1000), "a text"]
    with pytest.raises(TypeError, match="must be a mapping"):
        list(anonymizer.add(records))  # type: ignore[arg-type]
    assert list(anonymizer.add(people(10))) == []
    assert [len(release) for release in anonymizer.close()] == [10]


def test_records_are_drawn_piece_by_piece_while_releases_are_read(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    drawn: list[int] = []

    def endless() -> Iterator[dict[str, object]]:
        for number, record in enumerate(people(5000)):
            drawn.append(number)
            yield record

    releases = anonymizer.add(endless())
    assert drawn == []
    assert len(next(releases)) == 50
    assert len(drawn) == 1000


def test_json_bytes_are_taken_as_their_records(tmp_path: Path) -> None:
    records = people(60)
    mixed = [json.dumps(r).encode() if i % 3 else r for i, r in enumerate(records)]
    mixed[4] = b"{broken"
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    releases = [*anonymizer.add(mixed), *anonymizer.close()]
    assert sorted(r["illness"] for release in releases for r in release.records) == sorted(
        r["illness"] for i, r in enumerate(records) if i != 4
    )
    assert [(r.number, r.reason) for r in releases[0].rejected] == [(4, "malformed")]


def test_certificates_are_chained(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    first, second = anonymizer.add(people(100))
    assert first.certificate[0]["previous"] is None
    assert second.certificate[0]["previous"].startswith("sha256:")
    ends = [(part["start"], part["end"]) for r in (first, second) for part in r.certificate[0]["inputs"]]
    assert ends == [(0, 50), (50, 100)]


def test_the_snippet_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "guides" / "library.md").read_text()
    snippet = re.search(r"```python\n(.*?from stream_anon import.*?)```", page, re.DOTALL)
    assert snippet is not None
    monkeypatch.chdir(ROOT)
    printed: list[object] = []
    exec(snippet[1], {"print": lambda *values: printed.extend(values)})  # noqa: S102 - it is our own page
    assert printed


@pytest.mark.parametrize("path", ["policy.yaml", Path("policy.yaml")])
def test_a_path_given_for_a_policy_is_told_how_it_is_loaded(tmp_path: Path, path: str | Path) -> None:
    frame = pa.table({"age": [1]})
    attempts = (
        lambda: Anonymizer(path),  # type: ignore[arg-type]
        lambda: anonymize_frame(frame, path),  # type: ignore[arg-type]
        lambda: ReleaseFolder(tmp_path / "releases", path, "a test"),  # type: ignore[arg-type]
    )
    for attempt in attempts:
        with pytest.raises(TypeError, match=r"must be a Policy.*Policy\.load\(path\)"):
            attempt()
    assert not (tmp_path / "releases").exists()


def test_no_release_is_handed_out_that_a_condition_forbids(tmp_path: Path) -> None:
    policy = Policy.load(write_policy(tmp_path))
    records = [{**record, "visits": place} for place, record in enumerate(people(120))]
    for given in (records, pa.Table.from_pylist(records), iter(records)):
        with pytest.raises(Refused, match=r"rare-values: attributes\.visits"):
            next(Anonymizer(policy).add(given))
    first = next(Anonymizer(policy, accept_risks=["rare-values"]).add(records))
    assert first.certificate[0]["accepted"] == ["rare-values"]


def test_a_list_is_judged_as_a_whole_and_a_stream_as_far_as_it_came(tmp_path: Path) -> None:
    # Of the first 1,000 records every value is held by two people, of all of them by eight.
    policy = Policy.load(write_policy(tmp_path))
    records = [{**record, "visits": place % 500} for place, record in enumerate(people(4000))]
    anonymizer = Anonymizer(policy)
    assert sum(map(len, [*anonymizer.add(records), *anonymizer.close()])) == 4000
    with pytest.raises(Refused, match="rare-values"):
        list(Anonymizer(policy).add(iter(records)))


def test_records_after_a_list_that_was_refused_are_judged_like_others(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))

    def visited(count: int, rare: int, first: int = 100) -> list[dict[str, object]]:
        return [
            {**record, "visits": first + place if place < rare else 1} for place, record in enumerate(people(count))
        ]

    with pytest.raises(Refused, match="rare-values"):
        list(anonymizer.add(visited(4000, 240)))
    assert list(anonymizer.add(visited(2000, 0)))  # of all that came 4 % are rare
    with pytest.raises(Refused, match="rare-values"):
        list(anonymizer.add(iter(visited(3000, 3000, first=10_000))))


def test_a_window_without_a_released_record_is_not_judged(tmp_path: Path) -> None:
    anonymizer = Anonymizer(Policy.load(write_policy(tmp_path)))
    assert list(anonymizer.add([{**record, "age": None} for record in people(2)])) == []
    assert [len(release) for release in anonymizer.close()] == [0]


def test_a_risk_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="rare-values"):
        Anonymizer(Policy.load(write_policy(tmp_path)), accept_risks=["rare"])


def test_the_proof_of_releases_is_a_file_that_the_audit_reads_and_a_key_signs_it(tmp_path: Path) -> None:
    path = write_policy(tmp_path)
    for signing_key, public_keys in ((None, ()), (secret_of(1), (tmp_path / "public",))):
        (tmp_path / "public").write_bytes(key_of(1).public)
        anonymizer = Anonymizer(Policy.load(path), signing_key=signing_key)
        releases = [*anonymizer.add(people(130)), *anonymizer.close()]
        proof = [line for release in releases for line in release.proof]
        (tmp_path / "c.jsonl").write_bytes(b"".join(line + b"\n" for line in proof))
        rows = [json.dumps(record) for release in releases for record in release.records]
        (tmp_path / "out.jsonl").write_text("\n".join(rows) + "\n")
        wanted = WantedAudit(public_keys=public_keys)
        verdict = audit_files(path, tmp_path / "out.jsonl", tmp_path / "c.jsonl", wanted).verdict
        assert verdict.clean
        assert verdict.counts.signed == (3 if public_keys else 0)
        assert len(proof) == (8 if public_keys else 4)
    with pytest.raises(ValueError, match="is no private key in PEM"):
        Anonymizer(Policy.load(path), signing_key=b"Mrs Smith")


def test_an_expired_release_is_made_in_no_host_unless_somebody_accepts_it(tmp_path: Path) -> None:
    policy = Policy.load(write_policy(tmp_path, release={"valid_until": "2020-02-29"}))
    frame = pa.Table.from_pylist(people(60))
    folder = ReleaseFolder(tmp_path / "releases", policy, "a query")
    for attempt in (
        lambda: Anonymizer(policy),
        lambda: anonymize_frame(frame, policy),
        lambda: folder.release("batch=1", frame),
    ):
        with pytest.raises(Refused, match=r"release-expired: release\.valid_until: was 2020-02-29"):
            attempt()
    assert folder.stored("batch=1") is None
    assert len(anonymize_frame(frame, policy, accept_risks=["release-expired"])) == 60
    judged = ReleaseFolder(tmp_path / "accepted", policy, "a query", accept_risks=["release-expired"])
    assert judged.release("batch=1", frame).released == 60
    # Somebody has judged the records there; the day is asked for at each release.
    later = ReleaseFolder(tmp_path / "accepted", policy, "a query", judged=True)
    with pytest.raises(Refused, match="release-expired"):
        later.release("batch=2", frame)
