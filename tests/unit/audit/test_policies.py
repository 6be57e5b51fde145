"""Windows of several policies: each is judged by its own, and changes are listed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from stream_anon.audit import audit as audit_module
from stream_anon.audit.audit import Audit
from stream_anon.audit.verdict import Kind, Verdict
from stream_anon.microdata.attributes import Insensitive
from stream_anon.microdata.diversity import Diversity
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode, kinds

OLD = ward_policy(k=3)
NEW = ward_policy(
    k=5, revision=2, attributes=(*OLD.attributes, Insensitive("note")), diversity={"result": Diversity(3)}
)


def _windows(*policies: Policy, documents: bool = True) -> list[tuple[bytes, list[dict[str, Any]]]]:
    """Return a certificate and records for each policy, one window after the other, as one worker releases them."""
    windows = []
    previous = None
    for number, policy in enumerate(policies, start=1):
        release = release_of(policy, [ward_people(policy.k)], ranges=[InputRange(0, 10 * number, 10 * number + 10)])
        frame = frame_of(release, number, previous, PolicyDocument.of(policy).promises if documents else None)
        (part,) = certificate_parts(release, policy, frame)
        certificate = json.loads(part) | {"closed": f"2024-05-13T08:{number:02}:30Z"}
        if not documents:
            certificate |= {"policy": "sha256:" + f"{policy.k}" * 64}
        windows.append((encode(certificate), released_records(release, policy)))
        previous = certificate_digest([windows[-1][0]])
    return windows


def _verdict(given: Policy, events: list[tuple[str, Any]]) -> Verdict:
    audit = Audit(given)
    for kind, value in events:
        audit.add_part(value, "") if kind == "document" else None
        audit.add_part(value) if kind == "part" else None
        audit.add_record(*value) if kind == "record" else None
    return audit.finish()


def _events(windows: list[tuple[bytes, list[dict[str, Any]]]], *documents: Policy) -> list[tuple[str, Any]]:
    events: list[tuple[str, Any]] = [
        ("document", part) for policy in documents for part in PolicyDocument.of(policy).parts()
    ]
    for part, records in windows:
        batch = json.loads(part)["batch"]
        events += [("part", part), *(("record", (batch, record)) for record in records)]
    return events


@pytest.mark.parametrize("given", [OLD, NEW], ids=["rolled-back", "rolled-forward"])
@pytest.mark.parametrize("seed", range(5))
def test_windows_of_two_policies_are_sound_in_any_order(seed: int, given: Policy) -> None:
    events = _events(_windows(OLD, NEW, NEW, OLD), OLD, NEW)
    random.Random(seed).shuffle(events)
    verdict = _verdict(given, events)
    assert verdict.violations == ()
    assert (verdict.counts.windows, verdict.counts.on_trust) == (4, 0)
    first, second = verdict.periods
    assert (first.k, first.windows, first.first, first.last) == (
        3,
        2,
        "2024-05-13T08:01:30Z",
        "2024-05-13T08:04:30Z",
    )
    assert (second.k, second.revision, second.first) == (5, 2, "2024-05-13T08:02:30Z")
    assert second.change is not None
    assert second.change.stronger == ("privacy.k", "privacy.sensitive.result.distinct_l")
    assert second.change.weaker == ("attributes.note would be published (insensitive) and was not",)


def test_a_window_below_its_own_k_is_found_beside_windows_of_a_lower_one() -> None:
    windows = _windows(OLD, NEW)
    part, records = windows[1]
    windows[1] = (part, [record | {"illness": "cold"} if i < 2 else record for i, record in enumerate(records)])
    assert Kind.TOO_FEW_RECORDS in kinds(_verdict(OLD, _events(windows, NEW)))


def test_a_policy_that_is_only_named_is_missed() -> None:
    assert kinds(_verdict(OLD, _events(_windows(OLD, NEW)))) == {Kind.MISSING_POLICY}


def test_a_document_that_was_changed_is_refused() -> None:
    events = _events(_windows(NEW), NEW)
    document = json.loads(events[0][1])
    events[0] = ("document", encode(document | {"text": document["text"].replace('"k":5', '"k":2')}))
    verdict = _verdict(OLD, events)
    assert Kind.WRONG_DOCUMENT in kinds(verdict)
    assert verdict.counts.on_trust == 1


def test_certificates_that_name_no_document_stand_beside_those_that_do() -> None:
    first, second = _windows(OLD, documents=False), _windows(OLD, NEW)[1:]
    part = json.loads(second[0][0]) | {"previous": None}
    verdict = _verdict(NEW, _events([*first, (encode(part), second[0][1])], NEW))
    assert verdict.violations == ()
    assert [(period.k, period.on_trust) for period in verdict.periods] == [(3, True), (5, False)]
    assert verdict.periods[1].change is not None
    assert verdict.periods[1].change.stronger == ("privacy.k",)


def test_a_window_on_trust_must_keep_what_it_says_was_asked() -> None:
    (part, records), *_ = _windows(OLD, documents=False)
    records[0]["illness"] = "cold"
    found = kinds(_verdict(NEW, _events([(part, records)])))
    assert found >= {Kind.TOO_FEW_RECORDS, Kind.UNCERTIFIED_CLASS, Kind.WRONG_CLASS_SIZE}


def test_names_that_nobody_declared_are_not_repeated() -> None:
    (part, records), *_ = _windows(OLD, documents=False)
    certificate = json.loads(part)
    certificate["asked"]["distinct_l"] = {"Mrs Smith": 2, "result": 2}
    certificate["missing"] = {"Mrs Smith": 9}
    for one in certificate["classes"]:
        one["values"] = {"Mrs Smith": 1}
    verdict = _verdict(NEW, _events([(encode(certificate), records)]))
    assert not verdict.clean
    assert "Smith" not in str(verdict)


def test_each_window_waits_for_its_own_document() -> None:
    windows, given = _windows(OLD, NEW), ward_policy(k=4)
    events = _events(windows)
    for policy in (NEW, OLD):
        events += [("document", part) for part in PolicyDocument.of(policy).parts()]
    verdict = _verdict(given, events)
    assert verdict.violations == ()
    assert [(period.k, period.on_trust) for period in verdict.periods] == [(3, False), (5, False)]
    assert verdict.pending is not None
    assert verdict.pending.weaker[0].startswith("privacy.k was 5")


def test_records_beyond_those_that_are_kept_are_judged_by_the_given_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five records come before their certificate: two are kept, three have a field too many for OLD."""
    monkeypatch.setattr(audit_module, "_MOST_HELD", 2)
    events = _events(_windows(NEW), NEW)
    events.sort(key=lambda event: event[0] == "part")
    verdict = _verdict(OLD, events)
    assert [(one.kind, one.count) for one in verdict.violations] == [(Kind.UNDECLARED_FIELD, 3)]
    # What was kept is let go with its certificate, so that the next window has room for two again.
    windows = _windows(NEW, NEW)
    events = _events(windows[:1], NEW)
    events.sort(key=lambda event: event[0] == "part")
    later = _events(windows[1:])
    later.sort(key=lambda event: event[0] == "part")
    verdict = _verdict(OLD, [*events, *later])
    assert [(one.kind, one.count) for one in verdict.violations] == [(Kind.UNDECLARED_FIELD, 3)] * 2
