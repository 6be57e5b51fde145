"""Which windows came last is told by offsets, not by clocks."""

from __future__ import annotations

from itertools import permutations

import pytest

from stream_anon.privacy.certificate import CertifiedRange
from stream_anon.privacy.succession import InputLife, covered, unfollowed

P, Q, R = (("people", n, "id") for n in range(3))


@pytest.mark.parametrize(
    ("followed", "unsurpassed"),
    [
        ([], [{P: 10}]),
        ([{P: 10}, {P: 20}], [{P: 30}]),
        ([{P: 10, Q: 5}], [{Q: 7}, {P: 20}]),
        ([{P: 10, Q: 7}], [{P: 20}]),  # that nobody went on with Q does not make it the last one
        ([], [{P: 10}, {Q: 20}, {R: 1}]),
        ([], [{}, {P: 10}]),
        ([], [{P: 10, Q: 20}, {P: 20, Q: 10}]),  # side by side: each is followed by the other
    ],
)
def test_a_window_is_the_last_one_if_no_other_goes_on_where_it_ends(
    followed: list[dict[InputLife, int]], unsurpassed: list[dict[InputLife, int]]
) -> None:
    for order in permutations([*followed, *unsurpassed]):
        found = [order[n] for n in unfollowed(order)]
        assert sorted(map(repr, found)) == sorted(map(repr, unsurpassed))


def test_stretches_that_hold_nothing_are_left_out() -> None:
    assert list(covered([CertifiedRange("people", 1, 3, 3), CertifiedRange("people", 2, 3, 5, "id")])) == [
        (("people", 2, "id"), 3, 5)
    ]
