"""When a window closes, and what becomes of one that would publish too little."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stream_anon.errors import SettingsError

MOST_RECORDS = 10_000_000
MOST_AUTO = 1_000_000
"""Records after which a window closes at the latest if nobody has chosen a number."""
LEAST_AUTO = 10_000
"""No smaller window is made for want of time if nobody has chosen a number: what cannot take these has another
fault. It is all that is promised then."""


class Shortfall(StrEnum):
    """What happens to a whole window of too few people at its deadline."""

    SUPPRESS = "suppress"
    HOLD = "hold"


class AboveMost(StrEnum):
    """What happens to a window that would suppress more than `max_suppressed` of its records."""

    PUBLISH = "publish"
    SUPPRESS = "suppress"


@dataclass(frozen=True)
class WindowLimits:
    """When a window closes.

    Parameters
    ----------
    max_records
        Admitted records after which it closes.
    max_delay
        Seconds after the arrival of its oldest record at which it closes.
    shortfall
        See `Shortfall`.
    max_records_per_individual
        Records of one individual beyond which further ones are suppressed.
    least_people
        Individuals for which an overdue window waits, if it may be held; 0 for as many as a class needs.
    auto
        Whether nobody has chosen `max_records`. Then it is the most that a window may hold, and whoever runs the
        windows closes them earlier where memory or time is short; see `windowing.bounds`.
    target_loss
        Mean NCP of published records at which a service closes windows, sooner than it must; None: it fills them
        as far as it may.
    """

    max_records: int = 10_000
    max_delay: float = 30.0
    shortfall: Shortfall = Shortfall.SUPPRESS
    max_records_per_individual: int = 100
    least_people: int = 0
    auto: bool = False
    target_loss: float | None = None

    @property
    def promised_records(self) -> int:
        """Return the records that certificates state as the bound of a window."""
        return LEAST_AUTO if self.auto else self.max_records

    def __post_init__(self) -> None:
        if not 2 <= self.max_records <= MOST_RECORDS:
            raise SettingsError("window.max_records", f"must lie between 2 and {MOST_RECORDS}")
        if not 0.05 <= self.max_delay <= 86_400:
            raise SettingsError("window.max_delay", "must lie between 0.05 and 86400 seconds")
        if self.max_records_per_individual < 1:
            raise SettingsError("window.max_records_per_individual", "must be at least 1")
        if self.least_people and self.shortfall is not Shortfall.HOLD:
            raise SettingsError("window.least_people", "is for shortfall: hold")
        if not 0 <= self.least_people <= self.max_records:
            raise SettingsError("window.least_people", "must not be above max_records")
        if self.target_loss is not None and not 0 < self.target_loss < 1:
            raise SettingsError("window.target_loss", "must lie between 0 and 1")
