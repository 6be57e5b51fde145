"""The short form of the negotiations: what varies moves the answers as it must."""

from __future__ import annotations

import pytest

from benchmarks.negotiation import LIMITS, SHARES, SIZES, adult, answers, asked_of_a_size, figures, rides
from tests.support.data import shared_data


@pytest.mark.parametrize(("table", "exact"), [(adult, 13), (rides, 7)])
def test_more_suppression_and_higher_limits_never_lose_an_exact_answer(table: object, exact: int) -> None:
    data = shared_data("arx-adult")
    found = answers(table(data, 10**9), 1)  # type: ignore[operator]
    usual = [one for one in found if one["requests"] == "the 28"]
    assert len(usual) == 28
    assert sum(one["exact"] for one in usual) == exact
    counts = {one["requests"]: one["exact"] for one in figures(found, "requests")}
    by_share = [counts[f"MaxSupp {share:.1%}"] for share in SHARES]
    by_limits = [counts[f"h {limits}"] for limits in LIMITS]
    assert by_share == sorted(by_share)
    assert by_share[0] < by_share[-1]
    assert by_limits == sorted(by_limits)
    assert by_limits[-1] == 24  # at the roots all records are one group
    assert counts["MaxSupp 0.5%"] == counts["the 28"]


def test_a_size_has_seven_requests() -> None:
    assert len(SIZES) * len(asked_of_a_size()) == 28
    assert len(set(asked_of_a_size())) == 7
