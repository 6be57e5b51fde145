"""What became of information over time, in a bounded number of stretches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_STRETCHES = 96
_WIDTHS = (60, 300, 900, 3_600, 4 * 3_600, 86_400, 7 * 86_400)  # seconds; further ones are doubled


@dataclass(slots=True)
class TimeStretch:
    """The windows that closed in a stretch of time.

    Parameters
    ----------
    judged, suppressed
        Records of people that were released or suppressed, and the latter alone.
    lost
        NCP of all of them, added up; a suppressed record counts 1.
    attributes
        The same by quasi-identifier, of the windows whose values could be read.
    counted
        By quasi-identifier, the records that `attributes` is of.
    """

    windows: int = 0
    judged: int = 0
    suppressed: int = 0
    lost: float = 0.0
    attributes: dict[str, float] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)

    def add(self, other: TimeStretch) -> None:
        """Add what another stretch holds."""
        self.windows += other.windows
        self.judged += other.judged
        self.suppressed += other.suppressed
        self.lost += other.lost
        for name, lost in other.attributes.items():
            self.attributes[name] = self.attributes.get(name, 0.0) + lost
        self.counted.update(other.counted)

    @property
    def gcp(self) -> float | None:
        """Return the mean loss of a record, 0 to 1; None without a record."""
        return self.lost / self.judged if self.judged else None

    def losses(self) -> dict[str, float]:
        """Return the mean loss of a record by quasi-identifier, 0 to 1; only of those with a record."""
        return {name: self.attributes[name] / records for name, records in self.counted.items() if records}


class Timeline:
    """Adds up windows by the time at which they closed. Stretches grow wider where they would be too many."""

    def __init__(self) -> None:
        self._held: dict[int, TimeStretch] = {}
        self.width = _WIDTHS[0]
        """Seconds."""

    def add(self, closed: float, found: TimeStretch) -> None:
        """Add what was found of a window that closed at a time, in seconds since the epoch."""
        self._held.setdefault(int(closed) // self.width, TimeStretch()).add(found)
        while len(self._held) > MOST_STRETCHES:
            self._widen()

    def _widen(self) -> None:
        wider = next((width for width in _WIDTHS if width > self.width), 2 * self.width)
        held, self._held = self._held, {}
        for number, stretch in held.items():
            self._held.setdefault(number * self.width // wider, TimeStretch()).add(stretch)
        self.width = wider

    def __iter__(self) -> Iterator[tuple[int, TimeStretch]]:
        """Yield the start of each stretch in seconds since the epoch, oldest first, and what it holds."""
        for number in sorted(self._held):
            yield number * self.width, self._held[number]

    @property
    def whole(self) -> TimeStretch:
        """Return all stretches as one."""
        whole = TimeStretch()
        for stretch in self._held.values():
            whole.add(stretch)
        return whole
