"""Fields that pass, kept as the JSON text that is published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.coding import Passed
from stream_anon.microdata.keys import keys_of_spans
from stream_anon.microdata.payload import PackedPayload, Rows, Spellings

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_NULL = ord("n")  # no other value begins with it
_NOT_WHOLE = np.zeros(256, np.bool_)
_NOT_WHOLE[list(b".eEn")] = True  # in a number or a null
_DECIMAL = np.frombuffer(b".0", np.uint8)
_AT_ONCE = 50_000  # rows that are copied at once: places of their bytes take sixteen times as many
_MOST_EXACT = 15  # digits of a decimal that a float keeps apart from any other
_WHOLE_ITEM = re.compile(rb"(?<=[\[,])(-?[0-9]{1,14})(?=[\],])")


class Spans:
    """Bytes for p fields of n rows.

    Parameters
    ----------
    text
        uint8[ends[-1, -1]]: all of them, without gaps.
    ends
        int64[n, p].
    """

    __slots__ = ("ends", "text")

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self.text = text
        self.ends = ends

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return where each row begins; int64[n]."""
        if not self.ends.size:
            return np.zeros(len(self.ends), np.int64)
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1, -1]])

    @property
    def widths(self) -> NDArray[np.int64]:
        """Return the bytes of each row; int64[n]."""
        return self.ends[:, -1] - self.starts if self.ends.size else np.zeros(len(self.ends), np.int64)


class PassedTexts(Spans, PackedPayload):
    """The JSON of the passing values of n records with p fields each, and nothing else of these records.

    Indexing by a row's number returns its decoded values.
    """

    __slots__ = ()

    @classmethod
    def of(cls, rows: Sequence[Passed], fields: int) -> Self:
        """Encode decoded rows."""
        texts = [_encode(value) for row in rows for value in row]
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return cls(np.frombuffer(b"".join(texts), np.uint8), ends.reshape(len(rows), fields))

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[Passed]:
        text, start = self.text.tobytes(), 0
        for ends in self.ends.tolist():
            values = []
            for end in ends:
                value = _decode(text[start:end])
                values.append(tuple(value) if type(value) is list else value)
                start = end
            yield tuple(values)

    @overload
    def __getitem__(self, row: int) -> Passed: ...
    @overload
    def __getitem__(self, row: slice) -> Self: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return self.take(row)
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        return next(iter(self.take(slice(row % len(self), row % len(self) + 1))))

    @property
    def held(self) -> int:
        """Return the bytes of texts and ends."""
        return self.text.nbytes + self.ends.nbytes

    def take(self, rows: Rows) -> Self:
        """Return a copy of the chosen rows, so that the other rows do not stay in memory."""
        if isinstance(rows, slice):
            first, stop, step = rows.indices(len(self))
            if step == 1 and first < stop and self.ends.size:
                begin = int(self.ends[first - 1, -1]) if first else 0
                text = self.text[begin : int(self.ends[stop - 1, -1])].copy()
                return type(self)(text, self.ends[first:stop] - begin)
            rows = np.arange(len(self))[rows]
        if len(rows) > _AT_ONCE:
            blocks = [self.take(rows[first : first + _AT_ONCE]) for first in range(0, len(rows), _AT_ONCE)]
            return blocks[0].followed_by(blocks[1:])
        starts, widths = self.starts, self.widths
        firsts = np.cumsum(widths[rows]) - widths[rows]
        shift = starts[rows] - firsts
        places = np.arange(int(widths[rows].sum())) + np.repeat(shift, widths[rows])
        return type(self)(self.text[places], self.ends[rows] - shift[:, None])

    def as_decimals(self, fields: Sequence[int]) -> Self:
        """Return the rows with whole numbers of these fields written as decimals, `3.0` for `3`; O(bytes).

        Numbers of more than 15 characters stay as they are: as decimals, two of them might be one.
        """
        if not self.text.size:
            return self
        ends = self.ends.ravel()
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(_NOT_WHOLE[self.text])])
        whole = (counts[begins] == counts[ends]) & (ends - begins <= _MOST_EXACT)
        chosen = np.zeros(self.ends.shape[1], np.bool_)
        chosen[list(fields)] = True
        whole &= np.tile(chosen, len(self))
        places = np.repeat(ends[whole], len(_DECIMAL))
        text = np.insert(self.text, places, np.tile(_DECIMAL, np.count_nonzero(whole)))
        return type(self)(text, (ends + len(_DECIMAL) * np.cumsum(whole)).reshape(self.ends.shape))

    def with_lists_as_decimals(self, fields: Sequence[int]) -> Self:
        """Return the rows with whole numbers in lists of these fields written as decimals; 1 us a list."""
        text, start, pieces = self.text.tobytes(), 0, []
        for row in self.ends.tolist():
            for field, end in enumerate(row):
                piece = text[start:end]
                pieces.append(_WHOLE_ITEM.sub(rb"\1.0", piece) if field in fields else piece)
                start = end
        ends = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))
        return type(self)(np.frombuffer(b"".join(pieces), np.uint8), ends.reshape(self.ends.shape))

    def missing(self, rows: slice) -> NDArray[np.int64]:
        """Return how many of the chosen rows lack a value, for each field; int64[p]."""
        ends = self.ends[rows]
        begins = np.column_stack([self.starts[rows], ends[:, :-1]]) if ends.size else ends
        return np.array(np.count_nonzero(self.text[begins] == _NULL, axis=0), np.int64)

    def followed_by(self, others: Sequence[Self]) -> Self:
        """Return the rows of this one, followed by those of all others."""
        parts = [self, *others]
        sizes = np.cumsum([0, *(len(part.text) for part in parts)])
        ends = [part.ends + size for part, size in zip(parts, sizes.tolist(), strict=False)]
        return type(self)(np.concatenate([part.text for part in parts]), np.concatenate(ends))

    def keys(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a key of the value of each field and row; see `payload_keys`."""
        return keys_of_spans(self.text.tobytes(), self.ends.ravel(), key).reshape(self.ends.shape).T

    def spellings(self) -> Spellings:
        """Return the JSON of the values."""
        places = np.arange(self.ends.size, dtype=np.int64).reshape(self.ends.shape).T
        return Spellings.of(self.text.tobytes(), self.ends.ravel(), places)
