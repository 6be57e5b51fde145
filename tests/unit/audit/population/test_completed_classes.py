"""A certificate that lies about counterfeits is found, by what it says of its own classes and by its records."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stream_anon.audit.population.completed_classes import CompletionAudit
from stream_anon.audit.verdict import Kind
from stream_anon.microdata.bounds import RecordBound, Shield
from stream_anon.operations.audit.auditing import audit_files
from stream_anon.privacy.certificate import Certificate, CertifiedClass, read_part
from stream_anon.settings.policy_file import load_policy
from tests.support.completed import CompletedFile, policy_with, release, townspeople
from tests.support.policies import write_document

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> CompletedFile:
    return release(tmp_path_factory.mktemp("completed"), townspeople(2_000))


def _kinds(done: CompletedFile, change: Change, tmp_path: Path, policy: Path | None = None) -> set[Kind]:
    """Return what the audit finds after a change of the certificate."""
    certificate = copy.deepcopy(done.certificate)
    change(certificate)
    changed = tmp_path / "changed.jsonl"
    changed.write_text("\n".join([*done.parts[:-1], json.dumps(certificate)]) + "\n")
    verdict = audit_files(policy or done.policy, done.output, changed).verdict
    return {violation.kind for violation in verdict.violations}


def _completed(certificate: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in certificate["classes"] if one["records"] > one["individuals"]]


def _stated(name: str, add: int) -> Change:
    def change(certificate: dict[str, Any]) -> None:
        certificate["completed"][name] += add

    return change


def _hidden(certificate: dict[str, Any]) -> None:
    """Count all counterfeits of a class as people, and take them out of all sums."""
    one = _completed(certificate)[0]
    made = one["records"] - one["individuals"]
    one["individuals"] += made
    certificate["completed"]["counterfeits"] -= made
    certificate["in"] += made


def _outnumbered(certificate: dict[str, Any]) -> None:
    """Say that a class of ten has four people."""
    one = _completed(certificate)[0]
    more = one["individuals"] - 4
    one["individuals"] = 4
    certificate["completed"]["counterfeits"] += more
    certificate["in"] -= more
    certificate["completed"]["people"] = certificate["achieved"]["k"] = 4


def _needless(certificate: dict[str, Any]) -> None:
    """Say that somebody in a class of enough people is nobody."""
    one = max(certificate["classes"], key=lambda each: each["individuals"])
    one["individuals"] -= 1
    certificate["completed"]["counterfeits"] += 1
    certificate["in"] -= 1


def _unstated(certificate: dict[str, Any]) -> None:
    certificate["in"] += certificate.pop("completed")["counterfeits"]


def _allowed(certificate: dict[str, Any]) -> None:
    """Ask for less than the policy does."""
    certificate["asked"]["counterfeits"] = 0.1


def test_counterfeits_are_no_records_of_which_too_many_are_suppressed(tmp_path: Path) -> None:
    """With them the share is just small enough, and without them it is not: the engine counts people's records."""
    town = townspeople(2_000)
    found = release(tmp_path, town).report
    left_out = found.suppressed.total()
    share = left_out / (len(town) + found.counterfeits / 2)
    assert RecordBound(share).of(len(town)) < left_out <= RecordBound(share).of(len(town) + found.counterfeits)
    asked = policy_with(max_suppressed=f"{share:.6%}")
    done = release(tmp_path, town, asked)
    assert done.certificate["above_max_suppressed"] is True
    assert _kinds(done, lambda _: None, tmp_path) == set()


