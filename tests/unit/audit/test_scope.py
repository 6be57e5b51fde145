"""What an audit leaves out, and what the start of a topic has lost."""

from __future__ import annotations

import datetime as dt
import json
from math import inf
from typing import Any

import pytest

from stream_anon.audit.audit import Audit, audit_in_order
from stream_anon.audit.scope import SLACK, AuditScope, Horizon, seconds_of
from stream_anon.audit.verdict import Kind, Removed, Verdict
from stream_anon.microdata.release import InputRange
from stream_anon.privacy.certificate import certificate_digest
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, release_of, released_records, ward_people, ward_policy
from tests.unit.audit.story import encode, kinds

POLICY = ward_policy()
NOON = dt.datetime(2024, 5, 13, 12, tzinfo=dt.UTC)
HOURS = range(6)  # a window an hour, from noon on

NEVER = float("-inf")

Window = tuple[bytes, list[dict[str, Any]]]


def _closed(hour: int) -> dt.datetime:
    return NOON + dt.timedelta(hours=hour)


def _windows() -> list[Window]:
    windows: list[Window] = []
    previous = None
    for hour in HOURS:
        release = release_of(POLICY, [ward_people(4)], ranges=[InputRange(0, 9 * hour, 9 * hour + 9)])
        frame = frame_of(release, hour, previous, PolicyDocument.of(POLICY).promises)
        (part,) = certificate_parts(release, POLICY, frame)
        closed = f"{_closed(hour):%Y-%m-%dT%H:%M:%SZ}"
        part = encode(json.loads(part) | {"opened": closed, "closed": closed})
        windows.append((part, released_records(release, POLICY)))
        previous = certificate_digest([part])
    return windows


def _verdict(
    parts: list[bytes],
    records: list[tuple[int, dict[str, Any]]],
    horizon: Horizon | None = None,
    stretch: AuditScope | None = None,
) -> Verdict:
    audit = Audit(POLICY, stretch=stretch)
    for part in parts:
        audit.add_part(part)
    for hour, record in records:
        audit.add_record(f"{hour:032x}", record, int(_closed(hour).timestamp()) * 1000)
    return audit.finish(horizon)


def _all(windows: list[Window]) -> list[tuple[int, dict[str, Any]]]:
    return [(hour, record) for hour, (_, records) in enumerate(windows) for record in records]


def _after(hour: float) -> float:
    """Return the oldest time that is left of a topic."""
    return NOON.timestamp() + 3600 * hour


def test_records_that_retention_removed_are_told_and_are_no_violation() -> None:
    windows = _windows()
    left = [(hour, record) for hour, record in _all(windows) if hour > 2][2:]
    parts = [part for part, _ in windows]
    verdict = _verdict(parts, left, Horizon.of(_after(3), float("-inf")))
    assert verdict.violations == ()
    assert (verdict.removed.windows, verdict.removed.records) == (4, 14)
    assert {Kind.NO_RECORDS, Kind.TOO_FEW_RECORDS} <= kinds(_verdict(parts, left))


def test_records_that_somebody_removed_behind_the_start_are_missed() -> None:
    windows = _windows()
    left = [(hour, record) for hour, record in _all(windows) if hour not in (0, 4)]
    verdict = _verdict([part for part, _ in windows], left, Horizon.of(_after(1), float("-inf")))
    assert Kind.NO_RECORDS in kinds(verdict)
    assert {violation.batch for violation in verdict.violations} == {f"{4:032x}"}
    assert verdict.removed.windows == 1


def test_certificates_that_retention_removed_are_told_and_are_no_violation() -> None:
    windows = _windows()
    parts = [part for part, _ in windows[2:]]
    verdict = _verdict(parts, _all(windows), Horizon.of(float("-inf"), _after(2)))
    assert verdict.violations == ()
    assert (verdict.removed.uncertified, verdict.removed.chains) == (8, 1)
    assert {Kind.NO_CERTIFICATE, Kind.UNKNOWN_PREVIOUS} <= kinds(_verdict(parts, _all(windows)))


