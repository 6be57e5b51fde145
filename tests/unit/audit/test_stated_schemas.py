"""Records that state a schema: it must be the one of their window's policy, whatever the policy is by now."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stream_anon.audit.audit import Audit
from stream_anon.audit.formats.stated_schemas import CONNECT, Stated, StatingRecord, said_plainly, schema_of
from stream_anon.audit.released_records import Decoded
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.formats.registered_formats import described
from stream_anon.microdata.attributes import Insensitive
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.microdata.schemas.connect_schema import connect_schema
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.support.shapes import shaped_record
from tests.unit.audit.story import encode

OLD = ward_policy(k=3, shape=Shape.FLAT)
NEW = ward_policy(k=4, revision=2, attributes=(*OLD.attributes, Insensitive("note")), shape=Shape.FLAT)
FORMS = ["avro", "json-schema", "protobuf", CONNECT]
forms = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(autouse=True)
def needs(request: pytest.FixtureRequest) -> None:
    if "protobuf" in request.node.name:
        pytest.importorskip("grpc_tools", reason="needs the extra protobuf")


def stated(form: str, record: dict[str, Any], policy: Policy) -> Decoded:
    """Return a record as the audit gets it, with the schema of a policy, which differs in its comments."""
    if form == CONNECT:
        return {"schema": connect_schema(policy), "payload": record}
    text = schema_of(policy, form).replace("sha256:" + "0" * 64, "of somebody")
    return StatingRecord(Stated(form, said_plainly(form, text, described), described), record)


def verdict(
    given: Policy, windows: list[Policy], write: Callable[[dict[str, Any], Policy], Decoded], *documents: Policy
) -> Verdict:
    """Return the verdict on windows of some policies; each record is written with its window's policy."""
    audit, previous = Audit(given), None
    for policy in documents:
        for part in PolicyDocument.of(policy).parts():
            audit.add_part(part)
    for number, policy in enumerate(windows, start=1):
        release = release_of(policy, [ward_people(policy.k)], ranges=[InputRange(0, 10 * number, 10 * number + 10)])
        frame = frame_of(release, number, previous, PolicyDocument.of(policy).promises, minutes=number)
        (part,) = certificate_parts(release, policy, frame)
        audit.add_part(part)
        previous = certificate_digest([part])
        for record in released_records(release, policy):
            natural = {"patient.age": record["patient"]["age"], "patient.zip": record["patient"]["zip"], **record}
            whole = json.loads(encode(shaped_record(policy, natural)))
            audit.add_record(json.loads(part)["batch"], write(whole, policy))
    return audit.finish()


def found(verdict: Verdict) -> list[tuple[Kind, str | None, int]]:
    return [(one.kind, one.batch, one.count) for one in verdict.violations]


@forms
@pytest.mark.parametrize("given", [OLD, NEW], ids=["rolled-back", "rolled-forward"])
def test_an_older_schema_is_that_of_an_older_policy(form: str, given: Policy) -> None:
    windows = [OLD, NEW, OLD]
    clean = verdict(given, windows, lambda record, policy: stated(form, record, policy), OLD, NEW)
    assert clean.violations == ()
    assert (clean.counts.windows, clean.counts.on_trust) == (3, 0)


@forms
def test_a_schema_of_another_policy_than_the_windows_is_accused(form: str) -> None:
    other = {id(OLD): NEW, id(NEW): OLD}
    wrong = verdict(OLD, [OLD, NEW], lambda record, policy: stated(form, record, other[id(policy)]), OLD, NEW)
    assert found(wrong) == [(Kind.WRONG_SCHEMA, f"{number:032x}", k) for number, k in ((1, 3), (2, 4))]
    assert "schema" in Kind.WRONG_SCHEMA.value


@forms
def test_what_a_record_holds_is_judged_beside_its_schema(form: str) -> None:
    def write(record: dict[str, Any], policy: Policy) -> Decoded:
        return stated(form, record | {"person": "p1"}, policy)

    assert {kind for kind, *_ in found(verdict(OLD, [OLD], write, OLD))} == {Kind.IDENTIFYING_FIELD}


@forms
def test_of_a_window_on_trust_no_schema_is_judged(form: str) -> None:
    # The document of NEW is not there, so nothing is known of its fields: only that it is missed.
    trusted = verdict(OLD, [NEW], lambda record, policy: stated(form, record, policy))
    assert (trusted.counts.on_trust, found(trusted)) == (1, [(Kind.MISSING_POLICY, f"{1:032x}", 1)])


def test_records_without_a_schema_stand_beside_those_with_one() -> None:
    turns = iter(range(100))

    def write(record: dict[str, Any], policy: Policy) -> Decoded:
        return stated(CONNECT, record, policy) if next(turns) % 2 else record

    assert found(verdict(OLD, [OLD, OLD], write, OLD)) == []


def test_a_schema_that_the_policy_cannot_have_is_accused() -> None:
    natural = ward_policy(k=3)
    record = StatingRecord(Stated("avro", b"{}"), {})
    audit = Audit(natural)
    audit.add_record("0" * 32, record)
    assert Kind.WRONG_SCHEMA in {kind for kind, *_ in found(audit.finish())}
