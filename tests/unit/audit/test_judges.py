"""The judge of a window: its own policy, or a stand-in that knows what its certificate says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stream_anon.audit import judges as judges_module
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.judges import Judges
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.attributes import Identifier, ScalarType, Sensitive
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.diversity import MOST_CLASS, Closeness, Distance, Diversity, Recursion
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.privacy.certificate import (
    Asked,
    AskedCloseness,
    AskedRecursion,
    AskedShield,
    AskedSpread,
    Certificate,
)
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import DocumentPart, PolicyDocument, read_document_part
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy

GIVEN = ward_policy()
OTHERS = [ward_policy(k=k) for k in range(4, 10)]


def _certificate(given: Policy = GIVEN, **changes: Any) -> Certificate:
    release = release_of(given, [ward_people(given.k)])
    promises = PolicyDocument.of(given).promises
    read = read_certificate(certificate_parts(release, given, frame_of(release, promises=promises)))
    return msgspec.structs.replace(read, **changes)


def _parts(document: PolicyDocument, count: int = 1) -> list[DocumentPart]:
    size = -(-len(document.text) // count)
    texts = [document.text[i : i + size] for i in range(0, len(document.text), size)]
    return [DocumentPart(1, document.promises, n, len(texts), text) for n, text in enumerate(texts, start=1)]


def _found(findings: CollectedViolations) -> list[tuple[Kind, str | None]]:
    return [(one.kind, one.batch) for one in findings.listed()]


def test_a_window_is_judged_by_the_policy_that_it_names_once_its_document_is_whole() -> None:
    findings = CollectedViolations()
    judges, certificate = Judges(GIVEN, findings), _certificate(OTHERS[0])
    first, second, third = _parts(PolicyDocument.of(OTHERS[0]), 3)
    assert judges.of(certificate) is None
    assert [judges.add_part(part) for part in (third, first, first)] == [False, False, False]
    assert judges.of(certificate) is None
    assert judges.add_part(second)
    judge = judges.of(certificate)
    assert judge is not None
    assert (judge.policy.k, judge.on_trust, judge.promises) == (4, False, certificate.promises)
    assert judges.of(certificate) is judge
    assert not judges.add_part(first), "it is known by now"
    assert _found(findings) == []


def test_the_given_policy_judges_windows_that_name_its_document_or_its_digest() -> None:
    judges = Judges(GIVEN, CollectedViolations())
    assert judges.of(_certificate()) is judges.given
    assert judges.of(_certificate(promises=None)) is judges.given
    other = judges.of(_certificate(promises=None, policy="sha256:" + "7" * 64))
    assert other is not None
    assert (other.on_trust, other.promises) == (True, "sha256:" + "7" * 64)
    assert not judges.add_part(_parts(PolicyDocument.of(GIVEN))[0])
    known = "sha256:" + "8" * 64
    assert Judges(GIVEN, CollectedViolations(), known).given.promises == known


def test_a_document_that_does_not_fit_its_digest_is_told_once_and_its_windows_are_judged_on_trust() -> None:
    findings = CollectedViolations()
    judges, certificate = Judges(GIVEN, findings), _certificate(OTHERS[0])
    (part,) = _parts(PolicyDocument.of(OTHERS[0]))
    wrong = msgspec.structs.replace(part, text=part.text.replace('"k":4', '"k":2'))
    assert judges.add_part(wrong)
    assert not judges.add_part(part), "a name is used once"
    judge = judges.of(certificate)
    assert judge is not None
    assert (judge.on_trust, judge.policy.k) == (True, 4)
    assert _found(findings) == [(Kind.WRONG_DOCUMENT, None)]


def test_a_text_that_is_no_policy_is_told_with_its_window_once_and_judged_on_trust() -> None:
    findings = CollectedViolations()
    judges = Judges(GIVEN, findings)
    document = PolicyDocument.from_text('{"k":2}')
    certificate = _certificate(promises=document.promises)
    assert judges.add_part(_parts(document)[0])
    for _ in range(2):
        judge = judges.of(certificate)
        assert judge is not None
        assert judge.on_trust
    assert [(one.kind, one.batch, one.count) for one in findings.listed()] == [
        (Kind.WRONG_DOCUMENT, certificate.batch, 1)
    ]


def test_no_more_documents_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges_module, "_MOST_DOCUMENTS", 2)
    findings = CollectedViolations()
    judges = Judges(GIVEN, findings)
    begun = _parts(PolicyDocument.of(OTHERS[0]), 2)
    assert not judges.add_part(begun[0])
    assert judges.add_part(_parts(PolicyDocument.of(OTHERS[1]))[0])
    assert _found(findings) == []
    assert not judges.add_part(_parts(PolicyDocument.of(OTHERS[2]))[0])
    assert _found(findings) == [(Kind.WRONG_DOCUMENT, None)]
    assert judges.of(_certificate(OTHERS[2])) is None
    assert judges.add_part(begun[1]), "one that was begun may end"
    assert len(findings.listed()) == 1


def test_stand_ins_are_kept_for_windows_that_ask_the_same_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judges_module, "_MOST_STAND_INS", 2)
    judges = Judges(GIVEN, CollectedViolations())
    certificates = [_certificate(policy) for policy in OTHERS[:3]]
    first, second = map(judges.stand_in, certificates[:2])
    assert judges.stand_in(certificates[0]) is first
    assert judges.stand_in(certificates[1]) is second
    judges.stand_in(certificates[2])
    assert judges.stand_in(certificates[0]) is not first, "they were forgotten together"


@pytest.mark.parametrize("shape", list(Shape))
def test_a_stand_in_reads_the_shape_of_the_given_policy_by_its_attributes(shape: Shape) -> None:
    given = replace(GIVEN, shape=shape)
    policy = Judges(given, CollectedViolations()).stand_in(_certificate()).policy
    assert policy.shape is shape
    known = policy.quasi_identifiers == given.quasi_identifiers
    assert known == (shape is not Shape.NATURAL)
    # An attribute that the given policy does not have may hold any text.
    other = replace(given, attributes=tuple(a for a in given.attributes if a.name != "illness"))
    stranger = Judges(other, CollectedViolations()).stand_in(_certificate()).policy.attribute("illness")
    assert isinstance(stranger, QuasiIdentifier)
    assert stranger.domain.labels() == {"a": 0, "b": 1}


def test_a_stand_in_asks_what_the_certificate_says() -> None:
    asked = Asked(
        7,
        0.25,
        {"result": 4, "mood": 2},
        {
            "result": AskedSpread(entropy_l=2.5, recursive_cl=AskedRecursion(3.0, 3), alpha=0.5),
            "income": AskedSpread(t_closeness=AskedCloseness(0.2, "ordered")),
        },
    )
    certificate = _certificate(asked=asked)
    judge = Judges(GIVEN, CollectedViolations()).stand_in(certificate)
    policy = judge.policy
    assert judge.on_trust
    assert judge.promises == certificate.promises
    assert (policy.k, policy.max_share, policy.individual) == (7, 0.25, EVERY_RECORD)
    assert policy.diversity == {
        "result": Diversity(4, 2.5, Recursion(3.0, 3), alpha=0.5),
        "mood": Diversity(2),
        "income": Diversity(t_closeness=Closeness(0.2, Distance.ORDERED)),
    }
    kinds = [(type(attribute), attribute.name) for attribute in policy.attributes]
    quasi = [(QuasiIdentifier, one.name) for one in GIVEN.quasi_identifiers]
    assert kinds == [
        (Identifier, "person"),
        *quasi,
        *((Sensitive, name) for name in ("result", "mood", "income")),
    ]
    types = {one.name: one.type for one in policy.attributes if isinstance(one, Sensitive)}
    assert types == {"result": ScalarType.STRING, "mood": ScalarType.STRING, "income": ScalarType.NUMBER}
    assert policy.window.max_records == WindowLimits.max_records


def test_a_stand_in_takes_its_names_from_the_first_class_and_else_from_the_given_policy() -> None:
    judges = Judges(GIVEN, CollectedViolations())
    whole = _certificate()
    names = {"person": 1, "city": 2}
    (one,) = whole.classes
    named = msgspec.structs.replace(whole, classes=[msgspec.structs.replace(one, values=names)])
    policy = judges.stand_in(named).policy
    assert [a.name for a in policy.quasi_identifiers] == ["person", "city"]
    assert not any(isinstance(a, Identifier) for a in policy.attributes), "it is generalized there"
    # A window without a class, of a policy in which plan was sensitive.
    asked = msgspec.structs.replace(whole.asked, distinct_l={"plan": 2})
    empty = judges.stand_in(msgspec.structs.replace(whole, classes=[], asked=asked)).policy
    given = [a.name for a in GIVEN.quasi_identifiers]
    assert [a.name for a in empty.quasi_identifiers] == [name for name in given if name != "plan"]
    assert [a.name for a in empty.attributes if isinstance(a, Identifier)] == ["person"]


@pytest.mark.parametrize("k", [3, None])
def test_a_window_without_a_class_that_leaves_no_quasi_identifier_is_told(k: int | None) -> None:
    findings = CollectedViolations()
    every = {attribute.name: 2 for attribute in GIVEN.quasi_identifiers}
    asked = Asked(k, 1.0, every, shields=[AskedShield(list(every), 3)])
    certificate = _certificate(classes=[], asked=asked)
    assert Judges(GIVEN, findings).stand_in(certificate).policy is GIVEN
    assert _found(findings) == [(Kind.WRONG_CRITERIA, certificate.batch)]


def test_a_stand_in_has_windows_of_k_records_within_the_limits_of_a_policy() -> None:
    findings = CollectedViolations()
    judges = Judges(GIVEN, findings)
    large = _certificate(asked=Asked(MOST_CLASS, 0.5, {}))
    assert judges.stand_in(large).policy.window.max_records == MOST_CLASS
    assert _found(findings) == []
    larger = _certificate(asked=Asked(MOST_CLASS + 1, 0.5, {}))
    judge = judges.stand_in(larger)
    assert judge.policy is GIVEN
    assert judge.on_trust
    assert _found(findings) == [(Kind.WRONG_CRITERIA, larger.batch)]


def test_windows_without_a_policy_are_searched_for_identifiers_only() -> None:
    judges = Judges(GIVEN, CollectedViolations())
    assert judges.suspicious.on_trust
    assert judges.suspicious.policy is GIVEN
    assert read_document_part(PolicyDocument.of(GIVEN).parts()[0]).promises == judges.given.promises