def test_certificates_that_somebody_removed_behind_the_start_are_missed() -> None:
    windows = _windows()
    parts = [part for hour, (part, _) in enumerate(windows) if hour not in (0, 4)]
    verdict = _verdict(parts, _all(windows), Horizon.of(float("-inf"), _after(1)))
    assert kinds(verdict) == {Kind.GAP, Kind.NO_CERTIFICATE}


def test_a_gap_of_input_ranges_is_excused_only_before_the_horizon() -> None:
    windows = _windows()
    parts = [part for hour, (part, _) in enumerate(windows) if hour != 1]  # of another partition of the topic
    kept = [(hour, record) for hour, record in _all(windows) if hour != 1]
    assert _verdict(parts, kept, Horizon.of(float("-inf"), _after(1.5))).removed.gaps == 1
    assert Kind.GAP in kinds(_verdict(parts, kept, Horizon.of(float("-inf"), _after(-1))))


def test_an_identifier_is_found_though_its_certificate_is_gone() -> None:
    windows = _windows()
    windows[0][1][0]["person"] = "Mrs Smith"
    verdict = _verdict([part for part, _ in windows[1:]], _all(windows), Horizon.of(float("-inf"), _after(1)))
    assert kinds(verdict) == {Kind.IDENTIFYING_FIELD}


def test_only_identifiers_are_looked_for_where_the_certificate_may_be_gone() -> None:
    windows = _windows()
    strange = windows[0][1][0] | {"note": "x", "visits": "many"}
    for horizon, found in (
        (Horizon(NEVER, _after(0)), {Kind.IDENTIFYING_FIELD}),
        (
            Horizon(NEVER, _after(0) - 1),
            {Kind.IDENTIFYING_FIELD, Kind.UNDECLARED_FIELD, Kind.WRONG_TYPE, Kind.NO_CERTIFICATE}
            | {Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_VALUES},
        ),
    ):
        records = [(0, strange), (0, strange | {"person": "p1"})]
        verdict = _verdict([], records, horizon)
        assert kinds(verdict) == found
        assert verdict.removed.uncertified == (2 if len(found) == 1 else 0)


def test_windows_before_since_are_left_out() -> None:
    windows = _windows()
    windows[1][1][0]["person"] = "Mrs Smith"
    since = AuditScope(since=_after(2))
    whole = _verdict([part for part, _ in windows], _all(windows), stretch=since)
    assert (whole.violations, whole.counts.windows, whole.counts.records) == ((), 4, 16)
    # As a topic is read that was not read from its start.
    behind = _verdict([part for part, _ in windows[1:]], _all(windows)[6:], stretch=since)
    assert (behind.violations, behind.counts.windows) == ((), 4)


def test_windows_that_closed_later_are_left_out() -> None:
    windows = _windows()
    windows[4][1][0]["person"] = "Mrs Smith"
    parts = [part for part, _ in windows]
    told = _verdict(parts, _all(windows), stretch=AuditScope(until=_after(4)))
    assert (told.violations, told.counts.windows, told.counts.records) == ((), 4, 16)
    between = _verdict(parts, _all(windows), stretch=AuditScope(since=_after(1), until=_after(4)))
    assert (between.violations, between.counts.windows) == ((), 3)


@pytest.mark.parametrize("until", [float("inf"), _after(3)])
def test_a_window_of_a_day_that_does_not_exist_is_judged_in_every_period(until: float) -> None:
    """Nobody hides a window from an audit by the time that its certificate tells."""
    part, records = _windows()[0]
    forged = encode(json.loads(part) | {"closed": "2024-02-31T08:00:00Z"})
    told = _verdict([forged], [(0, record) for record in records], stretch=AuditScope(until=until))
    assert told.counts.windows == 1
    assert Kind.WRONG_TIMES in kinds(told)


def test_records_before_since_are_left_out_though_their_certificates_come_later() -> None:
    windows = _windows()
    audit = Audit(POLICY, stretch=AuditScope(since=_after(2)))
    for hour, record in _all(windows):
        audit.add_record(f"{hour:032x}", record, int(_closed(hour).timestamp()) * 1000)
    for part, _ in windows:
        audit.add_part(part)
    assert audit.at_rest()
    verdict = audit.finish()
    assert (verdict.violations, verdict.counts.windows) == ((), 4)
    assert verdict.removed == Removed()


