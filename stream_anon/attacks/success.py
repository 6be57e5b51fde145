"""How often an attack succeeds, with its interval, and what of that is due to the release.

What an attacker is right about of people who are not in a release follows from what is true of everybody. Only what
goes beyond is the release's doing: risk = (success - control) / (1 - control) (Giomi, Boenisch, Wehmeyer, Tasnádi:
A unified framework for quantifying privacy risk in synthetic data, PETS 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

Z = 1.96
"""Standard deviations of an interval that holds the truth 95 times in 100."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share and the interval that it is in: from `low` to `high`, both from 0 to 1."""

    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Return half the width of the interval."""
        return (self.high - self.low) / 2


def success(successes: float, attempts: int) -> Share:
    """Return the share of attempts that succeed, with Wilson's interval (Wilson, JASA 1927).

    Parameters
    ----------
    successes
        From 0 to `attempts`; not whole where an attempt is right with some chance only.
    attempts
        None leaves everything open: 0, from 0 to 1.
    """
    if not 0 <= successes <= attempts:
        raise ValueError("successes are from 0 to attempts")
    if not attempts:
        return Share(0.0, 0.0, 1.0)
    share = successes / attempts
    spread = 1 + Z * Z / attempts
    center = (share + Z * Z / (2 * attempts)) / spread
    half = Z / spread * sqrt(share * (1 - share) / attempts + Z * Z / (4 * attempts * attempts))
    return Share(share, min(share, max(0.0, center - half)), max(share, min(1.0, center + half)))


def risk_beyond(attack: Share, control: Share) -> Share:
    """Return what of an attack's success is due to the release: 0 if it does no better than on the control.

    The errors of both add up as those of independent figures do.
    """
    if control.value >= 1:
        return Share(0.0, 0.0, 1.0)
    left = 1 - control.value
    value = (attack.value - control.value) / left
    error = sqrt((attack.error / left) ** 2 + ((1 - attack.value) / left**2 * control.error) ** 2)
    low, high = max(0.0, value - error), min(1.0, max(0.0, value + error))
    return Share(min(max(value, 0.0), 1.0), min(low, high), high)
