"""What certificates say adds up, and what a forger writes into them is not repeated."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stream_anon.audit.certificates import Counted
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.judges import Judge, JudgedCertificate
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.output.stated_counterfeits import StatedCounterfeits
from stream_anon.microdata.output.stated_returns import StatedSeries
from stream_anon.microdata.policy import EVERY_RECORD
from stream_anon.operations.report.figures import evidence as room
from stream_anon.operations.report.figures.evidence import UNKNOWN, Evidence
from stream_anon.operations.report.figures.timeline import TimeStretch
from stream_anon.operations.report.loss_curve import loss_curve
from stream_anon.operations.report.report_document import loss_of
from stream_anon.privacy.certificate import AchievedShield, AchievedSpread, Certificate, StatedIndividual
from stream_anon.privacy.certifying import certificate_parts
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy

POLICY = ward_policy()
LATER = "stream-anon 99.0.0rc1+0123456789ab.checkout"
QUASI = [attribute.name for attribute in POLICY.quasi_identifiers]


def _evidence(*certificates: Certificate, losses: tuple[float, ...] | None = None) -> Evidence:
    judge = Judge(POLICY, "sha256:" + "0" * 64, CollectedViolations())
    evidence = Evidence(POLICY, 0.09)
    for one in certificates:
        evidence.add(JudgedCertificate(one, judge, Counted(losses, None)))
    return evidence


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    release = release_of(
        POLICY,
        [ward_people(4), ward_people(5, first=9, age=50, illness="stroke")],
        unplaced=ward_people(1, first=40),
        rejected=[Reason.MISSING, Reason.MISSING],
    )
    return read_certificate(certificate_parts(release, POLICY, frame_of(release)))


def _with(certificate: Certificate, **changes: Any) -> Certificate:
    return replace(certificate, **changes)


def test_two_windows_add_up(certificate: Certificate) -> None:
    later = _with(certificate, opened="2024-05-14T08:00:00Z", closed="2024-05-14T08:01:10Z", software=LATER)
    evidence = _evidence(later, certificate, losses=(9.0,) * 6)
    assert (evidence.windows, evidence.releasing) == (2, 2)
    assert (evidence.first, evidence.last) == (certificate.closed, later.closed)
    assert (evidence.records.taken_in, evidence.records.released) == (24, 18)
    assert evidence.records.suppressed == {"unplaced": 2}
    assert evidence.records.rejected == {"missing": 4}
    assert (evidence.sizes.classes, evidence.sizes.people, evidence.sizes.smallest) == (4, 18, 4)
    assert evidence.distinct == {"result": 3}
    assert (evidence.mean_open_seconds, evidence.most_open_seconds) == (50, 70)
    assert evidence.most_suppressed == 1 / 10
    assert {name: use.windows for name, use in evidence.software.items()} == {LATER: 1, certificate.software: 1}
    assert evidence.engines[certificate.engine].first == certificate.closed
    assert evidence.engines[certificate.engine].last == later.closed
    assert evidence.timeline.whole.losses() == dict.fromkeys(QUASI, pytest.approx(20 / 20))


def test_a_window_on_trust_has_a_loss_and_none_by_attribute(certificate: Certificate) -> None:
    evidence = _evidence(certificate)
    assert certificate.gcp is not None
    assert evidence.timeline.whole.gcp == pytest.approx(certificate.gcp)
    assert evidence.timeline.whole.losses() == {}


def test_what_a_forger_writes_is_not_repeated(certificate: Certificate) -> None:
    text = "Mrs Smith"
    achieved = replace(
        certificate.achieved,
        distinct_l={text: 1},
        sensitive={text: AchievedSpread(t=0.5)},
        shields=[AchievedShield([text], 2)],
    )
    forged = _with(
        certificate,
        suppressed_by_reason={text: 1},
        rejected_by_reason={text: 2},
        ignored={text: 3},
        missing={text: 1},
        achieved=achieved,
        terms=replace(certificate.terms, linkable=[text, "visits"]),
        software=f"stream-anon 1.0+{text}",
        engine=text,
    )
    evidence = _evidence(forged)
    assert evidence.records.suppressed == {UNKNOWN: 1}
    assert evidence.records.rejected == {UNKNOWN: 2}
    assert evidence.records.ignored == {UNKNOWN: 3}
    assert evidence.missing == {}
    assert (evidence.distinct, evidence.spreads, evidence.shields) == ({}, {}, {})
    assert evidence.linkable == {"visits"}
    assert evidence.software.keys() == evidence.engines.keys() == {UNKNOWN}


def test_names_of_a_forger_are_bounded(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_NAMED", 3)
    evidence = _evidence(*(_with(certificate, software=f"stream-anon {number}.0") for number in range(9)))
    assert len(evidence.software) == 3
    assert evidence.engines[certificate.engine].windows == 9


def test_a_day_that_does_not_exist_has_no_place_in_time(certificate: Certificate) -> None:
    evidence = _evidence(_with(certificate, closed="2024-02-31T08:00:00Z"))
    assert evidence.windows == 1
    assert list(evidence.timeline) == []
    assert (evidence.open_seconds, evidence.most_open_seconds) == (0, 0)


def test_the_worst_of_all_windows_is_told(certificate: Certificate) -> None:
    spreads = [AchievedSpread(t=0.2, entropy_l=2.5), AchievedSpread(t=0.3, entropy_l=3.5)]
    shields = [[AchievedShield(["patient.age"], k)] for k in (9, 7)]
    evidence = _evidence(
        *(
            _with(
                certificate,
                achieved=replace(certificate.achieved, sensitive={"result": spread}, shields=own, presence=share),
            )
            for spread, own, share in zip(spreads, shields, (0.2, 0.1), strict=True)
        )
    )
    assert evidence.spreads == {"result": {"t": 0.3, "entropy_l": 2.5}}
    assert evidence.shields == {("patient.age",): 7}
    assert evidence.presence == 0.2


def _completed(certificate: Certificate, made: int = 2) -> Certificate:
    fuller = [replace(one, records=one.records + made) for one in certificate.classes]
    told = StatedCounterfeits(2 * made, 4, 4 + made)
    return _with(certificate, classes=fuller, completed=told, released=9 + 2 * made)


def test_counterfeits_are_counted_once(certificate: Certificate) -> None:
    """In a release of a series whoever is in a class has one record: the others are nobody's."""
    fuller = [replace(one, records=one.records + 2) for one in certificate.classes]
    series = _with(certificate, classes=fuller, series=StatedSeries(1, 3, 4), released=13)
    for one, kind in ((series, "series"), (_completed(certificate), "completed")):
        evidence = _evidence(one)
        assert evidence.records.counterfeits == 4
        assert evidence.made == {kind: 1}
    assert _evidence(certificate).records.counterfeits == 0
    assert not _evidence(certificate).made


