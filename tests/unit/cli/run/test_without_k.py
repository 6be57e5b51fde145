"""`privacy.k: none`: shields alone protect, in files that iab recodes, and everything says so."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from tests.support.commands import FileRun, run, told
from tests.support.data import ROOT
from tests.support.policies import people, write_json_lines, write_policy
from tests.unit.cli.run.test_anonymize_method import METHODS

SHIELDS = [{"attributes": ["age"], "k": 8}]
IAB = {"name": "iab", "most_expanded": 20}


def _policy(folder: Path, privacy: dict[str, Any] | None = None, **sections: Any) -> Path:
    asked: dict[str, Any] = {"k": "none", "shields": SHIELDS, **(privacy or {})}
    return write_policy(folder, privacy=asked, **{"method": IAB, **sections})


def test_shields_alone_protect_and_the_audit_knows_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = FileRun(_policy(tmp_path), people(120))
    assert files.anonymize() == 0
    text = told(capfd)
    assert (
        "warning: privacy.k is none: a record may be the only one with its values of all quasi-identifiers" in text
    )
    assert "nothing protects home.city, in no shield" in text

    records = files.released
    ages = Counter(json.dumps(record["age"]) for record in records)
    assert min(ages.values()) >= 8
    tuples = Counter((json.dumps(record["age"]), record["home"]["city"]) for record in records)
    assert min(tuples.values()) < 2  # a k of 2 would not have left these
    assert {record["home"]["city"] for record in records} == {"Oslo", "Bergen", "Rome", "Bari"}

    document, certificate = files.parts
    assert json.loads(document["text"])["k"] is None
    assert certificate["asked"]["k"] is None
    assert certificate["asked"]["max_share"] == 1
    assert certificate["achieved"]["k"] == min(tuples.values())
    assert certificate["achieved"]["shields"] == [{"attributes": ["age"], "k": min(ages.values())}]
    schema = json.loads((ROOT / "schemas" / "certificate.schema.json").read_text())
    assert not list(Draft7Validator(schema).iter_errors(certificate))
    assert files.report["gate_violations"] == 0
    assert len(files.report["warnings"]) == 1

    assert files.audit() == 0
    assert "k none" in " ".join(capfd.readouterr().out.split())


def test_the_audit_finds_a_group_of_a_shield_that_lost_records(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = FileRun(_policy(tmp_path), people(120))
    assert files.anonymize() == 0
    records = files.released
    first = records[0]["age"]
    kept = [record for i, record in enumerate(records) if record["age"] != first or i < 3]
    write_json_lines(files.output, kept)
    capfd.readouterr()
    assert files.audit("--json") == 1
    assert "too-few-shielded" in json.loads(capfd.readouterr().out)["kinds"]


def test_windows_on_trust_are_judged_by_shields_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A certificate without a document, of a policy that is not at hand; the second has no class."""
    for count, released in ((120, 120), (7, 0)):
        files = FileRun(_policy(tmp_path), people(count))
        assert files.anonymize() == 0
        assert len(files.released) == released
        document, certificate = files.parts
        assert document["promises"] == certificate["promises"]
        certificate["promises"] = None
        if not released:
            assert certificate["suppressed_by_reason"] == {"shortfall": count}
        write_json_lines(files.certificates, [certificate])
        capfd.readouterr()
        assert files.audit(policy=write_policy(tmp_path, privacy={"k": 3})) == 0, told(capfd)


def test_a_certificate_that_asks_for_nothing_is_a_violation(tmp_path: Path) -> None:
    files = FileRun(_policy(tmp_path), people(120))
    assert files.anonymize() == 0
    document, certificate = files.parts
    del certificate["asked"]["shields"], certificate["achieved"]["shields"]
    certificate["promises"] = None
    write_json_lines(files.certificates, [document, certificate])
    assert files.audit(policy=write_policy(tmp_path, privacy={"k": 3})) == 1


def test_criteria_on_sensitive_values_hold_without_k(tmp_path: Path) -> None:
    files = FileRun(_policy(tmp_path, {"sensitive": {"illness": {"distinct_l": 2}}}), people(120))
    assert files.anonymize() == 0
    held: dict[str, set[str]] = {}
    for record in files.released:
        held.setdefault(json.dumps([record["age"], record["home"]]), set()).add(record["illness"])
    assert held
    assert min(map(len, held.values())) >= 2
    assert files.audit() == 0


@pytest.mark.parametrize("method", [None, *(own for own in METHODS if own["name"] != "iab")], ids=str)
def test_whatever_forms_classes_of_k_refuses_to_do_without(
    method: dict[str, Any] | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sections = {} if method is None else {"method": method}
    policy = write_policy(tmp_path, privacy={"k": "none", "shields": SHIELDS}, **sections)
    files = FileRun(policy, people(60))
    assert files.anonymize() == 2
    assert "privacy.k: none is for files and method: iab" in told(capfd)
    assert not files.output.exists()


def test_utility_has_no_class_size_over_k(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = FileRun(_policy(tmp_path), people(60))
    assert files.anonymize("--accept-risk", "rare-values") == 0
    capfd.readouterr()
    assert run("utility", files.source, files.output, "-c", files.policy, "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert found["k"] is None
    schema = json.loads((ROOT / "schemas" / "utility.schema.json").read_text())
    assert not list(Draft7Validator(schema).iter_errors(found))
