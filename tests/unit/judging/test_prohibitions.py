"""An identifier that a policy lets pass forbids its release, once, and without a value in any word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_anon.conditions import Condition
from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.judging.findings import Finding, Severity, policy_findings
from stream_anon.judging.prohibitions import OF_RELEASES, prohibitions
from stream_anon.judging.refusing import weighed
from stream_anon.judging.sample_findings import sample_findings
from stream_anon.judging.sample_study import Sample, Study, study
from stream_anon.judging.tally import Rarity, Tally
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.operations.check.checking import examine_file
from stream_anon.settings.policy_file import load_policy
from tests.support.identifiers import NAMES, OF_PEOPLE, OF_THINGS
from tests.support.policies import people, write_json_lines, write_policy

FORBIDS, WARNS = Severity.FORBIDS, Severity.WARNS
MAIL = [f"u{i}@example.org" for i in range(30)]
UUIDS = next(values for name, _, values in OF_THINGS if name == "token")


def policy_with(
    folder: Path, field: dict[str, Any], individual: str = "person", name: str = "extra", k: int = 3
) -> Policy:
    attributes = {
        "person": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99}},
        name: field,
    }
    privacy = {"k": k, "individual": individual}
    return load_policy(write_policy(folder, privacy=privacy, attributes=attributes))


def records_of(values: list[Any], count: int = 300, name: str = "extra") -> list[dict[str, Any]]:
    """Return records of as many people, each value in several of them."""
    return [{**record, name: values[place % len(values)]} for place, record in enumerate(people(count))]


def studied(policy: Policy, records: list[dict[str, Any]]) -> Study:
    return study(policy, Sample([json.dumps(each).encode() for each in records], np.arange(float(len(records)))))


def of_field(findings: list[Finding], name: str = "extra") -> list[tuple[Severity, Condition | None]]:
    return [(each.severity, each.condition) for each in findings if each.place == f"attributes.{name}"]


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
@pytest.mark.parametrize("individual", ["person", EVERY_RECORD])
def test_an_address_that_many_records_hold_forbids_a_release(role: str, individual: str, tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": role}, individual)
    found = sample_findings(policy, studied(policy, records_of(MAIL)))
    assert (FORBIDS, Condition.DISGUISED_IDENTIFIER) in of_field(found)
    (told,) = [each for each in found if each.condition is Condition.DISGUISED_IDENTIFIER]
    assert told.text.startswith(
        "100% of its different values look like e-mail addresses (F in HIPAA's list), and the field is published"
    )
    assert "example" not in told.text


def test_rare_addresses_are_told_once_with_what_they_look_like(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive"})
    records = records_of([f"u{i}@example.org" for i in range(300)])
    found = sample_findings(policy, studied(policy, records))
    assert of_field(found) == [(FORBIDS, Condition.RARE_VALUES)]
    (told,) = [each.text for each in found if each.condition is Condition.RARE_VALUES]
    assert (
        "100% of its different values look like e-mail addresses (F in HIPAA's list). Declare role: identifier,"
        in told
    )
    assert "quasi-identifier" not in told


def test_rare_values_of_no_form_may_become_quasi_identifiers(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive", "type": "integer"})
    (told,) = prohibitions(policy, studied(policy, records_of(list(range(300)))))
    assert (
        "may be published unchanged. Make it a quasi-identifier, leave it out, or write accept_linkable"
        in told.text
    )


def test_first_names_forbid_though_many_people_share_each(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive"}, name="first_name")
    records = records_of([name.split()[0] for name in NAMES], name="first_name")
    assert of_field(prohibitions(policy, studied(policy, records)), "first_name") == [
        (FORBIDS, Condition.DISGUISED_IDENTIFIER)
    ]


def test_what_somebody_has_weighed_only_warns(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive", "accept_linkable": True})
    found = sample_findings(policy, studied(policy, records_of(MAIL)))
    assert of_field(found) == [(WARNS, None)]
    (told,) = [each.text for each in found if each.place == "attributes.extra"]
    assert told.endswith(
        "e-mail addresses (F in HIPAA's list): such a value identifies a person, and accept_linkable: true lets "
        "it pass"
    )


def test_a_condition_that_is_accepted_by_name_forbids_nothing(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive"}, EVERY_RECORD)
    found = prohibitions(policy, studied(policy, records_of(MAIL)))
    assert of_field([*weighed(found, [Condition.DISGUISED_IDENTIFIER])]) == [
        (Severity.ACCEPTED, Condition.DISGUISED_IDENTIFIER)
    ]


def test_codes_that_many_people_share_are_those_of_things(tmp_path: Path) -> None:
    shared = records_of([*UUIDS[:20]], 600)
    policy = policy_with(tmp_path, {"role": "insensitive"})
    windows = [each for each in sample_findings(policy, studied(policy, shared)) if "UUID" in each.text]
    assert windows == []
    policy = policy_with(tmp_path, {"role": "insensitive"}, EVERY_RECORD)
    found = sample_findings(policy, studied(policy, shared))
    (told,) = [each for each in found if "UUIDs or hashes" in each.text]
    assert (told.severity, told.condition, told.place) == (WARNS, None, "attributes.extra")
    policy = policy_with(tmp_path, {"role": "insensitive", "accept_linkable": True}, EVERY_RECORD)
    assert [each for each in sample_findings(policy, studied(policy, shared)) if "UUID" in each.text] == []


def test_fewer_people_than_k_hide_no_address(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive"}, k=50)
    found = sample_findings(policy, studied(policy, records_of(MAIL, 30)))
    assert of_field(found) == [(FORBIDS, Condition.DISGUISED_IDENTIFIER)]


def test_addresses_in_a_list_forbid_too(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "sensitive", "type": "string[]"}, EVERY_RECORD)
    lists = [[mail, "none"] for mail in MAIL]
    assert of_field(prohibitions(policy, studied(policy, records_of(lists)))) == [
        (FORBIDS, Condition.DISGUISED_IDENTIFIER)
    ]


@pytest.mark.parametrize("field", [{"role": "identifier"}, None])
def test_what_is_never_published_is_not_looked_at(field: dict[str, Any] | None, tmp_path: Path) -> None:
    policy = policy_with(tmp_path, field or {"role": "identifier"}, name="extra" if field else "unused")
    assert of_field(sample_findings(policy, studied(policy, records_of(MAIL)))) == []


def test_values_in_the_policy_that_name_people_are_told(tmp_path: Path) -> None:
    for name, values in (("extra", MAIL), ("patient.name", NAMES)):
        policy = policy_with(tmp_path, {"role": "quasi-identifier", "values": values, "unknown": "root"}, name=name)
        told = [each.text for each in policy_findings(policy) if each.place == f"attributes.{name}"]
        assert len([text for text in told if "The policy lists them" in text]) == 1
        assert not [text for text in told if values[0] in text]
    policy = policy_with(tmp_path, {"role": "quasi-identifier", "values": [f"Ward {i}" for i in range(20)]})
    assert of_field(policy_findings(policy)) == []


@pytest.mark.parametrize(("name", "kind", "values"), OF_PEOPLE)
def test_a_tally_of_batches_finds_what_a_study_finds(
    name: str, kind: str, values: list[Any], tmp_path: Path
) -> None:
    # Under another name in the policy, so that the name in the records tells what it is.
    kept = {"role": "insensitive", "type": "integer" if isinstance(values[0], int) else "string", "path": [name]}
    policy = policy_with(tmp_path, kept, EVERY_RECORD)
    records = records_of(values, 240, name)
    texts = [json.dumps(each).encode() for each in records]
    tally, codec = Tally(policy), JsonCodec(policy)
    for start in range(0, 240, 50):
        part = texts[start : start + 50]
        tally.add(codec.decode(part, 0, np.arange(start, start + len(part))))
    (found,) = tally.counts().disguises
    assert (found.attribute, found.resemblance.kind, found.resemblance.of_people) == ("extra", kind, True)
    assert studied(policy, records).disguises == (found,)
    texts_told = [each.text for each in prohibitions(policy, tally.counts())]
    assert not [value for value in values if len(str(value)) > 3 and str(value) in " ".join(texts_told)]


def test_values_that_come_later_are_looked_at_too(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, {"role": "insensitive"}, EVERY_RECORD)
    tally, codec = Tally(policy), JsonCodec(policy)
    found = []
    for values in (["none"], MAIL[:5], MAIL[:5], MAIL):
        texts = [json.dumps(each).encode() for each in records_of([*values], 60)]
        tally.add(codec.decode(texts, 0, np.arange(60)))
        found.append(len(tally.disguises()))
    assert found == [0, 0, 0, 1]
    assert tally.disguises()[0].resemblance.share == 30 / 31


def test_some_values_of_many_are_the_same_in_any_order() -> None:
    values = [f"value {place}" for place in range(5_000)]
    one, other = Rarity(2, most=1_000), Rarity(2, most=1_000)
    one.add([*values, *values[:50]], range(5_050))
    other.add([*values[:50], *values[::-1]], range(5_050))
    assert sorted(map(str, one.some(100))) == sorted(map(str, other.some(100)))
    assert len(one.some(100)) == 100
    assert len(Rarity(2).some(100)) == 0


def test_a_check_of_a_file_tells_the_kind_and_the_share_and_no_value(tmp_path: Path) -> None:
    config = write_policy(
        tmp_path,
        privacy={"individual": EVERY_RECORD},
        attributes={"person": {"role": "identifier"}, "visits": {"role": "insensitive"}},
    )
    records = [{**each, "visits": MAIL[place % 30]} for place, each in enumerate(people(300))]
    report = examine_file(config, str(write_json_lines(tmp_path / "in.jsonl", records)))
    text = json.dumps(report.document())
    assert report.forbids
    assert json.loads(text)["sample"]["disguises"] == [
        {
            "attribute": "visits",
            "resemblance": {"kind": "e-mail addresses", "share": 1.0, "of_people": True},
            "accepted": False,
        }
    ]
    assert "example.org" not in text


def test_the_condition_forbids_files_and_frames_too() -> None:
    assert Condition.DISGUISED_IDENTIFIER in OF_RELEASES
