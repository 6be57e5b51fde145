"""Tables of reports. A report has no script, so what each of its tables needs is known before it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STACKED_BELOW = (24, 34, 44, 54, 64)
"""Widths in rem: a table of the class `below-34` is stacked where its frame is narrower than 34."""
_LETTER, _WIDE_LETTER, _GAP, _BAR = 0.63, 0.94, 1.0, 7.0  # rem, in the widest of usual fonts
_COMFORT = 20  # letters of a name that stand in one line where there is room


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Parameters
    ----------
    cells
        Plain texts. They say what the bar shows too, which is for the eye alone.
    before, after
        How long the faint and the strong part of its bar are, as shares; None for no such part.
    loud
        Whether it says something bad.
    """

    cells: Sequence[str]
    before: float | None = None
    after: float | None = None
    loud: bool = False

    @property
    def drawn(self) -> bool:
        """Return whether it has a bar."""
        return self.before is not None or self.after is not None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with its title; where its columns do not fit it is shown as a list of its rows.

    Parameters
    ----------
    headings
        One for each cell of a row.
    texts
        How many of the first columns hold words; the others hold numbers.
    remarks
        What must be known to read it.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Row]
    texts: int = 1
    remarks: Sequence[str] = ()

    @property
    def drawn(self) -> bool:
        """Return whether a row has a bar."""
        return any(row.drawn for row in self.rows)

    @property
    def kind(self) -> str:
        """Return the class that stacks the table wherever its frame is too narrow for its columns."""
        needed = _BAR if self.drawn else 0.0
        for column, heading in enumerate(self.headings):
            cells = [row.cells[column] for row in self.rows]
            words = [word for text in (heading, *(cells if column < self.texts else ())) for word in text.split()]
            lines = [text[:_COMFORT] for text in cells] if column < self.texts else cells
            needed += max(map(_width, (*words, *lines)), default=0.0) + _GAP
        return next((f"below-{width}" for width in STACKED_BELOW if needed <= width), "stacked")


def _width(text: str) -> float:
    """Return how wide a text may be, in rem."""
    return sum(_WIDE_LETTER if letter in "mwMW@%—…" or ord(letter) > 0x2FF else _LETTER for letter in text)
