"""What a window keeps in pieces, as it arrives: few pieces, however small they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import TypeVar

LARGE = 4_096
"""Rows from which on a piece is no longer joined with the next one: what an object costs is little beside them."""

_Piece = TypeVar("_Piece", bound=Sized)


def append_piece(pieces: list[_Piece], piece: _Piece, join: Callable[[Sequence[_Piece]], _Piece]) -> None:
    """Append a piece, and join small ones at the end.

    Of n rows there are at most n / `LARGE` pieces and twelve more. Each row is copied at most twelve times.

    Parameters
    ----------
    join
        Returns the rows of all given pieces in order, as one.

    Examples
    --------
    Seven pieces of one row each are kept as pieces of 4, 2 and 1, and with the next one there is a piece of 8.
    """
    pieces.append(piece)
    first, size = len(pieces) - 1, len(piece)
    while first and len(pieces[first - 1]) < min(LARGE, 2 * size):
        first -= 1
        size += len(pieces[first])
    if first < len(pieces) - 1:
        pieces[first:] = [join(pieces[first:])]
