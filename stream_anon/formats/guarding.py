"""Reject records that make a kernel leave the bounds of its arrays, and read the others as ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.unwrapping import InnerTexts, UnwrappingCodec
from stream_anon.microdata.batch import NO_ATTRIBUTE, CodedBatch, Reason, Rejects
from stream_anon.microdata.policy import Policy
from stream_anon.ports import Codec

Values = Sequence[bytes | None]


class GuardedCodec(UnwrappingCodec):
    """Reads records by another codec, and again in halves where a kernel raises; see `ports.Codec`.

    Kernels that read bytes from anybody raise IndexError where they would leave the bounds of an array, which is a
    bug that somebody may have sought. A record that makes one raise by itself is rejected as malformed. Finding it
    among n costs what decoding n records some three times does; n such records cost 2 n calls.
    """

    def __init__(self, policy: Policy, inside: Codec) -> None:
        super().__init__((), inside)
        self._columns = len(policy.quasi_identifiers), len(policy.diverse)
        self._faults = 0

    @property
    def faults(self) -> int:
        """Return in how many stretches of records a kernel left its bounds so far."""
        return self._faults

    def decode(self, values: Values, source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records of a stretch."""
        try:
            return self._inside.decode(values, source, offsets)
        except IndexError:
            self._faults += 1
        return CodedBatch.concatenate(self._decoded_in_parts(values, source, offsets))

    def _decoded_in_parts(self, values: Values, source: int, offsets: NDArray[np.int64]) -> list[CodedBatch]:
        """Return the halves of what could not be read as a whole."""
        if len(values) <= 1:
            return [self._rejected(source, offsets)]
        batches = list[CodedBatch]()
        for half in _halves(len(values)):
            try:
                batches.append(self._inside.decode(values[half], source, offsets[half]))
            except IndexError:
                batches += self._decoded_in_parts(values[half], source, offsets[half])
        return batches

    def _rejected(self, source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        rows = [(Reason.MALFORMED, NO_ATTRIBUTE, source, offset) for offset in offsets.tolist()]
        return replace(CodedBatch.none(*self._columns), rejects=Rejects.of(rows))

    def inner(self, values: Values) -> Iterable[bytes | None]:
        """Return the text of each record; None for what holds none, or cannot be read."""
        return InnerTexts(lambda: self._texts(values))

    def _texts(self, values: Values) -> Iterator[bytes | None]:
        read = 0
        try:
            for text in self._inside.inner(values):
                yield text
                read += 1
        except IndexError:
            rest = values[read:]
            if len(rest) <= 1:
                yield None
                return
            for half in _halves(len(rest)):
                yield from self._texts(rest[half])


def _halves(count: int) -> tuple[slice, slice]:
    return slice(0, count // 2), slice(count // 2, count)
