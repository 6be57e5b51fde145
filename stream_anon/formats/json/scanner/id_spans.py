"""Keys of ids whose spelling is normalized; the kernel handles ASCII ids alone, and most ids are ASCII."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.errors import Unfit
from stream_anon.formats.json.scanner.forms import INTEGER, ODD, STRING, FieldSpans
from stream_anon.formats.json.scanner.letters import (
    BLANK,
    CASE,
    CLOSE_BRACE,
    DELETE,
    DIGIT_0,
    DIGIT_9,
    FIRST_NON_ASCII,
    LOWER_A,
    LOWER_F,
    MINUS,
    OPEN_BRACE,
    UPPER_A,
    UPPER_Z,
)
from stream_anon.microdata.ids import MOST_LETTERS, Normalization, normalized
from stream_anon.microdata.keys import PADDING, PROCESS_KEY, padded_words, span_keys, text_keys
from stream_anon.microdata.policy import Policy

_CASEFOLD, _STRIP, _UUID, _DIGITS = 1, 2, 4, 8
_BITS = {
    Normalization.NFKC: 0,  # ASCII is composed as it is
    Normalization.CASEFOLD: _CASEFOLD,
    Normalization.STRIP: _STRIP,
    Normalization.UUID: _UUID,
    Normalization.DIGITS: _DIGITS,
}
_MOST = MOST_LETTERS
_URN = np.frombuffer(b"urn:uuid:", np.uint8)
_NUMERALS = 32  # hexadecimal ones of a UUID
_HYPHENATED = 36


@checked_inlined
def lower_case(letter: int) -> int:
    """Return an ASCII letter in lower case, any other byte as it is."""
    return letter + CASE if UPPER_A <= letter <= UPPER_Z else letter


@checked_inlined
def is_numeral(letter: int) -> bool:
    """Tell whether a byte is a hexadecimal numeral."""
    return DIGIT_0 <= letter <= DIGIT_9 or LOWER_A <= lower_case(letter) <= LOWER_F


@checked_inlined
def is_blank(letter: int) -> bool:
    """Tell whether a byte is a blank or a control character."""
    return letter <= BLANK or letter == DELETE


@checked_kernel
def uuid_start(text: NDArray[np.uint8], start: int, stop: int, urn: NDArray[np.uint8]) -> int:
    """Return the place of the first numeral if `text` from `start` to `stop` is a UUID, else -1."""
    at, end = start, stop
    if end - at > _NUMERALS + len(urn) - 1:
        prefixed = True
        for i in range(len(urn)):
            prefixed &= lower_case(text[at + i]) == urn[i]
        if prefixed:
            at += len(urn)
    if end - at > _NUMERALS + 1 and text[at] == OPEN_BRACE and text[end - 1] == CLOSE_BRACE:
        at += 1
        end -= 1
    hyphens = end - at == _HYPHENATED
    if not hyphens and end - at != _NUMERALS:
        return -1
    for i in range(end - at):
        if hyphens and i in (8, 13, 18, 23):
            if text[at + i] != MINUS:
                return -1
        elif not is_numeral(text[at + i]):
            return -1
    return at


@checked_kernel
def fold_id(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    steps: int,
    urn: NDArray[np.uint8],
    folded: NDArray[np.uint8],
    filled: int,
) -> int:
    """Append the normal spelling of an ASCII id; return where it ends."""
    first = uuid_start(text, start, stop, urn) if steps & _UUID else -1
    begin, digits = filled, True
    at = first if first >= 0 else start
    end = stop if first < 0 else stop - (text[stop - 1] == CLOSE_BRACE)
    while at < end:
        letter = text[at]
        at += 1
        if first >= 0 or steps & _CASEFOLD:
            letter = lower_case(letter)
        if first < 0 or letter != MINUS:
            digits &= DIGIT_0 <= letter <= DIGIT_9
            folded[filled] = letter
            filled += 1
    if digits and steps & _DIGITS:
        zeros = 0
        while begin + zeros < filled - 1 and folded[begin + zeros] == DIGIT_0:
            zeros += 1
        for place in range(begin, filled - zeros):
            folded[place] = folded[place + zeros]
        filled -= zeros
    return filled


@checked_kernel
def fold_ids(
    text: NDArray[np.uint8],
    spans: FieldSpans,
    steps: int,
    urn: NDArray[np.uint8],
    plain: NDArray[np.bool_],
    foreign: NDArray[np.bool_],
    folded: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Write the normal spelling of each id without gaps, as `normalized` does.

    Parameters
    ----------
    steps
        Bits of the steps that are asked for.
    plain
        A record without an id, or with an id that only the single reader can judge, is no longer plain. Nothing is
        written for an odd id.
    foreign
        bool[n], written: whether an id is not ASCII; nothing is written for it.
    folded
        uint8, room for all ids.
    ends
        int64[n], written: where each ends.
    """
    filled = 0
    for i in range(len(spans.forms)):
        start, stop = spans.starts[i], spans.stops[i]
        sound = plain[i] and (spans.forms[i] == INTEGER or spans.forms[i] == STRING) and stop > start
        high = 0
        for at in range(start, stop if sound else start):
            high |= text[at]
        foreign[i] = high >= FIRST_NON_ASCII
        if sound and high < FIRST_NON_ASCII:
            sound = stop - start <= _MOST
            while steps & _STRIP and start < stop and is_blank(text[start]):
                start += 1
            while steps & _STRIP and start < stop and is_blank(text[stop - 1]):
                stop -= 1
            sound &= start < stop
            if sound:
                filled = fold_id(text, start, stop, steps, urn, folded, filled)
        plain[i] &= sound or spans.forms[i] == ODD
        ends[i] = filled


class IdSpans:
    """Makes keys of the ids that a scanner found, where the policy asks for normalization."""

    def __init__(self, policy: Policy) -> None:
        self._steps = policy.normalize
        self._bits = sum(_BITS[step] for step in policy.normalize)

    def keys(self, text: NDArray[np.uint8], spans: FieldSpans, plain: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the keys of ids, int64[n]; records whose id needs the single reader are no longer plain."""
        n = len(spans.forms)
        foreign, ends, keys = np.zeros(n, np.bool_), np.empty(n, np.int64), np.empty(n, np.int64)
        folded = np.empty(len(text) + len(PADDING), np.uint8)
        fold_ids(text, spans, self._bits, _URN, plain, foreign, folded, ends)
        span_keys(padded_words(folded), ends, PROCESS_KEY, keys)
        places = np.flatnonzero(foreign)
        written = [text[spans.starts[place] : spans.stops[place]].tobytes() for place in places.tolist()]
        # Each distinct id once, and only in this call, so that no id outlives its batch.
        spelled = {one: self._spelled(one) for one in set(written)}
        texts = [spelled[one] for one in written]
        keys[places] = text_keys(texts)
        plain[places] = np.array(texts, np.object_).astype(np.bool_)
        return keys

    def _spelled(self, written: bytes) -> str:
        """Return the normal spelling of an id; an empty text if only the single reader can judge it."""
        try:
            return normalized(written.decode(), self._steps)
        except Unfit:
            return ""
