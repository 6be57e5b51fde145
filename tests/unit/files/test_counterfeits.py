"""A file whose outliers are completed by counterfeits: `privacy.counterfeits`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from stream_anon import Policy, anonymize_frame
from stream_anon.audit.verdict import Kind
from stream_anon.cli.main import app
from stream_anon.engine.closing import Closer
from stream_anon.errors import SettingsError
from stream_anon.files.anonymizing import CertifiedRelease
from stream_anon.files.file_report import FileReport
from stream_anon.library import Anonymizer
from stream_anon.microdata.release import Release
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.settings.policy_file import load_policy
from tests.support.completed import CompletedFile, policy_with, release, townspeople
from tests.support.policies import write_document, write_json_lines

PEOPLE = townspeople(2_000)


def _kinds(done: CompletedFile) -> set[Kind]:
    verdict = audit_files(done.policy, done.output, done.certificates).verdict
    return {violation.kind for violation in verdict.violations}


def _made(certificate: dict[str, Any]) -> int:
    made: int = certificate["completed"]["counterfeits"]
    return made


def test_the_counts_of_a_certificate_are_those_of_people_and_of_what_nobody_has(tmp_path: Path) -> None:
    done = release(tmp_path, PEOPLE)
    certificate, nobodys = done.certificate, done.counterfeits(PEOPLE)
    assert sum(shown.total() for shown in nobodys.values()) == _made(certificate) == done.report.counterfeits > 20
    assert certificate["in"] == len(PEOPLE) == len(done.released) - _made(certificate) + certificate["suppressed"]
    assert certificate["suppressed_by_reason"].keys() <= {"unplaced"}
    for own in certificate["classes"]:
        made = nobodys[json.dumps([own["values"]["age"], own["values"]["city"]])].total()
        assert made == own["records"] - own["individuals"]
        assert not made or (own["records"] == 10 and own["individuals"] >= 5)
    people = [one["individuals"] for one in certificate["classes"]]
    assert certificate["completed"]["people"] == certificate["achieved"]["k"] == min(people) < 10
    assert certificate["completed"]["records"] == min(one["records"] for one in certificate["classes"]) == 10
    assert _made(certificate) <= 0.05 * len(done.released)
    assert done.report.gate_violations == 0
    assert not _kinds(done)


def test_neither_form_nor_place_marks_a_counterfeit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Release] = []
    add = FileReport.add

    def note(report: FileReport, certified: CertifiedRelease) -> None:
        seen.append(certified.release)
        add(report, certified)

    monkeypatch.setattr(FileReport, "add", note)
    done = release(tmp_path, PEOPLE)
    assert all(list(record) == ["age", "city", "illness"] for record in done.released)
    places = np.flatnonzero(seen[0].order >= len(PEOPLE)) / len(done.released)  # rows behind those of people
    assert len(places) == _made(done.certificate)
    assert abs(places.mean() - 0.5) < 3 * np.sqrt(1 / 12 / len(places))
    assert places.min() < 0.2
    assert places.max() > 0.8


def test_without_the_setting_the_same_people_are_suppressed(tmp_path: Path) -> None:
    bare = release(tmp_path, PEOPLE, policy_with(counterfeits=None))
    done = release(tmp_path, PEOPLE)
    assert "completed" not in bare.certificate
    assert "counterfeits" not in bare.certificate["asked"]
    saved = bare.certificate["suppressed"] - done.certificate["suppressed"]
    assert saved == len(done.released) - len(bare.released) - _made(done.certificate) > 0
    # Whoever has k people beside them is published as before.
    assert all(done.shown[one] == shown for one, shown in bare.shown.items())


def test_no_value_is_shown_that_would_not_be_shown_without_counterfeits(tmp_path: Path) -> None:
    rare = [{**person, "illness": f"own-{i}"} if i % 40 == 0 else person for i, person in enumerate(PEOPLE)]
    document = policy_with()
    document["attributes"]["illness"]["accept_linkable"] = True
    done = release(tmp_path, rare, document)
    shown = done.certificate["classes"]
    real = Counter(person["illness"] for person in rare)
    assert shown
    for made in done.counterfeits(rare).values():
        assert all(illness in real for illness in made)


def test_the_criteria_hold_for_the_people_alone(tmp_path: Path) -> None:
    # The very old have one illness among them: counterfeits with others would feign a second one.
    alike = [{**person, "illness": "gout"} if person["age"] >= 85 else person for person in PEOPLE]
    done = release(tmp_path, alike)
    completed = {one: done.shown[one] - made for one, made in done.counterfeits(alike).items() if made}
    assert completed
    assert all(len(people) >= 2 for people in completed.values())
    assert not _kinds(done)
    bare = release(tmp_path, alike, policy_with(sensitive=None))
    feigned = [bare.shown[one] - made for one, made in bare.counterfeits(alike).items() if made]
    assert any(len(people) == 1 for people in feigned)


def test_one_key_makes_the_same_counterfeits_and_another_one_others(tmp_path: Path) -> None:
    first, again = release(tmp_path, PEOPLE), release(tmp_path, PEOPLE[::-1])
    other = release(tmp_path, PEOPLE, secret=b"another secret of tests")
    assert first.shown == again.shown
    assert first.shown.keys() == other.shown.keys()
    assert first.shown != other.shown


def test_a_small_share_completes_the_classes_that_need_fewest(tmp_path: Path) -> None:
    few, many = release(tmp_path, PEOPLE, policy_with(counterfeits="0.5%")), release(tmp_path, PEOPLE)
    assert 0 < _made(few.certificate) <= 0.005 * len(few.released)

    def needed(done: CompletedFile) -> list[int]:
        return sorted(made.total() for made in done.counterfeits(PEOPLE).values() if made)

    assert needed(few) == needed(many)[: len(needed(few))]


def test_a_file_with_too_many_suppressed_is_suppressed_with_its_counterfeits(tmp_path: Path) -> None:
    done = release(tmp_path, PEOPLE, policy_with(max_suppressed=1, above_max_suppressed="suppress"))
    certificate = done.certificate
    assert not done.released
    assert certificate["suppressed_by_reason"].keys() == {"unplaced", "max-suppressed"}
    assert certificate["suppressed"] == certificate["in"] == len(PEOPLE)
    assert certificate["completed"] == {"counterfeits": 0, "people": None, "records": None}
    assert not _kinds(done)


def test_records_beyond_ones_first_are_suppressed_and_counted(tmp_path: Path) -> None:
    done = release(tmp_path, [*PEOPLE, *PEOPLE[:7]])
    assert done.certificate["suppressed_by_reason"]["over-limit"] == 7
    assert not _kinds(done)


def test_every_record_may_be_a_person(tmp_path: Path) -> None:
    done = release(tmp_path, PEOPLE, policy_with(individual="every-record"))
    assert _made(done.certificate) > 0
    assert not _kinds(done)


def test_too_few_people_for_any_class_have_no_counterfeits(tmp_path: Path) -> None:
    done = release(tmp_path, PEOPLE[:9])
    assert done.certificate["suppressed_by_reason"] == {"shortfall": 9}
    assert _made(done.certificate) == 0
    assert not _kinds(done)


def test_the_command_says_how_many_there_are_and_refuses_fresh_draws(tmp_path: Path) -> None:
    policy, source = write_document(tmp_path, policy_with()), write_json_lines(tmp_path / "in.jsonl", PEOPLE)
    arguments = ["anonymize", "-c", str(policy), str(source), str(tmp_path / "out.csv")]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert "of them counterfeits" in found.output
    refused = CliRunner().invoke(app, [*arguments, "--fresh-draws"])
    assert isinstance(refused.exception, SettingsError)
    assert refused.exception.key == "privacy.counterfeits"


def test_whatever_makes_no_counterfeits_refuses_the_policy(tmp_path: Path) -> None:
    document = policy_with()
    policy = load_policy(write_document(tmp_path, document))
    with pytest.raises(SettingsError, match="counterfeits"):
        Closer(policy)
    del document["method"]
    streamed = load_policy(write_document(tmp_path, document))
    with pytest.raises(SettingsError, match="counterfeits"):
        Anonymizer(streamed)
    source = write_json_lines(tmp_path / "in.jsonl", PEOPLE)
    for option in ([], ["--by-arrival"], ["--series", str(tmp_path / "series")]):
        arguments = ["anonymize", "-c", str(tmp_path / "policy.yaml"), str(source), str(tmp_path / "out.jsonl")]
        found = CliRunner().invoke(app, [*arguments, *option])
        assert isinstance(found.exception, SettingsError), option
        assert found.exception.key == "privacy.counterfeits"


def test_a_frame_needs_a_key_and_has_its_counterfeits(tmp_path: Path) -> None:
    policy = Policy.load(write_document(tmp_path, policy_with()))
    frame = pa.Table.from_pylist(PEOPLE)
    with pytest.raises(SettingsError, match="key of draws"):
        anonymize_frame(frame, policy)
    found = anonymize_frame(frame, policy, draws_key=b"a secret of tests", rejects="return")
    assert found.report.counterfeits > 0
    assert found.released.num_rows == found.report.released
    assert found.report.records_in == len(PEOPLE)


def test_a_release_is_not_compared_with_people(tmp_path: Path) -> None:
    done = release(tmp_path, PEOPLE)
    source = str(tmp_path / "in.jsonl")
    for arguments in (
        ["utility", "-c", str(done.policy), source, str(done.output)],
        ["leakage", "-c", str(done.policy), "--input", source, "--released", str(done.output)],
    ):
        found = CliRunner().invoke(app, arguments)
        assert isinstance(found.exception, SettingsError), arguments
        assert found.exception.key == "privacy.counterfeits"


def _note(document: dict[str, Any]) -> None:
    document["attributes"]["note"] = {"role": "insensitive"}


def _list(document: dict[str, Any]) -> None:
    document["attributes"]["illness"]["type"] = "string[]"


def _iab(document: dict[str, Any]) -> None:
    document["method"] = {"name": "iab"}


def _several(document: dict[str, Any]) -> None:
    document["window"]["max_records_per_individual"] = 2


def _level(document: dict[str, Any]) -> None:
    document["attributes"]["age"]["max_level"] = 3


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("privacy.counterfeits", {"counterfeits": "11%"}),
        ("privacy.counterfeits", {"counterfeits": "0%"}),
        ("privacy.counterfeits", {"k": 3}),
        ("privacy.counterfeits", {"shields": [{"attributes": ["age"], "k": 20}]}),
        ("privacy.sensitive.illness", {"sensitive": {"illness": {"entropy_l": 2}}}),
        ("privacy.sensitive.illness", {"sensitive": {"illness": {"distinct_l": 2, "alpha": 0.6}}}),
        ("privacy.counterfeits", _note),
        ("privacy.counterfeits", _list),
        ("privacy.counterfeits", _iab),
        ("window.max_records_per_individual", _several),
        ("attributes.age.max_level", _level),
    ],
)
def test_what_counterfeits_cannot_keep_is_refused(key: str, change: Any, tmp_path: Path) -> None:
    document = policy_with(**change) if isinstance(change, dict) else policy_with()
    if callable(change):
        change(document)
    with pytest.raises(SettingsError) as refused:
        release(tmp_path, PEOPLE[:100], document)
    assert refused.value.key == key
