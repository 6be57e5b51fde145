"""What completes classes is not believed: the gate finds what breaks its promise, and publishes none of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_anon.engine.completing.completion import Counterfeits, ShortClasses
from stream_anon.operations.audit.auditing import audit_files
from tests.support.completed import policy_with, release, townspeople

PEOPLE = townspeople(1_000)


def _all_short(table: ShortClasses, *_: object) -> dict[int, NDArray[np.int64]]:
    return {one: np.flatnonzero(table.short == one) for one in np.unique(table.short[table.short >= 0]).tolist()}


def test_classes_that_may_not_be_completed_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShortClasses, "chosen", _all_short)
    done = release(tmp_path, PEOPLE, policy_with(counterfeits="10%"))
    assert done.report.gate_violations > 0
    assert done.certificate["suppressed_by_reason"]["gate"] > 0
    made = done.counterfeits(PEOPLE)
    assert all((done.shown[one] - own).total() >= 5 for one, own in made.items())
    assert not audit_files(done.policy, done.output, done.certificates).verdict.violations


def test_more_counterfeits_than_may_be_are_all_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShortClasses, "chosen", _all_short)
    done = release(tmp_path, PEOPLE, policy_with(counterfeits="0.1%"))
    assert done.report.gate_violations > 0
    assert done.certificate["completed"]["counterfeits"] == 0
    assert done.certificate["achieved"]["k"] >= 10
    assert not audit_files(done.policy, done.output, done.certificates).verdict.violations


def test_too_few_and_too_many_counterfeits_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = ShortClasses.drawn
    for change in (lambda made: made[1:], lambda made: np.append(made, made[-1])):

        def other(table: ShortClasses, *given: object, by: object = change) -> Counterfeits:
            found = drawn(table, *given)  # type: ignore[arg-type]
            return Counterfeits(by(found.like), by(found.donors))  # type: ignore[operator]

        monkeypatch.setattr(ShortClasses, "drawn", other)
        done = release(tmp_path, PEOPLE)
        assert done.report.gate_violations == 1
        assert not audit_files(done.policy, done.output, done.certificates).verdict.violations


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(1, 300),
    seed=st.integers(0, 99),
    k=st.integers(4, 12),
    share=st.sampled_from(["0.5%", "3%", "10%"]),
    method=st.sampled_from(["samarati", "ola", "datafly", "incognito", "k-minimal"]),
)
def test_every_release_keeps_what_is_promised_and_its_audit_is_clean(
    count: int, seed: int, k: int, share: str, method: str, tmp_path: Path
) -> None:
    people = townspeople(count, seed)
    document = policy_with(k=k, counterfeits=share)
    searches = method not in ("datafly", "incognito")
    document["method"] = {"name": method, **({"max_suppressed": "20%"} if searches else {})}
    done = release(tmp_path, people, document)
    certificate = done.certificate
    made = {one: own.total() for one, own in done.counterfeits(people).items()}
    assert sum(made.values()) == certificate["completed"]["counterfeits"]
    assert sum(made.values()) <= float(share[:-1]) / 100 * len(done.released) + 1e-9
    for one, shown in done.shown.items():
        real = shown.total() - made[one]
        assert real >= k if not made[one] else (shown.total() == k and 2 * real >= k)
    assert certificate["in"] == count == len(done.released) - sum(made.values()) + certificate["suppressed"]
    assert done.report.gate_violations == 0
    assert not audit_files(done.policy, done.output, done.certificates).verdict.violations
