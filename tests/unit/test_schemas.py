"""The schemas: closed, described, in step with the code, and true of what is really written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator
from typer.testing import CliRunner

from stream_anon.cli.main import app
from stream_anon.errors import SettingsError
from stream_anon.microdata.attributes import Sensitive
from stream_anon.microdata.batch import NO_ATTRIBUTE, Reason, Rejects
from stream_anon.microdata.bounds import Shield
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.domains.categories import MOST_LABELS, CategoricalDomain
from stream_anon.microdata.domains.families import ShownAs
from stream_anon.microdata.domains.hierarchy import Hierarchy
from stream_anon.microdata.domains.prefixes import PrefixDomain
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Suppression
from stream_anon.microdata.schemas.json_schema import released_schema
from stream_anon.privacy.certificate import AchievedSpread, AskedSpread, Certificate
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.service.closing.dead_letters import encode_dead_letters
from stream_anon.settings.json_schema import as_text, settings_schema
from stream_anon.settings.loading import parse_settings
from tests.support.audited_files import SETTINGS, Files, visits
from tests.support.data import ROOT
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.support.shapes import typed_value
from tests.support.signing import key_of
from tests.unit.microdata.output.test_typed import NAMES as NAMES_OF_DOMAINS
from tests.unit.microdata.output.test_typed import shaped
from tests.unit.microdata.test_read import DOMAINS, STRANGERS, _attributes, _everything, _neighbours

FOLDER = ROOT / "schemas"
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*/*.yaml")) if path.stat().st_size]
OPTIONAL = {"above_max_suppressed", "ignored", "digests", "digest_key", "series", "completed"}  # of a certificate
NAMES = ("settings", "certificate", "signature", "dead-letter", "audit", "utility", "leakage")


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text())
    return schema


def _accepts(schema: dict[str, Any], document: Any) -> bool:
    return Draft202012Validator(schema).is_valid(document)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for inner in schema.values():
            yield from _objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _objects(inner)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_valid_schema(name: str) -> None:
    schema = _schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"urn:stream-anon:schema:{name}:{2 if name == 'certificate' else 1}"
    assert schema["description"]


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_closed_and_every_key_explained(name: str) -> None:
    found = list(_objects(_schema(name)))
    assert found
    for one in found:
        assert one["additionalProperties"] is False
        assert [key for key, inner in one["properties"].items() if not inner.get("description")] == []


# Settings --------------------------------------------------------------------------------------------------------


def test_the_schema_of_settings_is_current() -> None:
    assert (FOLDER / "settings.schema.json").read_text() == as_text(settings_schema()), "run `make schemas`"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_every_example_is_accepted(path: Path) -> None:
    assert _accepts(_schema("settings"), yaml.safe_load(path.read_text()))


KAFKA = {"bootstrap_servers": "127.0.0.1:9092", "group": "g", "input": "a", "output": "b"}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kafka": KAFKA},
        {"kafka": KAFKA | {"session_timeout": "30s"}},
        {"kafka": KAFKA | {"session_timeout": 30}},
        {"kafka": KAFKA | {"session_timeout": 301}},
        {"kafka": KAFKA | {"start": "middle"}},
        {"kafka": KAFKA | {"security": {"protocol": "SSL", "ca_file": "ca.pem"}}},
        {"kafka": KAFKA | {"securty": {}}},
        {"window": {"max_delay": "500ms"}},
        {"window": {"max_delay": "soon"}},
        {"window": {"max_delay": 0.5, "max_records": 1}},
        {"privacy": {"k": 1, "individual": "person"}},
        {"privacy": {"k": 5}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {"distinct_l": 1}}}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {}}}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {"entropy_l": 1}}}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {"recursive_cl": {"c": 2}}}}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {"t_closeness": {"t": 0.2}}}}},
        {"privacy": {"k": 5, "individual": "person", "sensitive": {"result": {"alpha": 1}}}},
        {"engine": {"name": "magic"}},
        {"engine": {"seed": -1}},
        {"attributes": {}},
        {"attributes": {"a": {"role": "guest"}}},
        {"attributes": {"a": {"role": "quasi-identifier", "hierarchy": {"ordered": ["1", "2"], "arity": 2}}}},
        {"attributes": {"a": {"role": "quasi-identifier", "hierarchy": {"x": ["1", "2"]}}}},
        {"attributes": {"a": {"role": "quasi-identifier", "weight": 0}}},
        {"attributes": {"a": {"role": "insensitive", "type": "date"}}},
        {"http": {"port": 70_000}},
        {"logs": {"level": "loud"}},
        {"note": 1},
    ],
)
def test_the_schema_and_the_model_agree(change: dict[str, Any]) -> None:
    document = SETTINGS | change
    try:
        parse_settings(document)
    except SettingsError:
        fits = False
    else:
        fits = True
    assert _accepts(_schema("settings"), document) == fits


# Certificates and dead letters -------------------------------------------------------------------------------


def _certificate(policy: Policy) -> dict[str, Any]:
    release = release_of(
        policy,
        [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")],
        unplaced=ward_people(2, first=9),
        over_limit=1,
        rejected=list(Reason),
    )
    (part,) = certificate_parts(release, policy, frame_of(release))
    certificate: dict[str, Any] = json.loads(part)
    return certificate


def test_real_certificates_are_accepted(tmp_path: Path) -> None:
    schema = _schema("certificate")
    assert _accepts(schema, _certificate(ward_policy()))
    empty = release_of(ward_policy(), [])
    assert all(_accepts(schema, json.loads(p)) for p in certificate_parts(empty, ward_policy(), frame_of(empty)))
    files = Files(tmp_path, SETTINGS, visits(300))
    assert all(_accepts(schema, json.loads(part)) for part in files.parts)


def test_the_schema_of_certificates_has_every_key_that_the_reader_knows() -> None:
    names = set(Certificate.__struct_encode_fields__)
    schema = _schema("certificate")
    assert set(schema["properties"]) == {*schema["required"], *OPTIONAL} == names
    for key, ignored in (("rejected_by_reason", False), ("ignored", True)):
        reasons = schema["properties"][key]["propertyNames"]["enum"]
        assert reasons == [reason.label for reason in Reason if reason.is_ignored is ignored]
    assert schema["properties"]["suppressed_by_reason"]["propertyNames"]["enum"] == [str(r) for r in Suppression]


def test_the_schema_of_signatures_fits_what_is_written() -> None:
    signature = json.loads(key_of(1).sign(b"x"))
    assert _accepts(_schema("signature"), signature)
    for change in ({"schema": 2}, {"key": "sha256:"}, {"signature": "eA=="}, {"more": 1}):
        assert not _accepts(_schema("signature"), signature | change)


def test_the_schema_of_certificates_names_every_criterion_and_every_figure_of_it() -> None:
    schema = _schema("certificate")["properties"]
    for key, struct in (("asked", AskedSpread), ("achieved", AchievedSpread)):
        spread = schema[key]["properties"]["sensitive"]["additionalProperties"]
        assert set(spread["properties"]) == set(struct.__struct_encode_fields__)


def test_a_certificate_tells_what_was_asked_by_delta_and_beta_and_what_was_reached() -> None:
    policy = ward_policy(diversity={"result": Diversity(delta_disclosure=1.5, beta_likeness=2)})
    release = release_of(policy, [ward_people(6)], reached={"result": {"delta": 0.5, "beta": 0.25}})
    (part,) = certificate_parts(release, policy, frame_of(release))
    certificate = json.loads(part)
    assert certificate["asked"]["sensitive"] == {"result": {"delta_disclosure": 1.5, "beta_likeness": 2}}
    assert certificate["achieved"]["sensitive"] == {"result": {"delta": 0.5, "beta": 0.25}}
    assert _accepts(_schema("certificate"), certificate)


def test_a_certificate_tells_what_shields_ask_and_what_they_reached() -> None:
    policy = ward_policy(shields=(Shield(("day", "plan"), 6),))
    release = replace(release_of(policy, [ward_people(6)]), achieved_shields=(6,))
    (part,) = certificate_parts(release, policy, frame_of(release))
    certificate = json.loads(part)
    asked = [{"attributes": ["day", "plan"], "k": 6}]
    assert certificate["asked"]["shields"] == certificate["achieved"]["shields"] == asked
    assert _accepts(_schema("certificate"), certificate)
    assert not _accepts(_schema("certificate"), certificate | {"asked": certificate["asked"] | {"shields": [6]}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", 3),
        ("batch", "window 1"),
        ("opened", "08:00"),
        ("in", -1),
        ("rejected_by_reason", {"mood": 1}),
        ("rejected_by_reason", {"deleted": 1}),
        ("ignored", {"malformed": 1}),
        ("gcp", 2),
        ("delivery", "maybe"),
        ("previous", "x"),
        ("classes", [{"records": 1}]),
        ("note", 1),
    ],
)
def test_the_schema_refuses_a_malformed_certificate(key: str, value: object) -> None:
    assert not _accepts(_schema("certificate"), _certificate(ward_policy()) | {key: value})


def test_real_dead_letters_are_accepted() -> None:
    policy, schema = ward_policy(), _schema("dead-letter")
    reasons = [reason for reason in Reason if not reason.is_ignored]
    rows = [(int(reason), place, 0, 7) for reason in reasons for place in (NO_ATTRIBUTE, 0, 3)]
    letters = [json.loads(letter) for letter in encode_dead_letters(Rejects.of(rows), [("people", 4)], policy)]
    assert len(letters) == 3 * len(reasons)
    assert all(_accepts(schema, letter) for letter in letters)
    assert schema["properties"]["reason"]["enum"] == [reason.label for reason in reasons]
    assert not _accepts(schema, letters[0] | {"value": "Mrs Smith"})
    assert not _accepts(schema, letters[0] | {"reason": "mood"})
    assert not _accepts(schema, letters[0] | {"offset": -1})


# Released records ----------------------------------------------------------------------------------------------


def _of_attribute(attribute: QuasiIdentifier, shape: Shape = Shape.NATURAL) -> dict[str, Any]:
    policy = Policy(attributes=(attribute,), k=2, individual="every-record", shape=shape)
    schema = released_schema(policy)
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == Draft7Validator.META_SCHEMA["$id"]
    return schema


@pytest.mark.parametrize("name", DOMAINS)
def test_the_schema_accepts_what_the_policy_publishes(name: str) -> None:
    for attribute in _attributes(name):
        validator = Draft7Validator(_of_attribute(attribute))
        for text in _everything(attribute):
            assert validator.is_valid({"x": json.loads(text)}), text


@pytest.mark.parametrize("name", [n for n, d in DOMAINS.items() if isinstance(d, CategoricalDomain | PrefixDomain)])
def test_the_schema_accepts_exactly_the_categories_that_can_be_published(name: str) -> None:
    for attribute in _attributes(name):
        validator, possible = Draft7Validator(_of_attribute(attribute)), _everything(attribute)
        tries = [stray for text in possible for stray in _neighbours(json.loads(text))] + STRANGERS
        for tried in tries:
            if isinstance(tried, list) and len(tried) > 1:
                continue  # the order of a set is for the audit
            assert validator.is_valid({"x": tried}) == (attribute.read(tried) is not None), (attribute, tried)


@pytest.mark.parametrize("name", NAMES_OF_DOMAINS)
def test_the_schema_of_typed_records_accepts_what_they_say_and_no_other_type(name: str) -> None:
    checker = Draft7Validator.FORMAT_CHECKER
    for attribute in shaped(name):
        typed = Draft7Validator(_of_attribute(attribute, Shape.TYPED), format_checker=checker)
        flat = Draft7Validator(_of_attribute(attribute, Shape.FLAT), format_checker=checker)
        possible = [typed_value(attribute, json.loads(text)) for text in _everything(attribute)]
        for value in possible:
            assert typed.is_valid({"x": value}), value
            columns = {f"x_{end}": one for end, one in value.items()} if isinstance(value, dict) else {"x": value}
            assert flat.is_valid(columns), columns
        natural = [json.loads(text) for text in _everything(attribute)]
        for tried in [*natural, *STRANGERS]:
            if type(tried) not in {type(value) for value in possible}:
                assert not typed.is_valid({"x": tried}), tried


def test_a_large_hierarchy_makes_a_small_schema() -> None:
    domain = CategoricalDomain(Hierarchy.flat([str(i) for i in range(MOST_LABELS + 1)]))
    schema = _of_attribute(QuasiIdentifier("x", domain))
    assert len(json.dumps(schema)) < 1000
    assert _accepts(schema, {"x": "17"})
    assert _accepts(schema, {"x": "*"})
    assert not _accepts(schema, {"x": 17})


def test_released_records_fit_their_schema(tmp_path: Path) -> None:
    policy = ward_policy()
    release = release_of(policy, [ward_people(5), ward_people(4, first=5, age=60, illness="stroke")])
    validator = Draft7Validator(released_schema(policy))
    assert all(validator.is_valid(record) for record in released_records(release, policy))
    files = Files(tmp_path, SETTINGS, visits(400))
    schema = released_schema(files.policy)
    assert all(Draft7Validator(schema).is_valid(json.loads(line)) for line in files.lines)
    assert list(schema["properties"])[:3] == ["patient", "plan", "ward"]
    assert list(schema["properties"]["patient"]["properties"]) == ["age", "zip"]


@pytest.mark.parametrize(
    "change",
    [{"person": "p1"}, {"note": 1}, {"visits": "3"}, {"visits": 1.5}, {"plan": ["a"]}, {"day": "13.05.2024"}],
)
def test_the_schema_refuses_what_must_not_leave(change: dict[str, Any]) -> None:
    policy = ward_policy()
    (record, *_) = released_records(release_of(policy, [ward_people(5)]), policy)
    validator = Draft7Validator(released_schema(policy))
    assert validator.is_valid(record)
    assert not validator.is_valid(record | change)
    assert not validator.is_valid({key: value for key, value in record.items() if key not in change} | {"q": 1})


def test_the_command_prints_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(SETTINGS, sort_keys=False))
    result = CliRunner().invoke(app, ["schema", "-c", str(path)])
    assert result.exit_code == 0
    Draft7Validator.check_schema(json.loads(result.stdout))


def test_the_schema_of_a_released_record_lists_the_values_of_families_that_are_published_as_they_are() -> None:
    families = (("flu", "cold"), ("stroke", None))
    own = [
        Sensitive(one.name, families=families, shown_as=ShownAs.VALUE)
        if isinstance(one, Sensitive) and one.type == "string"
        else one
        for one in ward_policy().attributes
    ]
    schema = released_schema(ward_policy(attributes=tuple(own), diversity={}))
    told = [schema["properties"][one.name] for one in own if isinstance(one, Sensitive) and one.families]
    assert [one["enum"] for one in told] == [["cold", "flu", "stroke", None]] * len(told)
    assert all("as it came" in one["description"] for one in told)
    assert told


@pytest.mark.parametrize("rest", [None, "other"])
def test_the_schema_of_a_released_record_lists_the_families_of_its_values(rest: str | None) -> None:
    families = (("flu", "cold"), ("stroke", None))
    own = [
        replace(one, families=families, rest=rest) if isinstance(one, Sensitive) and one.type == "string" else one
        for one in ward_policy().attributes
    ]
    schema = released_schema(ward_policy(attributes=tuple(own)))
    properties = [schema["properties"][one.name] for one in own if isinstance(one, Sensitive) and one.families]
    assert properties
    for told in properties:
        assert told["enum"] == ["cold|flu", *([rest] if rest else []), "stroke|null"]
        assert "family" in told["description"]
        assert ("other: in none" in told["description"]) == (rest is not None)
        validator = Draft7Validator(told)
        texts = ("cold|flu", "other", "stroke|null", "flu", None)
        assert [text for text in texts if validator.is_valid(text)] == told["enum"]