def test_a_window_after_since_that_lacks_records_is_found() -> None:
    windows = _windows()
    left = [(hour, record) for hour, record in _all(windows) if hour != 4]
    verdict = _verdict([part for part, _ in windows], left, stretch=AuditScope(since=_after(2)))
    assert Kind.NO_RECORDS in kinds(verdict)


@pytest.mark.parametrize("hour", [3, 5])
def test_an_audit_waits_for_a_window_that_is_being_written_but_for_nothing_that_is_gone(hour: int) -> None:
    windows = _windows()
    horizon = Horizon.of(_after(1), _after(2))
    audit = Audit(POLICY)
    for number, (part, records) in enumerate(windows[2:], start=2):
        if number <= hour:
            audit.add_part(part)
        for record in records[: 2 if number == hour else 4]:
            if number <= hour:
                audit.add_record(f"{number:032x}", record, int(_closed(number).timestamp()) * 1000)
    for hours in (0, 1):  # their certificates are gone, and some of their records
        audit.add_record(f"{hours:032x}", windows[hours][1][0], int(_closed(hours).timestamp()) * 1000)
    assert not audit.at_rest(horizon)
    for record in windows[hour][1][2:]:
        audit.add_record(f"{hour:032x}", record, int(_closed(hour).timestamp()) * 1000)
    assert audit.at_rest(horizon)
    assert not audit.at_rest()
    assert audit.finish(horizon).violations == ()


def test_an_audit_since_a_time_does_not_wait_for_what_came_before() -> None:
    windows = _windows()
    audit = Audit(POLICY, stretch=AuditScope(since=_after(3)))
    for number, (part, records) in enumerate(windows[2:], start=2):
        audit.add_record(f"{1:032x}", windows[1][1][0], int(_closed(1).timestamp()) * 1000)
        audit.add_part(part)
        assert audit.at_rest() is (number < 3)
        for record in records:
            audit.add_record(f"{number:032x}", record, int(_closed(number).timestamp()) * 1000)
        assert audit.at_rest()


def test_one_batch_is_judged_alone() -> None:
    windows = _windows()
    windows[1][1][0]["person"] = "Mrs Smith"
    parts = [part for part, _ in windows]
    for hour, found in ((1, {Kind.IDENTIFYING_FIELD}), (3, set())):
        verdict = _verdict(parts, _all(windows), stretch=AuditScope(batch=f"{hour:032x}"))
        assert kinds(verdict) == found
        assert (verdict.counts.windows, verdict.counts.records) == (1, 4)


def test_files_are_audited_since_a_time_and_by_batch() -> None:
    windows = _windows()
    flat = [record for _, records in windows for record in records]
    for stretch, count in ((AuditScope(since=_after(4)), 2), (AuditScope(batch=f"{2:032x}"), 1)):
        verdict = audit_in_order(Audit(POLICY, stretch=stretch), [part for part, _ in windows], flat)
        assert verdict.violations == ()
        assert verdict.counts.windows == count


def _whole(audit: Audit) -> None:
    """Give an audit the first window, whole."""
    part, records = _windows()[0]
    audit.add_part(part)
    for record in records:
        audit.add_record(f"{0:032x}", record, int(_closed(0).timestamp()) * 1000)


def _rests(audit: Audit, *, at: Horizon, before: Horizon) -> bool:
    """Return whether an audit waits without a horizon and before one, and not at it."""
    return audit.at_rest(at) and not audit.at_rest(before) and not audit.at_rest()


def test_records_of_a_window_that_closed_at_the_horizon_are_not_waited_for() -> None:
    audit = Audit(POLICY)
    part, records = _windows()[0]
    audit.add_part(part)
    audit.add_record(f"{0:032x}", records[0], int(_closed(0).timestamp()) * 1000)
    assert _rests(audit, at=Horizon(_after(0), NEVER), before=Horizon(_after(0) - 1, _after(0)))
    assert audit.finish(Horizon(_after(0), NEVER)).violations == ()
    assert audit.finish().removed.records == 3


