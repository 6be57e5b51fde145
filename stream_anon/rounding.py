"""How numbers are rounded for people: never so that one which breaks a bound seems to meet it."""

from __future__ import annotations

from decimal import Decimal


def rounded(number: float, places: int, bound: float | None = None) -> str:
    """Return a number with so many decimals, or as many more as show on which side of a bound it lies.

    Parameters
    ----------
    places
        Decimals, at the least.
    bound
        What the number is compared with, where the reader knows it.
    """
    return _rounded(_decimal(number), places, None if bound is None else _decimal(bound))


def in_percent(share: float, places: int = 1, bound: float | None = None) -> str:
    """Return a share in percent, rounded as by `rounded`: 0.0503 is `5.0%`, but `5.03%` beside a bound of 0.05."""
    return _rounded(100 * _decimal(share), places, None if bound is None else 100 * _decimal(bound)) + "%"


def exactly(bound: float) -> str:
    """Return a bound that somebody has set in percent, with all its digits: 0.05 is `5%`."""
    return f"{(100 * _decimal(bound)).normalize():f}%"


def _decimal(number: float) -> Decimal:
    # The shortest decimal that means this float: 0.05 and not 0.05000000000000000277.
    return Decimal(repr(float(number)))


def _rounded(number: Decimal, places: int, bound: Decimal | None) -> str:
    shown = round(number, places)
    while bound is not None and (shown > bound, shown < bound) != (number > bound, number < bound):
        places += 1
        shown = round(number, places)
    return f"{shown:.{places}f}"
