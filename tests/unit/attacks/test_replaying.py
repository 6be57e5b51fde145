"""Replays of a made-up engine: ranks in order are cut into classes of two, in one of two ways."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_anon.attacks.replaying import ReplayCase, WindowOfReplay


def _published(codes: NDArray[np.int32], shift: int) -> WindowOfReplay:
    """Return classes of two rows in order of their code; with a shift of one the first row is alone."""
    order = np.argsort(codes[0], kind="stable")
    number = (np.arange(len(order)) + shift) // 2
    names = {}
    for one in np.unique(number).tolist():
        own = codes[0, order[number == one]]
        names[one] = (int(own.min()), int(own.max()), len(own))
    of_row = [()] * len(order)
    for row, one in zip(order.tolist(), number.tolist(), strict=True):
        of_row[row] = names[one]
    return WindowOfReplay(Counter(names.values()), tuple(of_row))


CODES = np.array([[0, 10, 12, 20, 24, 30]], np.int32)


def _case(way: int, row: int, *values: int) -> ReplayCase[int]:
    return ReplayCase(_published, CODES, _published(CODES, way), row, 0, np.array(values, np.int64))


def test_who_knows_the_way_names_the_value() -> None:
    case = _case(0, 3, 12, 16, 20)
    assert case.chance == pytest.approx(1 / 3)
    assert case.guessed([0]) == 1


def test_another_way_does_not_tell_values_apart_that_it_would_cut_alike() -> None:
    """In the other way the victim would be in no class as the published one: the rest of the window decides."""
    assert _published(CODES, 0).of_row[3] not in {
        _case(0, 3, value).replayed(value, 1).of_row[3] for value in (16, 20)
    }
    assert _case(0, 3, 16, 20).guessed([1]) == 0.5


def test_of_classes_that_both_fit_the_rest_of_the_window_decides() -> None:
    one, other = _published(CODES, 0), _published(CODES, 1)
    assert one.likeness(one) == 1
    assert one.likeness(other) == 0
    assert WindowOfReplay(Counter(), ()).likeness(one) == 0
