"""Many texts in one room: what is read and written in bulk is no object for each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.keys import PADDING

_NEWLINE = b"\n"


class Texts(Sequence[bytes | None]):
    """A sequence of n values in one buffer, `gap` bytes apart; each item is bytes, or None for a missing value.

    Parameters
    ----------
    room
        uint8[]: the values and `PADDING`; it is not written to any more.
    stops
        int64[n]: where each value ends. The first begins at 0, the others `gap` bytes after the end of the last.
    gap
        Bytes between two values.
    missing
        bool[n]: which are None (and empty); None where none is.
    """

    __slots__ = ("gap", "missing", "room", "stops")

    def __init__(
        self,
        room: NDArray[np.uint8],
        stops: NDArray[np.int64],
        gap: int = 0,
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        self.room = room
        self.stops = stops
        self.gap = gap
        self.missing = missing

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> Self:
        """Join values, with a newline behind each."""
        texts: list[bytes] = [value or b"" for value in values] if None in values else list(values)  # type: ignore[arg-type]
        missing = np.fromiter((value is None for value in values), np.bool_, len(texts)) if None in values else None
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        joint = _NEWLINE.join([*texts, PADDING])
        return cls(np.frombuffer(joint, np.uint8), np.cumsum(lengths + 1) - 1, 1, missing)

    def __len__(self) -> int:
        return len(self.stops)

    @property
    def size(self) -> int:
        """Return the bytes from the first value to the end of the last one."""
        return int(self.stops[-1]) if len(self.stops) else 0

    def is_text(self) -> bool:
        """Return whether every value is UTF-8; true of all where no gap is part of a letter."""
        joint = self.room[: self.size]
        if joint.max(initial=0) < 128:  # seldom anything else, and the bytes need not be copied for it
            return True
        try:
            joint.tobytes().decode()
        except UnicodeDecodeError:
            return False
        return True

    def __iter__(self) -> Iterator[bytes | None]:
        joint, start = self.room[: self.size].tobytes(), 0
        missing = [False] * len(self) if self.missing is None else self.missing.tolist()
        for stop, none in zip(self.stops.tolist(), missing, strict=True):
            yield None if none else joint[start:stop]
            start = stop + self.gap

    @overload
    def __getitem__(self, which: int) -> bytes | None: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | slice) -> bytes | Self | None:
        """Return one value, or a stretch of them that shares the room."""
        if isinstance(which, slice):
            first, stop, step = which.indices(len(self))
            if step != 1:
                raise ValueError("only a stretch without steps shares the room")
            begin, stops = self._start(first), self.stops[first:stop]
            end = int(stops[-1]) if len(stops) else begin
            missing = None if self.missing is None else self.missing[first:stop]
            return type(self)(self.room[begin : end + len(PADDING)], stops - begin, self.gap, missing)
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        place = which % len(self)
        if self.missing is not None and self.missing[place]:
            return None
        return self.room[self._start(place) : self.stops[place]].tobytes()

    def _start(self, place: int) -> int:
        return int(self.stops[place - 1]) + self.gap if place else 0

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the values of all parts, of one gap, in order; a single part is not copied."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        gap = parts[0].gap
        sizes = np.cumsum([0, *(part.size + gap for part in parts)]).tolist()
        room = np.zeros(sizes[-1] + len(PADDING), np.uint8)
        for part, begin in zip(parts, sizes, strict=False):
            room[begin : begin + part.size] = part.room[: part.size]
            room[begin + part.size : begin + part.size + gap] = ord(_NEWLINE)
        room.setflags(write=False)
        stops = np.concatenate([part.stops + begin for part, begin in zip(parts, sizes, strict=False)])
        missing = None
        if any(part.missing is not None for part in parts):
            missing = np.concatenate(
                [np.zeros(len(part), np.bool_) if part.missing is None else part.missing for part in parts]
            )
        return cls(room, stops, gap, missing)
