"""Records inside of other bytes: each wrapping is taken off, and what remains is read as the JSON it means.

A format of a schema registry and the envelope of a change event are both wrappings. So one reader decides what fits
a policy, whatever a producer writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason, Rejects
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Codec

FITS = -1
"""The outcome of a value that holds a record."""

MOST_TEXT = 32 * 1024 * 1024
"""Bytes of text that several values stand for at a time; that of a single one may take more.

A poll has at most ten thousand records, whose texts are unwrapped at once if they take 3 kB each. A few steps copy
them. A schema can let a few bytes stand for a long text, and whoever may register one chooses the schema.
"""


class TooMuchAtOnce(Exception):  # noqa: N818 - named after what is so
    """Several values stand for more than `MOST_TEXT`, and must be unwrapped a few at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Unwrapped:
    """What stood in n values.

    Parameters
    ----------
    texts
        n JSON texts with a gap of one byte; what an outcome rejects is missing.
    outcomes
        int8[n], `FITS` or a `Reason`.
    singly
        How many values were read one by one, which is slow.
    """

    texts: Texts
    outcomes: NDArray[np.int8]
    singly: int = 0


class Unwrapper(Protocol):
    """Takes one wrapping off."""

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return what stands in n values, whatever the bytes; raises TooMuchAtOnce, but not for a single value."""
        ...

    def warm_up(self) -> None:
        """Compile every kernel that `unwrap` will call."""
        ...


class Bodies:
    """Takes nothing off: the values are JSON already. See `Unwrapper`."""

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return the values."""
        return Unwrapped(values, np.full(len(values), FITS, np.int8))

    def warm_up(self) -> None:
        """Compile nothing."""


class Ignored:
    """Takes all values for records that are ignored for one reason. See `Unwrapper`."""

    def __init__(self, reason: Reason) -> None:
        self._reason = reason

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return the reason for each value, whatever it holds."""
        return Unwrapped(values, np.full(len(values), self._reason, np.int8))

    def warm_up(self) -> None:
        """Compile nothing."""


_FRAMES = {b"\0": 5, b"\1": 17, b"\3\0": 18, b"\3\5": 18}
"""How the frames of schema registries begin, and how long they are at least: an id, a GUID, and Glue's UUID."""


def looks_framed(value: bytes) -> bool:
    """Return whether bytes that are no text begin as the frame of a schema registry does: Confluent's or Glue's."""
    return any(value.startswith(mark) and len(value) >= size for mark, size in _FRAMES.items())


class InnerTexts:
    """The texts of records, unwrapped anew whenever they are read, so that few stand in memory at a time."""

    def __init__(self, unwrap: Callable[[], Iterator[bytes | None]]) -> None:
        self._unwrap = unwrap

    def __iter__(self) -> Iterator[bytes | None]:
        return self._unwrap()


class UnwrappingCodec:
    """Reads wrapped records by the codec of what is inside, and writes what that codec writes; see `ports.Codec`.

    Parameters
    ----------
    unwrappers
        From the outermost wrapping to the innermost.
    """

    def __init__(self, unwrappers: Sequence[Unwrapper], inside: Codec) -> None:
        self._unwrappers = tuple(unwrappers)
        self._inside = inside
        self._read_singly = 0

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records; what a wrapping rejects is among the rejects with its own reason."""
        batches, first = list[CodedBatch](), 0
        for texts, outcomes in self._unwrapped(values):
            rows = slice(first, first + len(texts))
            batches.append(self._coded(texts, outcomes, source, offsets[rows]))
            first += len(texts)
        return batches[0] if len(batches) == 1 else CodedBatch.concatenate(batches)

    def _coded(
        self, texts: Texts, outcomes: NDArray[np.int8], source: int, offsets: NDArray[np.int64]
    ) -> CodedBatch:
        fits = outcomes == FITS
        if fits.all():
            return self._inside.decode(texts, source, offsets)
        batch = self._inside.decode(texts.chosen(fits), source, offsets[fits])
        n = int(np.count_nonzero(~fits))
        own = Rejects(
            outcomes[~fits], np.full(n, NO_ATTRIBUTE, np.int16), np.full(n, source, np.int32), offsets[~fits]
        )
        both = Rejects.concatenate([batch.rejects, own])
        return replace(batch, rejects=both.take(np.argsort(both.offsets)))

    def inner(self, values: Sequence[bytes | None]) -> Iterable[bytes | None]:
        """Return the JSON text of each record; None for what holds none."""
        return InnerTexts(lambda: (text for texts, _ in self._unwrapped(values) for text in texts))

    def _unwrapped(self, values: Sequence[bytes | None]) -> Iterator[tuple[Texts, NDArray[np.int8]]]:
        """Yield what is in the values, and the outcome of each; in stretches that are halved until they fit."""
        texts = values if isinstance(values, Texts) and values.gap else Texts.of(values)
        waiting = [texts]
        while waiting:
            stretch = waiting.pop()
            try:
                found = self._unwrapped_at_once(stretch)
            except TooMuchAtOnce:
                half = len(stretch) // 2
                waiting += [stretch[half:], stretch[:half]]
            else:
                yield found

    def _unwrapped_at_once(self, texts: Texts) -> tuple[Texts, NDArray[np.int8]]:
        """Return what is in values, and the outcome of each by the first wrapping that rejects it."""
        outcomes = np.full(len(texts), FITS, np.int8)
        for unwrapper in self._unwrappers:
            found = unwrapper.unwrap(texts)
            outcomes = np.where(outcomes == FITS, found.outcomes, outcomes)
            texts = found.texts
            self._read_singly += found.singly
        return texts, outcomes

    async def open(self) -> None:
        """Fetch what writing needs from outside."""
        await self._inside.open()

    async def learn(self, stretches: Sequence[Sequence[bytes | None]]) -> None:
        """Fetch what reading these values needs from outside."""
        await self._inside.learn(stretches)

    @property
    def read_singly(self) -> int:
        """Return how many records were left to a slow reader of single records."""
        return self._inside.read_singly + self._read_singly

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type so far because their attributes say so."""
        return self._inside.coerced

    @property
    def faults(self) -> int:
        """Return in how many stretches of records a kernel left its bounds so far, which is a bug."""
        return self._inside.faults

    @property
    def slow_attributes(self) -> tuple[str, ...]:
        """Return the names of the attributes that make the codec read every record by itself."""
        return self._inside.slow_attributes

    def encode(self, release: Release) -> list[bytes]:
        """Return one record for each released row, in the release's order."""
        return self._inside.encode(release)

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return the same without an object for each record."""
        return self._inside.encode_in_bulk(release)

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that would be written with more than `most` bytes."""
        return self._inside.larger_than(release, most)

    def most_released(self, read: int) -> int:
        """Return an upper bound on the bytes written for a record, given the bytes that were read."""
        return self._inside.most_released(read)

    def warm_up(self) -> None:
        """Compile every kernel that records of the policy will call."""
        for unwrapper in self._unwrappers:
            unwrapper.warm_up()
        self._inside.warm_up()