def test_what_is_true_is_not_accused(done: CompletedFile, tmp_path: Path) -> None:
    assert _completed(done.certificate)
    assert not _kinds(done, lambda _: None, tmp_path)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (_stated("counterfeits", 1), {Kind.WRONG_COUNTERFEITS, Kind.WRONG_IN}),
        (_stated("counterfeits", -1), {Kind.WRONG_COUNTERFEITS, Kind.WRONG_IN}),
        (_stated("people", 1), {Kind.WRONG_COUNTERFEITS}),
        (_stated("records", 1), {Kind.WRONG_COUNTERFEITS}),
        (_hidden, {Kind.TOO_MANY_RECORDS}),
        (_outnumbered, {Kind.TOO_FEW_INDIVIDUALS}),
        (_needless, {Kind.WRONG_COUNTERFEITS}),
        (_unstated, {Kind.WRONG_COUNTERFEITS, Kind.TOO_MANY_RECORDS}),
        (_allowed, {Kind.WRONG_CRITERIA}),
    ],
)
def test_each_lie_is_found(change: Change, kinds: set[Kind], done: CompletedFile, tmp_path: Path) -> None:
    assert _kinds(done, change, tmp_path) == kinds


def test_a_policy_without_counterfeits_makes_their_statement_a_lie(done: CompletedFile, tmp_path: Path) -> None:
    """The certificate claims them under a policy that it does not name, as somebody with too few people might."""
    parts = [json.loads(part) for part in done.parts]
    bare = release(tmp_path, townspeople(2_000), policy_with(counterfeits=None))
    one = bare.certificate["classes"][0]
    forged = copy.deepcopy(bare.certificate)
    forged["classes"][0]["individuals"] = 7
    forged["achieved"]["k"] = 7
    made = one["individuals"] - 7
    forged["in"] -= made
    forged["completed"] = {"counterfeits": made, "people": 7, "records": parts[-1]["completed"]["records"]}
    bare.certificates.write_text("\n".join([*bare.parts[:-1], json.dumps(forged)]) + "\n")
    verdict = audit_files(bare.policy, bare.output, bare.certificates).verdict
    kinds = {violation.kind for violation in verdict.violations}
    assert {Kind.WRONG_COUNTERFEITS, Kind.TOO_FEW_INDIVIDUALS} <= kinds


def test_more_counterfeits_than_may_be_are_found(tmp_path: Path) -> None:
    """The release was made under a larger share than the one whose name it has."""
    many = release(tmp_path, townspeople(2_000))
    share = many.certificate["completed"]["counterfeits"] / many.certificate["released"]
    lesser = f"{100 * share - 0.01:.4f}%"
    document = policy_with(counterfeits=lesser)
    folder = tmp_path / "lesser"
    folder.mkdir()
    few = release(folder, townspeople(2_000), document)
    forged = many.certificate
    for name in ("policy", "promises", "asked"):
        forged[name] = few.certificate[name]
    many.certificates.write_text("\n".join([*few.parts[:-1], json.dumps(forged)]) + "\n")
    verdict = audit_files(write_document(folder, document), many.output, many.certificates).verdict
    assert {violation.kind for violation in verdict.violations} == {Kind.WRONG_COUNTERFEITS}


def test_a_class_with_a_counterfeit_less_has_too_few_records(done: CompletedFile, tmp_path: Path) -> None:
    lines = done.output.read_text().splitlines()
    own = _completed(done.certificate)[0]["values"]
    gone = next(i for i, line in enumerate(lines) if own.items() <= json.loads(line).items())
    output = tmp_path / "out.jsonl"
    output.write_text("\n".join(lines[:gone] + lines[gone + 1 :]) + "\n")
    verdict = audit_files(done.policy, output, done.certificates).verdict
    kinds = {violation.kind for violation in verdict.violations}
    assert {Kind.TOO_FEW_RECORDS, Kind.WRONG_CLASS_SIZE} <= kinds


def test_on_trust_counterfeits_are_judged_by_what_was_asked(done: CompletedFile, tmp_path: Path) -> None:
    """Without its document the policy is not known: its certificate alone says that there may be counterfeits."""
    other = write_document(tmp_path, policy_with(k=5, counterfeits=None))
    changed = tmp_path / "changed.jsonl"
    certificate = done.certificate
    certificate["promises"] = None
    changed.write_text(json.dumps(certificate) + "\n")
    assert not audit_files(other, done.output, changed).verdict.violations
    certificate["completed"]["counterfeits"] += 1
    certificate["in"] -= 1
    changed.write_text(json.dumps(certificate) + "\n")
    kinds = {violation.kind for violation in audit_files(other, done.output, changed).verdict.violations}
    assert kinds == {Kind.WRONG_COUNTERFEITS}


