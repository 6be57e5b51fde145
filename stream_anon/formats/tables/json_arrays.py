"""Read one JSON array of objects as JSON Lines, without holding more of it than a block."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from stream_anon.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BLOCK = 1 << 16
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[[ \t\r\n]*(?:\{|\]?[ \t\r\n]*\Z)")
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\[")
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_BLANK = b" \t\r\n"
_QUOTE, _BACKSLASH = ord('"'), ord("\\")


def array_begins(begin: bytes) -> bool:
    """Return whether the first bytes of a file begin an array of objects or an empty one; a pipe may give few."""
    return _BEGIN.match(begin) is not None


def lines_of_array(file: BinaryIO, name: str) -> io.RawIOBase:
    """Return the elements of an array, one a line.

    Parameters
    ----------
    file
        At the start of what `array_begins` recognises; closed with what is returned.
    name
        What errors call it.
    """
    return _ArrayLines(file, name)


class _ArrayLines(io.RawIOBase):
    """Changes single bytes of an array: its commas to ends of lines, its ends of lines to other blanks.

    What is no JSON stays none, for the decoder to refuse: between elements an end of a line is a blank, and inside
    a text neither it nor what takes its place may stand.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._ready = b""
        self._depth = 0
        self._quoted = self._escaped = self._begun = self._over = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer; return how many bytes were there, 0 at the end."""
        while not self._ready:
            block = self._file.read(_BLOCK)
            if not block:
                if not self._over:
                    raise InputError(f"{self._name}: ends in the midst of its JSON array; it was cut off")
                return 0
            self._ready = self._changed(block)
        room = memoryview(buffer).cast("B")
        size = min(len(room), len(self._ready))
        room[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        finally:
            super().close()

    def _changed(self, block: bytes) -> bytes:
        if not self._begun:
            opening = _OPENING.match(block)
            block, self._begun, self._depth = block[opening.end() if opening else 0 :], True, 1
        if self._over:
            return self._behind(block)
        text = np.frombuffer(block, np.uint8)
        quotes = text == _QUOTE
        quotes[self._escapes(block)] = False
        # Odd after a text's first quote, even after its last one.
        within = (np.cumsum(quotes) + self._quoted) % 2 == 1
        bare = ~within
        folded = text & 0xDF  # brackets and braces differ in one bit
        steps = (bare & (folded == ord("["))).astype(np.int32) - (bare & (folded == ord("]")))
        depths = self._depth + np.cumsum(steps)
        changed = np.where((text == ord("\n")) | (text == ord("\r")), np.uint8(ord("\t")), text)
        changed[bare & (text == ord(",")) & (depths == 1)] = ord("\n")
        ended = np.flatnonzero(depths == 0)
        if len(ended):
            self._over = True
            self._behind(block[ended[0] + 1 :])
            return changed[: ended[0]].tobytes() + b"\n"
        if len(block):
            self._quoted, self._depth = bool(within[-1]), int(depths[-1])
        return changed.tobytes()

    def _escapes(self, block: bytes) -> list[int]:
        """Return the places that follow a backslash which is not escaped itself."""
        places = [0] if self._escaped and block else []
        last = len(places) - 1
        if b"\\" in block:
            for found in _ESCAPED.finditer(block, len(places)):
                last = found.end() - 1
                places.append(last)
        if block:
            self._escaped = last < len(block) - 1 and block[-1] == _BACKSLASH
        return places

    def _behind(self, block: bytes) -> bytes:
        """Refuse what follows the array: it would be left out unseen."""
        if block.strip(_BLANK):
            raise InputError(f"{self._name}: goes on behind its JSON array; write one array, or one object a line")
        return b""
