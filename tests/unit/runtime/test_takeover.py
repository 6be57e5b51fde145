"""Where a partition goes on, and how a broken transaction ended."""

from __future__ import annotations

import pytest

from stream_anon.adapters.kafka.seam import LedgerEntry
from stream_anon.runtime.checkpoint import Ending, how_it_ended
from stream_anon.runtime.takeover import STEPS, Start, Stop, judge

P, Q = ("in", 0), ("in", 1)


@pytest.mark.parametrize(
    ("stable", "entry", "expected"),
    [
        (None, None, None),
        (None, 7, Start(7, from_ledger=True)),
        (7, None, Start(7)),
        (7, 7, Start(7)),
        (9, 7, Start(9, skipped=True)),
        (0, 0, Start(0)),
    ],
)
def test_partition_goes_on_from_a_wrong_offset(
    stable: int | None, entry: int | None, expected: Start | None
) -> None:
    assert judge(P, stable, None if entry is None else LedgerEntry(entry)) == expected


def test_rewound_partition_goes_on_or_is_stopped_without_a_reason() -> None:
    reason = judge(P, 3, LedgerEntry(7))
    assert isinstance(reason, Stop)
    for part in ("offset 3", "in-0", "ledger's 7", "stream-anon forget"):
        assert part in reason.text


@pytest.mark.parametrize(
    ("stable", "ending"),
    [
        ({P: 5, Q: 8}, Ending.ELSEWHERE),  # a successor's window ended there too
        ({P: 2, Q: 3}, Ending.AT_START),
        ({P: None, Q: 3}, Ending.AT_START),
        ({P: None, Q: None}, Ending.AT_START),
        ({P: 5, Q: 3}, Ending.ELSEWHERE),
        ({P: 5, Q: None}, Ending.ELSEWHERE),
        ({P: 4, Q: 3}, Ending.ELSEWHERE),
        ({P: 9, Q: 8}, Ending.ELSEWHERE),
    ],
)
def test_half_a_window_taken_for_a_whole_one(stable: dict[tuple[str, int], int | None], ending: Ending) -> None:
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=False) is ending
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=True) is Ending.AT_END  # whatever came after it
    by_offsets = Ending.AT_END if stable == {P: 5, Q: 8} else ending
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=None) is by_offsets


def test_step_without_number_name_or_policy() -> None:
    assert {step.number for step in STEPS} == set(range(1, 8))
    assert all(step.name and step.policy for step in STEPS)
