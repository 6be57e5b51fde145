"""From moments in ISO 8601 to the days, hours or minutes that they fall on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.formats.json.scanner import tables as t
from stream_anon.formats.json.scanner.epoch_moments import MomentArrays, code_at
from stream_anon.formats.json.scanner.forms import ABSENT, NULL, ODD, STRING, FieldSpans
from stream_anon.formats.json.scanner.letters import BLANK, COLON, COMMA, DIGIT_0, DIGIT_9, MINUS, PLUS, POINT
from stream_anon.formats.writing.numbers import NO_DAY, day_of

_MISSING, _UNKNOWN = t.MISSING, t.UNKNOWN
_UPPER_T, _LOWER_T, _UPPER_Z, _LOWER_Z = b"TtZz"
_DAY_LETTERS = 10
_LEAST_TIME_LETTERS = 16  # 2024-05-13T10:11
_MOST_FRACTION = 12  # digits
NO_MOMENT, OWN_CLOCK, INSTANT = range(3)


@checked_inlined
def _two(text: NDArray[np.uint8], at: int, most: int) -> int:
    """Return the number that two digits make, -1 if they are none or make more than `most`."""
    high, low = np.int64(text[at]) - DIGIT_0, np.int64(text[at + 1]) - DIGIT_0
    if high < 0 or high > DIGIT_9 - DIGIT_0 or low < 0 or low > DIGIT_9 - DIGIT_0:
        return -1
    number = int(10 * high + low)
    return number if number <= most else -1


@checked_kernel
def iso_seconds(text: NDArray[np.uint8], start: int, stop: int, with_time: bool) -> tuple[int, int, int]:
    """Return what `calendar.moments.iso_moment` reads of a text: the seconds from 1970 to what its clock shows.

    The second number is by how many seconds that clock is ahead of UTC. The third is `INSTANT` if the text tells
    it, else `OWN_CLOCK`; `NO_MOMENT` if it is none, or lacks a time of day that it must have.
    """
    length = stop - start
    if length < _DAY_LETTERS or text[start + 4] != MINUS or text[start + 7] != MINUS:
        return 0, 0, NO_MOMENT
    century, years = _two(text, start, 99), _two(text, start + 2, 99)
    month, day = _two(text, start + 5, 12), _two(text, start + 8, 31)
    if century < 0 or years < 0 or month < 1 or day < 1:
        return 0, 0, NO_MOMENT
    days = day_of(100 * century + years, month, day)
    if days == NO_DAY:
        return 0, 0, NO_MOMENT
    if length == _DAY_LETTERS:
        return (0, 0, NO_MOMENT) if with_time else (86_400 * days, 0, OWN_CLOCK)
    mark = text[start + _DAY_LETTERS]
    if length < _LEAST_TIME_LETTERS or (mark != _UPPER_T and mark != _LOWER_T and mark != BLANK):
        return 0, 0, NO_MOMENT
    hour, minute, second = _two(text, start + 11, 23), _two(text, start + 14, 59), 0
    if hour < 0 or minute < 0 or text[start + 13] != COLON:
        return 0, 0, NO_MOMENT
    at = start + _LEAST_TIME_LETTERS
    if stop - at >= 3 and text[at] == COLON:
        second = _two(text, at + 1, 60)
        if second < 0:
            return 0, 0, NO_MOMENT
        at += 3
        if at < stop and (text[at] == POINT or text[at] == COMMA):
            begin = at + 1
            at = begin
            while at < stop and at - begin < _MOST_FRACTION and DIGIT_0 <= text[at] <= DIGIT_9:
                at += 1
            if at == begin:
                return 0, 0, NO_MOMENT
    seconds = 86_400 * days + 3_600 * hour + 60 * minute + min(second, 59)
    if at == stop:
        return seconds, 0, OWN_CLOCK
    if text[at] == _UPPER_Z or text[at] == _LOWER_Z:
        return (seconds, 0, INSTANT) if at + 1 == stop else (0, 0, NO_MOMENT)
    if (text[at] != PLUS and text[at] != MINUS) or stop - at < 3:
        return 0, 0, NO_MOMENT
    ahead = text[at] == PLUS
    hours, minutes = _two(text, at + 1, 23), 0
    at += 3
    if at < stop:
        at += 1 if text[at] == COLON else 0
        minutes = _two(text, at, 59) if stop - at == 2 else -1
    if hours < 0 or minutes < 0:
        return 0, 0, NO_MOMENT
    offset = 3_600 * hours + 60 * minutes
    return seconds, offset if ahead else -offset, INSTANT


@checked_kernel
def iso_codes(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    field: NDArray[np.int64],
    own: MomentArrays,
    instants: MomentArrays,
    with_time: bool,
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write the codes of texts by the stretches that their moments fall into; see `fields` and `ByIsoText`.

    A text that is no moment, or that only the domain can judge, becomes an odd value.
    """
    for i in range(len(spans.forms)):
        form, code = spans.forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == STRING:
            seconds, ahead, kind = iso_seconds(text, spans.starts[i], spans.stops[i], with_time)
            if kind == INSTANT and len(instants[0]):
                code = code_at(seconds - ahead, instants)
            elif kind != NO_MOMENT and len(own[0]):
                code = code_at(seconds, own)
            else:
                spans.forms[i], spans.starts[i], spans.stops[i], code = (
                    ODD,
                    spans.starts[i] - 1,
                    spans.stops[i] + 1,
                    0,
                )
            if code < 0:
                code = field[_UNKNOWN]
        codes[i] = code
        plain[i] &= code >= 0