def _class(records: int, individuals: int) -> CertifiedClass:
    return CertifiedClass(records, individuals, {}, 0.0)


def test_a_class_is_short_unless_it_has_k_people_or_is_completed_to_k_records(done: CompletedFile) -> None:
    policy = load_policy(done.policy)
    audit = CompletionAudit(policy)
    for records, individuals in ((10, 10), (12, 12), (12, 10), (10, 5), (10, 9)):
        assert not audit.falls_short(_class(records, individuals)), (records, individuals)
    for records, individuals in ((9, 9), (10, 4), (11, 9), (9, 8)):
        assert audit.falls_short(_class(records, individuals)), (records, individuals)
    bare = replace(policy, counterfeits=None)
    assert not CompletionAudit(bare).falls_short(_class(10, 10))
    assert CompletionAudit(bare).falls_short(_class(10, 9))
    shields = (Shield(("age",), 5),)
    without_k = CompletionAudit(replace(bare, k=None, shields=shields, max_share=1.0, method=None))
    assert not without_k.falls_short(_class(1, 1))
    assert without_k.falls_short(_class(1, 0))


def _certified(done: CompletedFile, *classes: CertifiedClass) -> Certificate:
    """Return a certificate that tells the truth of these classes."""
    made = sum(one.records - one.individuals for one in classes)
    people, records = min(one.individuals for one in classes), min(one.records for one in classes)
    whole = read_part(done.parts[-1].encode())
    stated = msgspec.structs.replace(whole.completed, counterfeits=made, people=people, records=records)
    released = sum(one.records for one in classes)
    return msgspec.structs.replace(whole, released=released, classes=list(classes), completed=stated)


@pytest.mark.parametrize(
    ("share", "others", "untrue"),
    [
        (0.05, 90, False),  # 5 of 100
        (0.05, 89, True),  # 5 of 99
        (0.05, 91, False),
        (0.5 / 100, 990, False),  # 5 of 1,000
        (0.5 / 100, 989, True),
    ],
)
def test_the_share_of_counterfeits_is_exact(share: float, others: int, untrue: bool, done: CompletedFile) -> None:
    audit = CompletionAudit(replace(load_policy(done.policy), counterfeits=RecordBound(share)))
    assert audit.untrue(_certified(done, _class(others, others), _class(10, 5))) is untrue


def test_a_share_that_is_no_exact_float_allows_what_it_says(done: CompletedFile) -> None:
    share = RecordBound.parse("0.7%")
    assert share is not None
    assert share.share * 1_000 < 7
    audit = CompletionAudit(replace(load_policy(done.policy), counterfeits=share))
    assert not audit.untrue(_certified(done, _class(980, 980), _class(10, 6), _class(10, 7)))
    assert audit.untrue(_certified(done, _class(979, 979), _class(10, 6), _class(10, 7)))


def test_counterfeits_beside_k_people_are_needless(done: CompletedFile) -> None:
    audit = CompletionAudit(load_policy(done.policy))
    assert audit.untrue(_certified(done, _class(200, 200), _class(11, 10)))
    assert not audit.untrue(_certified(done, _class(200, 200), _class(10, 9)))


def test_people_with_several_records_cannot_be_told_from_counterfeits(done: CompletedFile) -> None:
    audit, whole = CompletionAudit(load_policy(done.policy)), read_part(done.parts[-1].encode())
    several = msgspec.structs.replace(whole.terms, max_records_per_individual=2)
    assert audit.untrue(msgspec.structs.replace(whole, terms=several))
    everybody = msgspec.structs.replace(whole.individual, field="every-record")
    assert not audit.untrue(msgspec.structs.replace(whole, terms=several, individual=everybody))