def test_a_counterfeit_is_nobody(certificate: Certificate) -> None:
    """A class has its people; who takes its counterfeits for people guesses among all its records."""
    evidence = _evidence(_completed(certificate), certificate)
    assert (evidence.sizes.smallest, evidence.sizes.people) == (4, 18)
    assert (evidence.deceived.smallest, evidence.deceived.people) == (4, 22)
    alone = _evidence(_completed(certificate))
    assert (alone.sizes.smallest, alone.deceived.smallest) == (4, 6)
    risks = {risk.attacker: risk for risk in alone.risks()}
    assert risks["prosecutor"].highest == 1 / 4
    assert risks["deceived prosecutor"].highest == 1 / 6
    assert alone.highest == 1 / 6, "k is asked of readers who cannot tell counterfeits"
    assert [risk.attacker for risk in _evidence(certificate).risks()] == ["prosecutor", "marketer"]


def test_windows_that_state_no_figure_are_not_taken_for_the_worst(certificate: Certificate) -> None:
    """What was asked in some windows only was reached in these: the others may have less."""
    unasked = _with(certificate, achieved=replace(certificate.achieved, distinct_l={}))
    evidence = _evidence(certificate, unasked, unasked)
    assert evidence.distinct == {"result": 3}
    assert (evidence.releasing, evidence.stating["distinct_l", "result"]) == (3, 1)


def test_windows_count_by_policy_and_by_whom_they_count(certificate: Certificate) -> None:
    findings = CollectedViolations()
    now, before = (Judge(POLICY, name, findings) for name in ("sha256:now", "sha256:before"))
    unknown = Judge(POLICY, "sha256:unknown", findings, on_trust=True)
    evidence = Evidence(POLICY, 0.09)
    by_record = _with(certificate, individual=StatedIndividual(EVERY_RECORD))
    for judge, one in ((now, certificate), (before, by_record), (before, by_record), (unknown, certificate)):
        evidence.add(JudgedCertificate(one, judge, Counted(None, None)))
    assert evidence.in_force.windows == {"sha256:now": 1, "sha256:before": 2, "sha256:unknown": 1}
    assert evidence.in_force.known.keys() == {"sha256:now", "sha256:before"}
    assert evidence.in_force.counting_records == 2
    assert evidence.in_force.others("sha256:now") == 3


def test_digests_and_deliveries_are_those_of_the_windows(certificate: Certificate) -> None:
    evidence = _evidence(certificate, _with(certificate, digests="keyed"))
    assert evidence.undigested == 1
    assert _evidence(_with(certificate, delivery="file")).on_topics is False
    assert _evidence(_with(certificate, delivery="file"), _with(certificate, delivery="exactly-once")).on_topics
    assert evidence.most_records_each == certificate.terms.max_records_per_individual


@pytest.mark.parametrize("closed", ["0001-01-01T00:00:00Z", "0300-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_a_window_of_any_year_is_told(closed: str, certificate: Certificate) -> None:
    """A forger may write any time: the report still comes, and says what is wrong with it."""
    evidence = _evidence(*(_with(certificate, closed=closed) for _ in range(2)), certificate)
    for seconds in range(0, 200 * 86_400, 86_400):
        evidence.timeline.add(seconds, TimeStretch(1, 1, 0, 0.0))
    told = [stretch["from"] for stretch in loss_of(evidence)["over_time"]]
    assert all(len(moment) == len(closed) for moment in told)
    assert loss_curve(loss_of(evidence)["over_time"], evidence.timeline.width)


def test_an_empty_window_counts(certificate: Certificate) -> None:
    release = release_of(POLICY, [], unplaced=ward_people(2))
    empty = read_certificate(certificate_parts(release, POLICY, frame_of(release)))
    evidence = _evidence(empty, certificate)
    assert (evidence.windows, evidence.releasing) == (2, 1)
    assert evidence.most_suppressed == 1
    assert evidence.distinct == {"result": 3}
