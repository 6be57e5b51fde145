"""What passes of the records of windows that are not complete: in memory up to a bound, beyond it in a spill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Protocol

MOST_BYTES = 64 * 1024**2
_LINE_BYTES = 64  # of an object in a list, beside the text itself


class Spill(Protocol):
    """Keeps the lines of windows outside of memory."""

    def put(self, window: int, lines: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep lines of a window: published tuples, and texts of lines with a newline between them."""

    def taken(self, window: int) -> Sequence[tuple[bytes, bytes]]:
        """Return what was put of a window, and keep it no longer."""


class WindowLines:
    """The lines of one window by the published tuple of their class."""

    def __init__(self, kept: KeptLines, number: int) -> None:
        self.number = number
        self._kept = kept
        self._lines = defaultdict[bytes, list[bytes]](list)
        self.size = 0

    def add(self, published: Sequence[bytes], lines: Sequence[bytes]) -> None:
        """Keep the lines of some records, whose published tuples these are."""
        for own, line in zip(published, lines, strict=True):
            self._lines[own].append(line)
        self._kept.grow(self, sum(map(len, lines)) + _LINE_BYTES * len(lines))

    def taken(self) -> dict[bytes, list[bytes]]:
        """Return all lines by published tuple, and keep them no longer; nothing may be added afterwards."""
        found = self._emptied()
        for published, text in self._kept.close(self):
            found[published] += text.split(b"\n")
        return found

    def spill(self, spill: Spill) -> None:
        """Put what is in memory elsewhere."""
        spill.put(self.number, ((published, b"\n".join(lines)) for published, lines in self._emptied().items()))

    def _emptied(self) -> defaultdict[bytes, list[bytes]]:
        found, self._lines = self._lines, defaultdict(list)
        return found


class KeptLines:
    """The lines of all windows that are not complete.

    Parameters
    ----------
    spill
        Takes all lines as soon as they fill `most`; None where memory is to hold them, however many.
    most
        Bytes in memory.
    """

    def __init__(self, spill: Spill | None = None, most: int = MOST_BYTES) -> None:
        self._spill = spill
        self._most = most
        self._numbers = count()
        self._windows: dict[int, WindowLines] = {}  # those with lines in memory
        self._size = 0

    def window(self) -> WindowLines:
        """Return the lines of a new window."""
        return WindowLines(self, next(self._numbers))

    def grow(self, window: WindowLines, size: int) -> None:
        """Count what a window keeps more in memory; empty the memory if that is too much."""
        self._windows[window.number] = window
        window.size += size
        self._size += size
        if self._spill is not None and self._size > self._most:
            for one in self._windows.values():
                one.spill(self._spill)
                one.size = 0
            self._windows.clear()
            self._size = 0

    def close(self, window: WindowLines) -> Sequence[tuple[bytes, bytes]]:
        """Count a window no longer, to which nothing is added any more; return what was spilled of it."""
        self._windows.pop(window.number, None)
        self._size -= window.size
        return () if self._spill is None else self._spill.taken(window.number)