def test_parts_of_a_certificate_that_closed_at_the_horizon_are_not_waited_for() -> None:
    whole = json.loads(_windows()[0][0]) | {"parts": 2}
    for horizon, found in (
        (Horizon(NEVER, _after(0)), set()),
        (Horizon(_after(0), _after(0) - 1), {Kind.MISSING_PART}),
    ):
        audit = Audit(POLICY)
        _whole(audit)
        audit.add_part(encode(whole | {"batch": "ab", "classes": []}))
        assert _rests(audit, at=Horizon(NEVER, _after(0)), before=Horizon(_after(0), _after(0) - 1))
        assert kinds(audit.finish(horizon)) == found


def test_the_policy_of_a_window_that_closed_at_the_horizon_is_not_waited_for() -> None:
    part, records = _windows()[0]
    unknown = encode(json.loads(part) | {"promises": "sha256:" + "1" * 64})
    for horizon, found in ((Horizon(NEVER, _after(0)), set()), (None, {Kind.MISSING_POLICY})):
        audit = Audit(POLICY)
        audit.add_part(unknown)
        for record in records:
            audit.add_record(f"{0:032x}", record, int(_closed(0).timestamp()) * 1000)
        assert _rests(audit, at=Horizon(NEVER, _after(0)), before=Horizon(_after(0), _after(0) - 1))
        assert kinds(audit.finish(horizon)) == found


def test_the_certificate_of_records_at_the_horizon_is_not_waited_for() -> None:
    _, records = _windows()[0]
    for horizon, found in (
        (Horizon(NEVER, _after(0)), set()),
        (Horizon(NEVER, _after(0) - 1), {Kind.NO_CERTIFICATE, Kind.TOO_FEW_RECORDS, Kind.TOO_FEW_VALUES}),
    ):
        audit = Audit(POLICY)
        audit.add_record(f"{0:032x}", records[0], int(_closed(0).timestamp()) * 1000)
        assert _rests(audit, at=Horizon(NEVER, _after(0)), before=Horizon(_after(0), _after(0) - 1))
        assert kinds(audit.finish(horizon)) == found
    timeless = Audit(POLICY)
    timeless.add_record(f"{0:032x}", records[0])
    assert not timeless.at_rest(Horizon(_after(9), _after(9)))


def test_a_chain_that_begins_behind_something_is_waited_for_unless_certificates_may_be_gone() -> None:
    part, records = _windows()[1]
    audit = Audit(POLICY)
    audit.add_part(part)
    for record in records:
        audit.add_record(f"{1:032x}", record, int(_closed(1).timestamp()) * 1000)
    assert not audit.at_rest()
    assert audit.at_rest(Horizon(NEVER, _after(0)))
    assert kinds(audit.finish()) == {Kind.UNKNOWN_PREVIOUS}


@pytest.mark.parametrize("oldest", [-inf, 1e9, inf])
def test_a_verdict_tells_from_when_on_certificates_are_there(oldest: float) -> None:
    """A report of a period whose start the topic has lost is not of this period."""
    assert Audit(POLICY).finish(Horizon.of(-inf, oldest)).begins == oldest
    assert Audit(POLICY).finish().begins == -inf


def test_a_gap_is_waited_for_unless_the_window_before_it_closed_up_to_the_horizon() -> None:
    windows = _windows()
    audit = Audit(POLICY)
    for hour in (0, 2):
        audit.add_part(windows[hour][0])
        for record in windows[hour][1]:
            audit.add_record(f"{hour:032x}", record, int(_closed(hour).timestamp()) * 1000)
    assert _rests(audit, at=Horizon(NEVER, _after(0)), before=Horizon(NEVER, _after(0) - 1))


def test_a_window_released_late_stands_within_the_slack() -> None:
    assert Horizon.of(_after(1), _after(2)) == Horizon(_after(1) + SLACK, _after(2) + SLACK)


@pytest.mark.parametrize("text", ["2024-02-30T08:00:00Z", "2024-13-01T08:00:00Z", "0000-01-01T00:00:00Z"])
def test_a_day_that_does_not_exist_does_not_end_the_audit(text: str) -> None:
    assert seconds_of(text) == float("inf")
