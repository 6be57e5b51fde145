"""How kernels write what JSON has a fixed text for, and what it has none for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined

UNREADABLE = b"[[]]"
"""Stands for what JSON cannot say. It fits no attribute: a list holds no lists."""

_TRUE, _FALSE, _NULL = (int.from_bytes(text, "little") for text in (b"true", b"false", b"null"))
_LETTERS = tuple(UNREADABLE)


@checked_inlined
def put_boolean(is_true: int, out_words: NDArray[np.int64], place: int) -> int:
    """Write true or false, and zeros behind it; return the place behind the letters."""
    out_words[place] = _TRUE if is_true else _FALSE
    return place + (4 if is_true else 5)


@checked_inlined
def put_null(out_words: NDArray[np.int64], place: int) -> int:
    """Write null, and zeros behind it; return the place behind the letters."""
    out_words[place] = _NULL
    return place + 4


@checked_inlined
def put_unreadable(out: NDArray[np.uint8], place: int) -> int:
    """Write `UNREADABLE`; return the place behind it."""
    for turn in range(len(_LETTERS)):
        out[place + turn] = _LETTERS[turn]
    return place + len(_LETTERS)
