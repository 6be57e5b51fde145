"""Digests of what is released of each class: whoever changes a record of it cannot keep its digest.

A digest is the keyed BLAKE2b-256 hash of a text: the window, its policy, the class's published tuple, and for each
record a line with the values that pass, as compact JSON. The lines are sorted: their order does not count.

Sums of the records' hashes would need no order. But an exclusive or, and sums of short hashes, can be forged, and
sums and products that cannot be take microseconds a record (Clarke et al., 2003; Wagner, 2002). A window is at hand
as a whole, and sorting it keeps all of the hash's strength.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel
from stream_anon.microdata.attributes import PassThrough, ScalarType, is_plain
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.payload import Spellings, spellings
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Release

_OPEN, _COMMA, _END = ord("["), ord(","), int.from_bytes(b"]\n", "little")
_NULL = int.from_bytes(b"null", "little")
_NULL_LENGTH = 4
_NO_TEXT, _NO_ITEM = int.from_bytes(b'""', "little"), int.from_bytes(b"[]", "little")
_AROUND = 3  # bytes of a line beside its values
_BESIDE_VALUE = 3  # the comma before it, and of a missing value two bytes may become four
_DIGIT_0, _DIGIT_9, _POINT = ord("0"), ord("9"), ord(".")
_EXACT_DIGITS = 15  # of a whole number that is surely below 2**53


def class_digests(release: Release, policy: Policy, batch: str, promises: str) -> Sequence[str | UnsetType]:
    """Return the digest of each class in hexadecimal, by the policy's key; O(bytes log records).

    Suppressed records have no part in it. Without a key there are none: who reads only certificates could check
    guesses of a class's records.

    Parameters
    ----------
    batch
        The window's id: what is released of a class has another digest in another window.
    promises
        Hash of the policy document, which names the fields.
    """
    # A window without a class must not wait for a compiler: empty arrays have types of their own.
    if policy.digest_key is None or not len(release.classes):
        return [UNSET] * len(release.classes)
    text, stops = _class_lines(release, policy.passed)
    head = f"stream_anon digest 1 {batch} {promises}\n".encode()
    window = hashlib.blake2b(head, digest_size=32, key=policy.digest_key.hashed)
    lines, start, digests = memoryview(text.data), 0, []
    for values, stop in zip(zip(*release.classes.values, strict=True), stops.tolist(), strict=True):
        own = window.copy()
        own.update(msgspec.json.encode(values) + b"\n")
        own.update(lines[start:stop])
        digests.append(own.hexdigest())
        start = stop
    return digests


def _class_lines(release: Release, passed: Sequence[PassThrough]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the sorted lines of all classes, one behind the other, and where those of each class end; int64[c]."""
    rows, own = release.order, release.class_of_row[release.order]
    values = _with_doubles(spellings(release.payload, len(passed)), passed, rows)
    counts = np.bincount(own, minlength=len(release.classes))
    size = int((values.stops - values.starts)[values.places[:, rows]].sum())
    size += len(rows) * (_AROUND + len(passed) * _BESIDE_VALUE) + len(PADDING)
    room, bounds = np.empty(size, np.uint8), np.zeros(len(rows) + 1, np.int64)
    grouped = np.empty(len(rows), np.int64)
    class_stops = np.cumsum(counts)
    _group(rows, own, class_stops - counts, grouped)
    words = padded_words(values.text)
    _lay_lines(grouped, words, values.starts, values.stops, values.places, padded_words(room), bounds)
    order = np.arange(len(rows), dtype=np.int64)
    _sort_lines(padded_words(room), bounds, class_stops, order, np.empty(len(rows), np.int64))
    laid, ends = np.empty(size, np.uint8), np.empty(len(class_stops), np.int64)
    _copy_lines(padded_words(room), bounds, class_stops, order, padded_words(laid), ends)
    return laid, ends


def _with_doubles(values: Spellings, passed: Sequence[PassThrough], rows: NDArray[np.int64]) -> Spellings:
    """Return the values with whole numbers beyond 2**53 as doubles, where numbers are declared.

    Typed formats hold them as doubles: what they tell is the same.
    """
    long = np.zeros(len(values.stops), np.bool_)
    text = np.frombuffer(values.text, np.uint8)
    for field, attribute in enumerate(passed):
        if attribute.type is ScalarType.NUMBER:
            _find_long(text, values.starts, values.stops, values.places[field, rows], long)
    places = np.flatnonzero(long)
    if not len(places):
        return values
    spans = zip(values.starts[places].tolist(), values.stops[places].tolist(), strict=True)
    texts = [values.text[start:stop] for start, stop in spans]
    doubles = [msgspec.json.encode(_as_double(msgspec.json.decode(one))) for one in texts]
    lengths = np.fromiter(map(len, doubles), np.int64, len(doubles))
    starts, stops = values.starts.copy(), values.stops.copy()
    stops[places] = len(values.text) + np.cumsum(lengths)
    starts[places] = stops[places] - lengths
    return Spellings(values.text + b"".join(doubles) + PADDING, starts, stops, values.places)


