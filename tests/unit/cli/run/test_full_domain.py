"""Files on fixed levels: what was negotiated is what is suppressed, and an audit sees a cell on another level."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.audit.verdict import Kind
from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.categories import CategoricalDomain
from stream_anon.settings.policy_file import load_policy
from tests.support.commands import audited, run
from tests.support.data import shared_data
from tests.support.policies import PEOPLE, people, write_document, write_json_lines

NAMES = ("age", "workclass", "education")


@pytest.fixture
def adult(tmp_path: Path) -> Path:
    """Write a policy over three attributes of Adult, whose window holds the whole file."""
    shutil.copytree(shared_data("arx-adult", "hierarchies"), tmp_path / "hierarchies")
    shutil.copy(shared_data("arx-adult", "adult.csv"), tmp_path / "adult.csv")
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifier", "hierarchy": f"hierarchies/adult_hierarchy_{name}.csv"} for name in NAMES
    }
    attributes["occupation"] = {"role": "sensitive", "accept_linkable": True}
    return write_document(
        tmp_path,
        {
            "privacy": {"k": 3, "individual": "every-record"},
            "window": {"max_records": 100_000},
            "attributes": attributes,
        },
    )


def _anonymized(policy: Path, source: Path) -> tuple[dict[str, Any], Path, Path]:
    """Return the report, the released records and the certificates."""
    report, target, proof = (policy.parent / name for name in ("report.json", "out.jsonl", "proof.jsonl"))
    options = ("--certificates", proof, "--report", report, "--max-rejected", "50%", "--by-arrival")
    assert run("anonymize", "-c", policy, source, target, *options) == 0
    told: dict[str, Any] = json.loads(report.read_text())
    return told, target, proof


@pytest.mark.parametrize(
    ("options", "suppressed"),
    [
        (("--k", 3, "--max-suppressed", 40), 37),
        (("--k", 50, "--max-suppressed", 40, "--relax", "suppression"), 505),
        (("--k", 3, "--l", 3, "--max-suppressed", "1%"), None),
    ],
)
def test_as_many_records_are_suppressed_as_were_negotiated(
    options: tuple[object, ...], suppressed: int | None, adult: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, answered = adult.parent / "adult.csv", adult.parent / "answered.yaml"
    limits = ("--max-level", "age=1", "--max-level", "workclass=2", "--max-level", "education=1")
    asked = ("--input", source, "--output", answered, "--json")
    assert run("negotiate", adult, *limits, *options, *asked) == 0
    answer = json.loads(capsys.readouterr().out)
    scheme = answer["exact"] or answer["relaxations"]["suppression"]
    assert suppressed in (None, scheme["suppressed"])
    told, target, proof = _anonymized(answered, source)
    assert told["suppressed"] == {"max-level": scheme["suppressed"]}
    assert told["released"] == 30_162 - scheme["suppressed"]
    assert told["gate_violations"] == 0
    assert audited(answered, target, proof) == 0
    # Every cell is the label of its level in the hierarchy's own file.
    levels = yaml.safe_load(answered.read_text())["engine"]["levels"]
    policy = load_policy(answered)
    for attribute in policy.quasi_identifiers:
        assert isinstance(attribute.domain, CategoricalDomain)
        rows = (adult.parent / f"hierarchies/adult_hierarchy_{attribute.name}.csv").read_text().splitlines()
        labels = {row.split(";")[levels[attribute.name]] for row in rows}
        assert {json.loads(line)[attribute.name] for line in target.read_text().splitlines()} <= labels


def _document(engine: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    age = {"role": "quasi-identifier", "numeric": {"min": 0, "max": 99, "levels": [10, 50], "publish": "tight"}}
    attributes = PEOPLE["attributes"] | {"age": age}
    attributes["home.city"] = attributes["home.city"] | {"publish": "values", "unknown": "root"}
    document = PEOPLE | {"attributes": attributes, "window": {"max_records": 100}}
    return document | ({} if engine is None else {"engine": engine}) | changes


LEVELS = {"name": "full-domain", "levels": {"age": 1, "home.city": 1}}


def test_all_windows_have_one_granularity_whatever_the_form_of_publication_and_whoever_is_missing(
    tmp_path: Path,
) -> None:
    policy = write_document(tmp_path, _document(LEVELS))
    records = people(350)
    for place, record in enumerate(records):
        if place % 9 == 0:
            record["home"]["city"] = None
        if place % 7 == 0:
            record["home"]["city"] = "Atlantis"
    told, target, proof = _anonymized(policy, write_json_lines(tmp_path / "in.jsonl", records))
    assert told["windows"] == 4
    released = [json.loads(line) for line in target.read_text().splitlines()]
    decades = [{"min": low, "max": low + 9} for low in range(0, 100, 10)]
    assert all(record["age"] in decades for record in released)
    # An unknown city is the root on every level, a missing one stays missing below the root.
    assert {record["home"]["city"] for record in released} == {"north", "south", "*", None}
    assert audited(policy, target, proof) == 0


@pytest.mark.parametrize("cell", ['{"min":30,"max":34}', '{"min":0,"max":49}', "37", '"*"'])
def test_an_audit_finds_a_cell_that_is_not_on_its_level(
    cell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = write_document(tmp_path, _document(LEVELS))
    _, target, proof = _anonymized(policy, write_json_lines(tmp_path / "in.jsonl", people(100)))
    released = {
        json.dumps(json.loads(line)["age"], separators=(",", ":")) for line in target.read_text().splitlines()
    }
    victim = min(released)
    for file in (target, proof):
        file.write_text(file.read_text().replace(f'"age":{victim}', f'"age":{cell}'))
    capsys.readouterr()
    assert audited(policy, target, proof, "--json") == 1
    said = capsys.readouterr().out
    assert Kind.ILLEGAL_VALUE.value in said
    assert Kind.ILLEGAL_CLASS_VALUE.value in said


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (
            LEVELS | {"levels": {"height": 1}},
            "engine.levels.height: is not a quasi-identifier; these are age, home.city",
        ),
        (LEVELS | {"levels": {"person": 1}}, "engine.levels.person: is not a quasi-identifier"),
        (LEVELS | {"levels": {"age": 4}}, "engine.levels.age: must lie between 0 and 3, the height of age"),
        ({"name": "full-domain"}, "levels is for name: full-domain, which needs it"),
        ({"name": "mondrian", "levels": {}}, "levels is for name: full-domain, which needs it"),
    ],
)
def test_levels_that_the_attributes_do_not_have_are_refused_by_name(
    engine: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as raised:
        load_policy(write_document(tmp_path, _document(engine)))
    assert said in str(raised.value)


def test_a_level_that_is_not_given_is_that_of_the_values_themselves(tmp_path: Path) -> None:
    policy = load_policy(write_document(tmp_path, _document({"name": "full-domain", "levels": {"age": 2}})))
    assert [(a.min_level, a.max_level) for a in policy.quasi_identifiers] == [(2, 2), (0, 0)]
    assert all(a.publishes_nodes for a in policy.quasi_identifiers)


def test_extra_levels_are_refused_where_levels_are_fixed(tmp_path: Path) -> None:
    privacy = PEOPLE["privacy"] | {"extra_levels": 1}
    with pytest.raises(SettingsError, match=r"privacy\.extra_levels: is not for engine.name: full-domain"):
        load_policy(write_document(tmp_path, _document(LEVELS, privacy=privacy)))


def test_the_levels_belong_to_what_is_promised_and_hashes_of_other_policies_stay(tmp_path: Path) -> None:
    from stream_anon.privacy.policy_document import PolicyDocument

    fixed = load_policy(write_document(tmp_path, _document(LEVELS)))
    document = PolicyDocument.of(fixed)
    read = document.policy()
    assert [(a.min_level, a.max_level) for a in read.quasi_identifiers] == [(1, 1), (1, 1)]
    plain = PolicyDocument.of(load_policy(write_document(tmp_path, _document())))
    assert "_level" not in plain.text
    assert plain.promises != document.promises
