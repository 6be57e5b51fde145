"""What the headers of a record put before its value: a `HeaderRule` as a kernel reads it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined
from stream_anon.formats.writing.varints import read_short_zigzag
from stream_anon.ports.headers import REFUSED, HeaderRule


class HeaderTable(NamedTuple):
    """A rule with p parts of up to m pairs of numbers, and r refused names.

    Parameters
    ----------
    texts
        uint8[], names and values, one behind the other.
    parts
        int64[p, 5 + 2 m]: where the part's name begins and ends, least, most, how many pairs its lead has,
        and these.
    refused
        int64[r, 4]: where the name begins and ends, and where its value does.
    """

    texts: NDArray[np.uint8]
    parts: NDArray[np.int64]
    refused: NDArray[np.int64]

    @classmethod
    def of(cls, rule: HeaderRule) -> HeaderTable:
        """Return the table of a rule."""
        texts = b""

        def put(text: bytes) -> tuple[int, int]:
            nonlocal texts
            texts += text
            return len(texts) - len(text), len(texts)

        widest = max((len(part.lead) for part in rule.parts), default=0)
        parts = np.zeros((len(rule.parts), 5 + 2 * widest), np.int64)
        for row, part in enumerate(rule.parts):
            numbers = [number for pair in part.lead for number in pair]
            parts[row, : 5 + len(numbers)] = *put(part.name), part.least, part.most, len(part.lead), *numbers
        refused = [(*put(name), *put(value)) for name, value in rule.refused]
        return cls(np.frombuffer(texts, np.uint8), parts, np.array(refused, np.int64).reshape(-1, 4))


@checked_inlined
def _header(data: NDArray[np.uint8], at: int, stop: int, wanted: NDArray[np.uint8]) -> tuple[int, int]:
    """Return where the value of the last header with a name begins and ends; -1 without one."""
    begin = end = -1
    count, at = read_short_zigzag(data, at, stop)
    while at >= 0 and count > 0:
        count -= 1
        size, at = read_short_zigzag(data, at, stop)
        if at < 0 or size < 0 or size > stop - at:
            break
        same = size == len(wanted)
        for i in range(len(wanted)):
            if not same:
                break
            same = data[at + i] == wanted[i]
        size, at = read_short_zigzag(data, at + size, stop)
        if at < 0 or size > stop - at:
            break
        if same:
            begin, end = at, at + max(size, 0)
        at += max(size, 0)
    return begin, end


@checked_inlined
def put_headers(
    data: NDArray[np.uint8], at: int, stop: int, rule: HeaderTable, room: NDArray[np.uint8], filled: int
) -> int:
    """Write what the headers from `at` on put before a value; return the place behind it. See `HeaderRule`."""
    texts, parts, refused = rule.texts, rule.parts, rule.refused
    for row in range(len(refused)):
        begin, end = _header(data, at, stop, texts[refused[row, 0] : refused[row, 1]])
        same = end - begin == refused[row, 3] - refused[row, 2]
        for i in range(end - begin):
            if not same:
                break
            same = data[begin + i] == texts[refused[row, 2] + i]
        if begin >= 0 and not same:
            room[filled] = REFUSED
            return filled + 1
    for row in range(len(parts)):
        begin, end = _header(data, at, stop, texts[parts[row, 0] : parts[row, 1]])
        size = end - begin
        if begin < 0 or size < parts[row, 2] or size > parts[row, 3]:
            break
        for i in range(parts[row, 4]):
            room[filled] = parts[row, 5 + 2 * i] + parts[row, 6 + 2 * i] * size
            filled += 1
        for place in range(begin, end):
            room[filled] = data[place]
            filled += 1
    return filled
