"""The codec of records that name their schemas, in the input, in the output or in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.registry.framed_texts import FramedTexts
from stream_anon.formats.registry.writing import Frame
from stream_anon.formats.unwrapping import Unwrapper, UnwrappingCodec
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts
from stream_anon.ports import Codec


class BodyEncoder(Protocol):
    """Writes the bodies of released records."""

    @property
    def schema(self) -> str:
        """Return the text of the schema of what is written."""
        ...

    @property
    def most_around(self) -> int:
        """Return the most bytes that a body takes beside the JSON of the fields that pass."""
        ...

    def admitted(self, batch: CodedBatch) -> CodedBatch:
        """Return a batch in which records that could not be written are rejected."""
        ...

    def encode(self, release: Release) -> Texts:
        """Return one body for each released record, in the release's order."""
        ...

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows whose bodies take more than `most` bytes."""
        ...

    def warm_up(self) -> None:
        """Compile every kernel that releases of the policy will call."""
        ...


class RegistryCodec(UnwrappingCodec):
    """Reads by the schemas that records name, and writes with the frame of one schema; see `ports.Codec`.

    Parameters
    ----------
    framed
        Takes the frames off; None if the input has none.
    unwrappers
        What is taken off behind the frames.
    inside
        Reads the JSON that records mean.
    writing
        Writes bodies, and what is put before them; None if what `inside` writes is the output.
    """

    def __init__(
        self,
        framed: FramedTexts | None,
        unwrappers: Sequence[Unwrapper],
        inside: Codec,
        writing: tuple[BodyEncoder, Frame] | None,
    ) -> None:
        super().__init__([*([] if framed is None else [framed]), *unwrappers], inside)
        self._framed, self._writing = framed, writing

    async def open(self) -> None:
        """Learn the id of the output's schema."""
        if self._writing is not None:
            await self._writing[1].open()

    async def learn(self, stretches: Sequence[Sequence[bytes | None]]) -> None:
        """Learn the schemas that the values name."""
        if self._framed is not None:
            await self._framed.learn(stretches)

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records; what could not be written is among the rejects."""
        batch = super().decode(values, source, offsets)
        return batch if self._writing is None else self._writing[0].admitted(batch)

    def encode(self, release: Release) -> list[bytes]:
        """Return one record for each released row, in the release's order."""
        return [record for record in self.encode_in_bulk(release) if record is not None]

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return the same without an object for each record."""
        if self._writing is None:
            return super().encode_in_bulk(release)
        encoder, frame = self._writing
        return frame.put_before(encoder.encode(release))

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that would be written with more than `most` bytes."""
        if self._writing is None:
            return super().larger_than(release, most)
        encoder, frame = self._writing
        return encoder.larger_than(release, most - frame.width)

    def most_released(self, read: int) -> int:
        """Return an upper bound on the bytes written for a record, given the bytes that were read.

        What passes takes no more than in JSON, of which `inside` knows the bound.
        """
        inside = super().most_released(read)
        if self._writing is None:
            return inside
        encoder, frame = self._writing
        return inside + encoder.most_around + frame.width

    def warm_up(self) -> None:
        """Compile every kernel that records of the policy will call."""
        super().warm_up()
        if self._writing is not None:
            self._writing[0].warm_up()
