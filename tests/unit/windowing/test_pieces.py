"""Pieces are joined so that there are few, and none is copied often."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stream_anon.windowing.pieces import LARGE, append_piece


class _Copying:
    """Joins lists, and counts how many rows it has copied."""

    def __init__(self) -> None:
        self.copied = 0

    def join(self, pieces: Sequence[list[int]]) -> list[int]:
        assert len(pieces) > 1, "a piece is joined with nothing"
        joined = [row for piece in pieces for row in piece]
        self.copied += len(joined)
        return joined


def _kept(sizes: Sequence[int]) -> tuple[list[list[int]], int]:
    pieces, copying, rows = list[list[int]](), _Copying(), 0
    for size in sizes:
        append_piece(pieces, list(range(rows, rows + size)), copying.join)
        rows += size
    assert [row for piece in pieces for row in piece] == list(range(rows))
    return pieces, copying.copied


def test_single_rows_are_joined_as_a_binary_counter_counts() -> None:
    #  1 | 1 1 -> 2 | 2 1 | 2 1 1 -> 4 | ...
    sizes = [[len(piece) for piece in _kept([1] * rows)[0]] for rows in range(1, 9)]
    assert sizes == [[1], [2], [2, 1], [4], [4, 1], [4, 2], [4, 2, 1], [8]]


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([1] * 20_000, id="one at a time"),
        pytest.param([3, 1, 2] * 4_000, id="a few at a time"),
        pytest.param([1, 5_000] * 20, id="large ones between small ones"),
        pytest.param([0, 1] * 5_000, id="empty ones too"),
        pytest.param([2**i for i in range(15)], id="growing"),
        pytest.param([2**i for i in reversed(range(15))], id="shrinking"),
    ],
)
def test_pieces_stay_few_and_rows_are_copied_seldom(sizes: list[int]) -> None:
    pieces, copied = _kept(sizes)
    rows = sum(sizes)
    assert len(pieces) <= rows // LARGE + 13
    assert copied <= 12 * rows


def test_a_large_piece_is_left_alone() -> None:
    pieces = [list(range(LARGE))]
    large = pieces[0]
    append_piece(pieces, [1] * LARGE, _Copying().join)
    assert len(pieces) == 2
    assert pieces[0] is large