def _as_double(value: Any) -> Any:
    """Return a number, or a list of numbers, as a double; one that integers name as well as such."""
    if isinstance(value, list):
        return list(map(_as_double, value))
    try:
        double = float(value)
    except OverflowError:  # no double is as large: it is published as it is
        return value
    return int(double) if is_plain(double) else double


@checked_kernel
def _find_long(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    places: NDArray[np.int64],
    long: NDArray[np.bool_],
) -> None:
    """Mark the values, bool[m], in which a number has more than 15 digits before its point."""
    for i in range(len(places)):
        place = places[i]
        digits, whole = 0, True
        for at in range(starts[place], stops[place]):
            if _DIGIT_0 <= text[at] <= _DIGIT_9:
                digits += 1
                long[place] |= whole and digits > _EXACT_DIGITS
            else:
                digits, whole = 0, text[at] != _POINT


@checked_kernel
def _group(
    rows: NDArray[np.int64], own: NDArray[np.int32], starts: NDArray[np.int64], grouped: NDArray[np.int64]
) -> None:
    """Write rows class by class into int64[m]; `starts`, where the classes begin, is used up."""
    for i in range(len(rows)):
        grouped[starts[own[i]]] = rows[i]
        starts[own[i]] += 1


@checked_kernel
def _lay_lines(
    rows: NDArray[np.int64],
    words: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    places: NDArray[np.int64],
    lines: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> None:
    """Write a line for each of m rows: its values as an array of JSON. An empty text or list is missing.

    Eight bytes are written at once, perhaps some too many; the next ones overwrite them.

    Parameters
    ----------
    words, starts, stops, places
        See `Spellings`.
    lines
        The words of a room with eight bytes more at its end; written.
    bounds
        int64[m + 1], where each line begins, and where the last one ends; written from the second one on.
    """
    filled = 0
    for i in range(len(rows)):
        lines[filled] = _OPEN
        filled += 1
        for field in range(len(places)):
            if field:
                lines[filled] = _COMMA
                filled += 1
            place = places[field, rows[i]]
            at = starts[place]
            if words[at] & 0xFFFF in (_NO_TEXT, _NO_ITEM):
                lines[filled] = _NULL
                filled += _NULL_LENGTH
            else:
                filled = _copied(words, at, stops[place], lines, filled)
        lines[filled] = _END
        filled += 2
        bounds[i + 1] = filled


@checked_inlined
def _copied(source: NDArray[np.int64], start: int, stop: int, target: NDArray[np.int64], filled: int) -> int:
    """Copy bytes, and return where they end in the target."""
    for at in range(0, stop - start, 8):
        target[filled + at] = source[start + at]
    return filled + stop - start


@checked_inlined
def _first_byte_highest(word: int) -> int:
    """Return a number that orders words as the bytes that they stand for are ordered."""
    word = ((word >> 8) & 0x00FF00FF00FF00FF) | ((word & 0x00FF00FF00FF00FF) << 8)
    word = ((word >> 16) & 0x0000FFFF0000FFFF) | ((word & 0x0000FFFF0000FFFF) << 16)
    return (((word >> 32) & 0xFFFFFFFF) | (word << 32)) ^ (-1 << 63)


@checked_inlined
def _is_less(lines: NDArray[np.int64], bounds: NDArray[np.int64], one: int, other: int) -> bool:
    """Return whether a line sorts before another one; anything for equal ones.

    No line begins with another, so that two of them differ before the shorter one ends.
    """
    for at in range(0, bounds[one + 1] - bounds[one], 8):
        word, another = lines[bounds[one] + at], lines[bounds[other] + at]
        if word != another:
            return _first_byte_highest(word) < _first_byte_highest(another)
    return False


@checked_kernel
def _sort_lines(
    lines: NDArray[np.int64],
    bounds: NDArray[np.int64],
    class_stops: NDArray[np.int64],
    order: NDArray[np.int64],
    spare: NDArray[np.int64],
) -> None:
    """Sort the lines of each class by their bytes: merge sort from the bottom up.

    Parameters
    ----------
    lines, bounds
        See `_lay_lines`.
    class_stops
        int64[c], how many lines end with each class.
    order
        int64[m], the number of each line; written.
    spare
        int64[m], written.
    """
    first = 0
    for own in range(len(class_stops)):
        last = class_stops[own]
        width = 1
        while width < last - first:
            for begin in range(first, last, 2 * width):
                middle, end = begin + width, min(begin + 2 * width, last)
                left, right = begin, middle
                for place in range(begin, end):
                    if left >= middle or (right < end and _is_less(lines, bounds, order[right], order[left])):
                        spare[place] = order[right]
                        right += 1
                    else:
                        spare[place] = order[left]
                        left += 1
            for place in range(first, last):
                order[place] = spare[place]
            width *= 2
        first = last


@checked_kernel
def _copy_lines(
    lines: NDArray[np.int64],
    bounds: NDArray[np.int64],
    class_stops: NDArray[np.int64],
    order: NDArray[np.int64],
    laid: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Write the lines in their order, and where those of each class end into int64[c]."""
    filled, place = 0, 0
    for own in range(len(class_stops)):
        while place < class_stops[own]:
            line = order[place]
            filled = _copied(lines, bounds[line], bounds[line + 1], laid, filled)
            place += 1
        ends[own] = filled
