"""The policies under which windows were released: from when to when, and what each change weakened."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import msgspec
import pytest

from stream_anon.audit import periods as periods_module
from stream_anon.audit.collected_violations import CollectedViolations
from stream_anon.audit.judges import Judge
from stream_anon.audit.periods import Periods
from stream_anon.audit.verdict import Change
from stream_anon.microdata.attributes import Insensitive
from stream_anon.microdata.choices.engine_choice import EngineChoice
from stream_anon.microdata.choices.window_limits import WindowLimits
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.privacy.certificate import Certificate, CertifiedRange
from stream_anon.privacy.certifying import certificate_parts
from stream_anon.privacy.policy_document import PolicyDocument
from tests.support.releases import frame_of, read_certificate, release_of, ward_people, ward_policy

OLD, NEW = ward_policy(), ward_policy(k=5)


def _judge(policy: Policy, *, on_trust: bool = False) -> Judge:
    return Judge(policy, PolicyDocument.of(policy).promises, CollectedViolations(), on_trust=on_trust)


def _certificate(policy: Policy, minute: int, **changes: Any) -> Certificate:
    release = release_of(policy, [ward_people(policy.k)])
    read = read_certificate(certificate_parts(release, policy, frame_of(release)))
    stated = {"closed": f"2024-05-13T08:{minute:02}:00Z", "inputs": []}
    return msgspec.structs.replace(read, **stated | changes)


def test_a_period_reaches_from_its_first_to_its_last_window_and_has_the_highest_revision() -> None:
    judge = _judge(OLD)
    windows = [_certificate(OLD, minute, revision=revision) for minute, revision in ((1, 4), (2, 9), (3, 2))]
    for order in permutations(windows):
        periods = Periods()
        for certificate in order:
            periods.add(certificate, judge)
        (period,), pending = periods.finish(judge)
        assert (period.first[14:16], period.last[14:16]) == ("01", "03")
        assert (period.windows, period.revision, period.k, period.on_trust) == (3, 9, 3, False)
        assert (period.change, pending) == (None, None)


def test_periods_stand_in_the_order_of_their_first_windows_and_tell_what_each_changed() -> None:
    old, new = _judge(OLD), _judge(NEW)
    periods = Periods()
    for policy, judge, minute in ((NEW, new, 2), (OLD, old, 5), (OLD, old, 1), (NEW, new, 3)):
        periods.add(_certificate(policy, minute), judge)
    (first, second), pending = periods.finish(new)
    assert (first.k, second.k) == (3, 5)
    assert first.change is None
    assert second.change == Change((), ("privacy.k",))
    # The last window was OLD's: to go on with NEW would be a change.
    assert pending == Change((), ("privacy.k",))
    (_, _), none = periods.finish(old)
    assert none is None


def test_offsets_order_periods_where_a_clock_was_set_back() -> None:
    old, new = _judge(OLD), _judge(NEW)

    def window(policy: Policy, minute: int, *stretch: int) -> Certificate:
        return _certificate(policy, minute, inputs=[CertifiedRange("people", *stretch, "id")])

    windows = [
        (window(OLD, 50, 0, 0, 10), old),  # the clock is ahead
        (window(OLD, 51, 1, 0, 10), old),
        (window(NEW, 3, 0, 10, 20), new),
        (window(NEW, 4, 1, 10, 20), new),
    ]
    for order in permutations(windows):
        periods = Periods()
        for certificate, judge in order:
            periods.add(certificate, judge)
        (first, second), pending = periods.finish(old)
        assert (first.k, second.k) == (3, 5)
        assert second.change == Change((), ("privacy.k",))
        assert pending is not None, "the last window was NEW's"
        assert periods.finish(new)[1] is None


def test_windows_of_one_policy_document_with_other_terms_are_periods_of_their_own() -> None:
    judge = _judge(OLD)
    looser = replace(OLD, window=WindowLimits(max_records_per_individual=101), engine=EngineChoice("mondrian"))
    periods = Periods()
    for policy, minute in ((OLD, 1), (looser, 2), (OLD, 3)):
        periods.add(_certificate(policy, minute), judge)
    (first, second), pending = periods.finish(judge)
    assert (first.windows, second.windows, pending) == (2, 1, None)
    assert second.change is not None
    assert [text.split()[0] for text in second.change.weaker] == [
        "engine.name",
        "window.max_records_per_individual",
    ]


def test_without_a_window_nothing_changes() -> None:
    assert Periods().finish(_judge(OLD)) == ((), None)


def test_on_trust_only_k_and_the_share_are_compared() -> None:
    attributes = (*OLD.attributes, Insensitive("note"))
    weaker = ward_policy(k=2, max_share=0.9, diversity={}, attributes=attributes, individual=EVERY_RECORD)
    for before, after in ((True, False), (False, True), (True, True)):
        periods = Periods()
        periods.add(_certificate(OLD, 1), _judge(OLD, on_trust=before))
        periods.add(_certificate(weaker, 2), _judge(weaker, on_trust=after))
        (first, second), _ = periods.finish(_judge(OLD))
        assert (first.on_trust, second.on_trust) == (before, after)
        assert second.change is not None
        assert [text.partition(" ")[0] for text in second.change.weaker] == ["privacy.k", "privacy.max_share"]
        assert second.change.stronger == ()


def test_windows_on_trust_that_ask_otherwise_are_periods_of_their_own() -> None:
    judge = _judge(OLD, on_trust=True)
    first = _certificate(OLD, 1)
    other = _certificate(OLD, 2, asked=msgspec.structs.replace(first.asked, k=4))
    known = _judge(OLD)
    for each, count in ((judge, 2), (known, 1)):
        periods = Periods()
        for certificate in (first, other, first):
            periods.add(certificate, each)
        found, _ = periods.finish(known)
        assert len(found) == count
        assert sum(period.windows for period in found) == 3


def test_an_accepted_risk_is_counted_by_window() -> None:
    periods, judge = Periods(), _judge(OLD)
    for accepted in (["a"], ["a", "b", "b"], []):
        periods.add(_certificate(OLD, 1, accepted=accepted), judge)
    assert periods.accepted == {"a": 2, "b": 1}


def test_no_more_periods_and_risks_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periods_module, "_MOST_PERIODS", 2)
    periods = Periods()
    policies = [ward_policy(k=k) for k in (3, 4, 5)]
    for turn in range(2):
        for minute, policy in enumerate(policies):
            certificate = _certificate(policy, minute, accepted=[f"risk-{minute}"])
            periods.add(certificate, _judge(policy))
        found, _ = periods.finish(_judge(OLD))
        assert [(period.k, period.windows) for period in found] == [(3, turn + 1), (4, turn + 1)]
    assert periods.accepted == {"risk-0": 1, "risk-1": 1}


def test_the_smallest_class_counts_also_where_there_is_no_room_for_its_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(periods_module, "_MOST_PERIODS", 1)
    periods = Periods()
    assert periods.least is None
    for minute, k in enumerate((5, 3, 4)):
        periods.add(_certificate(ward_policy(k=k), minute), _judge(ward_policy(k=k)))
    assert periods.least == 3
