"""What whoever answers for a release states of it: for whom, for what, by which right, and until when.

The texts are a person's words. They stand in the policy document and in reports, and nowhere else.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from dataclasses import dataclass, fields

from stream_anon.errors import SettingsError
from stream_anon.microdata.domains.calendar.moments import DAY_SECONDS, EPOCH

MOST_LETTERS = 1_000
DAY = float(DAY_SECONDS)
_JOINERS = "\u200c\u200d"  # invisible, and part of how Persian and Indian languages are written


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a release; what is empty or None is not stated.

    Parameters
    ----------
    recipient, purpose, legal_basis
        Who gets the records, for what, and by which right.
    means
        By which means somebody might try to find people in them, as they were taken into account.
    valid_until
        The last day, in UTC, on which records may be released under it.
    review_by
        The day by which somebody looks at it again.
    owner
        Who answers for it.

    Raises
    ------
    SettingsError
        If a text is too long or is not one line, or the review would come too late.
    """

    recipient: str = ""
    purpose: str = ""
    legal_basis: str = ""
    means: str = ""
    valid_until: dt.date | None = None
    review_by: dt.date | None = None
    owner: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if isinstance(text, str) and len(text) > MOST_LETTERS:
                raise SettingsError(f"release.{field.name}", f"must have at most {MOST_LETTERS:,} characters")
            if isinstance(text, str) and not all(map(_is_plain, text)):
                told = "must be one line without control characters; in YAML `>-` joins several lines to one"
                raise SettingsError(f"release.{field.name}", told)
        if self.valid_until is not None and self.review_by is not None and self.review_by > self.valid_until:
            raise SettingsError("release.review_by", "must not be after valid_until: nothing is released then")

    @property
    def told(self) -> dict[str, str]:
        """Return what is stated, by key, for reports."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: str(value) for key, value in stated.items() if value}

    @property
    def ends(self) -> float | None:
        """Return the moment at which it is over, in seconds since the epoch; None if it never is."""
        return None if self.valid_until is None else end_of(self.valid_until)


def end_of(day: dt.date) -> float:
    """Return the moment at which a day of UTC is over, in seconds since the epoch."""
    return (day.toordinal() - EPOCH.toordinal() + 1) * DAY


def _is_plain(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
