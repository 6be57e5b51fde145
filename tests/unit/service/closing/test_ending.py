"""How a broken transaction ended."""

from __future__ import annotations

import pytest

from stream_anon.service.closing.ending import Ending, how_it_ended

P, Q = ("in", 0), ("in", 1)


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
def test_only_a_whole_window_counts_as_committed(stable: dict[tuple[str, int], int | None], ending: Ending) -> None:
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=False) is ending
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=True) is Ending.AT_END  # whatever came after it
    by_offsets = Ending.AT_END if stable == {P: 5, Q: 8} else ending
    assert how_it_ended({P: 2, Q: 3}, {P: 5, Q: 8}, stable, held=None) is by_offsets
