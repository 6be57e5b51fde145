"""Many texts in one room: what is read and written in bulk is no object for each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_kernel, constant
from stream_anon.microdata.keys import PADDING, padded_words

_NEWLINE = b"\n"
_NEWLINE_BYTE = ord(_NEWLINE)


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

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return where each value begins; int64[n]."""
        starts = np.zeros(len(self), np.int64)
        starts[1:] = self.stops[:-1] + self.gap
        return starts

    def are_text(self) -> NDArray[np.bool_]:
        """Return which values are UTF-8; bool[n]. The gap is a newline."""
        joint = self.room[: self.size]
        whole = np.ones(len(self), np.bool_)
        if joint.max(initial=0) < 128:  # seldom anything else, and the bytes need not be copied for it
            return whole
        # No letter of several bytes holds a newline, so if the whole is text, each value is text. If it is not,
        # each value is looked at, so that one that is no text does not make the others slow.
        if _is_text(joint.tobytes()):
            return whole
        return np.fromiter(map(_is_text, self), np.bool_, len(self))

    def cut(
        self,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        missing: NDArray[np.bool_] | None = None,
        *,
        lead: bytes = b"",
        gap: int = 1,
    ) -> Self:
        """Return m parts of the room as values of their own; O(bytes), without an object for each.

        Parameters
        ----------
        starts, stops
            int64[m], places in the room.
        missing
            bool[m], which of them are None; these spans are empty. None where none is.
        lead
            Up to eight bytes that are written before each.
        gap
            1 for a newline behind each, or 0.
        """
        room = np.empty(int((stops - starts).sum()) + len(stops) * (len(lead) + gap) + len(PADDING), np.uint8)
        ends = np.empty(len(stops), np.int64)
        word = int.from_bytes(lead.ljust(len(PADDING), b"\0"), "little", signed=True)
        words = padded_words(self.room)
        _copy_spans(words, starts, stops, constant(word), len(lead), gap, padded_words(room), ends)
        room.setflags(write=False)
        return type(self)(room, ends, gap, missing if missing is not None and missing.any() else None)

    def chosen(self, rows: NDArray[np.bool_]) -> Self:
        """Return a copy of the chosen values, with a newline behind each."""
        missing = np.zeros(len(self), np.bool_) if self.missing is None else self.missing
        return self.cut(self.starts[rows], self.stops[rows], missing[rows])

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
            room[begin + part.size : begin + part.size + gap] = _NEWLINE_BYTE
        room.setflags(write=False)
        stops = np.concatenate([part.stops + begin for part, begin in zip(parts, sizes, strict=False)])
        missing = None
        if any(part.missing is not None for part in parts):
            missing = np.concatenate(
                [np.zeros(len(part), np.bool_) if part.missing is None else part.missing for part in parts]
            )
        return cls(room, stops, gap, missing)


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


@checked_kernel
def _copy_spans(  # noqa: PLR0913, PLR0917 - its columns
    words: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    lead: int,
    width: int,
    gap: int,
    room: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Copy n spans of a text one behind the other.

    Parameters
    ----------
    words, room
        The words of texts, see `keys.padded_words`; `room` is written and has eight bytes of room at its end.
    starts, stops
        int64[n].
    lead, width
        Up to eight bytes that are written before each span, as a word, and how many they are.
    gap
        0, or 1 for a newline behind each span.
    ends
        int64[n], written: where each copy ends.
    """
    filled = 0
    for i in range(len(starts)):
        room[filled] = lead
        filled += width
        at, place = starts[i], filled
        while at < stops[i]:  # eight bytes at once, perhaps some too many
            room[place] = words[at]
            at += 8
            place += 8
        filled += stops[i] - starts[i]
        ends[i] = filled
        if gap:
            room[filled] = _NEWLINE_BYTE
            filled += 1
