"""Write values as the records of a batch; they take room that `PackedBatch` has counted, so nothing is checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_anon.compiled import bare_kernel, checked_inlined
from stream_anon.formats.writing.varints import put_varint, varint_size

_NO_KEY = 1  # the varint of -1


class BatchRoom(NamedTuple):
    """A batch of format 2 that is being written.

    Parameters
    ----------
    data, words
        uint8[], int64[]: its room, with eight bytes behind what it may hold, and its words (`keys.padded_words`).
    written
        int64[2]: records and bytes until now.
    """

    data: NDArray[np.uint8]
    words: NDArray[np.int64]
    written: NDArray[np.int64]


@checked_inlined
def _width(value: int) -> int:
    """Return how many bytes a number that is not negative takes as a zigzag varint."""
    return varint_size(value << 1)


@bare_kernel
def write_values(
    words: NDArray[np.int64],
    stops: NDArray[np.int64],
    gap: int,
    first: int,
    time: int,
    tail: NDArray[np.uint8],
    limit: int,
    batch: BatchRoom,
) -> int:
    """Append values as records without a key; return how many of them the batch took.

    Parameters
    ----------
    words, stops, gap
        The words of the room of `Texts` (`keys.padded_words`), and the rest of it.
    first
        The first value to write.
    time
        Milliseconds after the batch's first record.
    tail
        uint8[]: the headers as they stand in each record, with their count.
    limit
        Bytes of the batch that no record but its first may reach.
    batch
        Written.
    """
    number, at = batch.written[0], batch.written[1]
    taken = 0
    for place in range(first, len(stops)):
        start = stops[place - 1] + gap if place else 0
        size = stops[place] - start
        body = 2 + _width(time) + _width(number) + _width(size) + size + len(tail)
        if number and at + _width(body) + body >= limit:
            break
        at = put_varint(body << 1, batch.data, at)
        batch.data[at] = 0
        at = put_varint(time << 1, batch.data, at + 1)
        at = put_varint(number << 1, batch.data, at)
        batch.data[at] = _NO_KEY
        at = put_varint(size << 1, batch.data, at + 1)
        end = at + size
        while at < end:
            batch.words[at] = words[start]
            at += 8
            start += 8
        at = end
        for spot in range(len(tail)):
            batch.data[at + spot] = tail[spot]
        at += len(tail)
        number += 1
        taken += 1
    batch.written[0], batch.written[1] = number, at
    return taken
