"""The digamma function, which neither numpy nor the standard library has."""

from __future__ import annotations

from math import log

_LARGE = 10.0  # from here on the asymptotic series is right to 1e-13
_SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)


def digamma(x: float) -> float:
    """Return the logarithmic derivative of the gamma function for x > 0, to about 12 digits.

    By the recurrence psi(x) = psi(x + 1) - 1/x up to 10, then the asymptotic series (Abramowitz, Stegun 6.3.18).
    """
    found = 0.0
    while x < _LARGE:
        found -= 1 / x
        x += 1
    inverse = 1 / (x * x)
    power = inverse
    found += log(x) - 0.5 / x
    for factor in _SERIES:
        found += factor * power
        power *= inverse
    return found
