"""Keys: 64 bits that stand for a text, keyed by the process, so that nobody can choose texts that collide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import checked_inlined, checked_kernel

# Drawn anew for each process, as the interpreter draws the key of its own hashes. An argument of every kernel:
# what a kernel sees as a constant is written to the disk with it.
PROCESS_KEY = np.array([hash("stream_anon: first half"), hash("stream_anon: second half")], np.int64)


@contextmanager
def keyed_by(key: Sequence[int]) -> Iterator[None]:
    """Give equal texts equal keys in all processes that share a secret of two numbers of 64 bits, for a while.

    Nothing that was keyed outside may be compared with what is keyed meanwhile. Not for several threads.
    """
    own = PROCESS_KEY.copy()
    PROCESS_KEY[:] = key
    try:
        yield
    finally:
        PROCESS_KEY[:] = own


def key_for_good(key: Sequence[int]) -> None:
    """Give equal texts equal keys in all processes that share a secret, from now on; see `keyed_by`."""
    PROCESS_KEY[:] = key


PADDING = bytes(8)  # behind a text of which words are read


def padded_words(text: bytes | NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the eight bytes from each place of `text` on as one word, little end first; at least n + 1 words.

    Nothing is copied: `text` must end in `PADDING`.
    """
    return np.ndarray((len(text) - 7,), np.dtype("<i8"), text, 0, (1,))


def sealed(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the same bytes as an array that is not written to: to the compiler they have a type of their own."""
    text = text.view()
    text.setflags(write=False)
    return text


@checked_inlined
def tail_bits(length: int) -> int:
    """Return a mask of the lowest `length` bytes of a word, 0 to 8."""
    return ~((-1 << (4 * length)) << (4 * length))


@checked_inlined
def rotated(word: int, by: int) -> int:
    """Return a word rotated to the left."""
    return (word << by) | ((word >> (64 - by)) & ((1 << by) - 1))


@checked_inlined
def span_key(words: NDArray[np.int64], start: int, stop: int, first_half: int, second_half: int) -> int:
    """Return the key of the bytes from `start` to `stop`: SipHash-1-3 (Aumasson and Bernstein, 2012).

    Parameters
    ----------
    words
        See `padded_words`.
    start, stop
        Places in the text.
    first_half, second_half
        The process key.
    """
    v0 = first_half ^ 0x736F6D6570736575
    v1 = second_half ^ 0x646F72616E646F6D
    v2 = first_half ^ 0x6C7967656E657261
    v3 = second_half ^ 0x7465646279746573
    # Whole words, then the last one with the length in its top byte, then a mark and three rounds without a word.
    whole = (stop - start) >> 3
    for turn in range(whole + 4):
        word = 0
        if turn < whole:
            word = words[start + 8 * turn]
        elif turn == whole:
            word = (words[start + 8 * turn] & tail_bits((stop - start) & 7)) | ((stop - start) << 56)
        elif turn == whole + 1:
            v2 ^= 0xFF
        v3 ^= word
        v0 += v1
        v2 += v3
        v1 = rotated(v1, 13) ^ v0
        v3 = rotated(v3, 16) ^ v2
        v0 = rotated(v0, 32)
        v2 += v1
        v0 += v3
        v1 = rotated(v1, 17) ^ v2
        v3 = rotated(v3, 21) ^ v0
        v2 = rotated(v2, 32)
        v0 ^= word
    return v0 ^ v1 ^ v2 ^ v3


@checked_kernel
def span_keys(
    words: NDArray[np.int64], ends: NDArray[np.int64], process_key: NDArray[np.int64], keys: NDArray[np.int64]
) -> None:
    """Write the key of each of n texts that follow each other in one buffer.

    Parameters
    ----------
    words
        See `padded_words`.
    ends
        int64[n].
    process_key
        int64[2].
    keys
        int64[n], written.
    """
    start = 0
    for i in range(len(ends)):
        keys[i] = span_key(words, start, ends[i], process_key[0], process_key[1])
        start = ends[i]


def text_keys(texts: Sequence[str]) -> NDArray[np.int64]:
    """Return a key for each text, equal for equal ones; int64[n]. The texts must be sound: no half surrogates."""
    return bytes_keys([text.encode() for text in texts], PROCESS_KEY)


def bytes_keys(texts: Sequence[bytes], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a key for each text by a key int64[2]; int64[n]."""
    return keys_of_spans(b"".join(texts), np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))), key)


def keys_of_spans(text: bytes, ends: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a key for each of n texts that follow each other in one buffer and end at `ends`; int64[n]."""
    keys = np.empty(len(ends), np.int64)
    span_keys(padded_words(text + PADDING), ends, key, keys)
    return keys


def text_key(text: str) -> int:
    """Return the key of one text."""
    return int(text_keys([text])[0])
