"""Files of JSON Lines: one record or released record a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.release import Release

BLOCK = 1 << 20
MOST_LINE = 1 << 20
_BOM = b"\xef\xbb\xbf"

Decode = Callable[[Sequence[bytes | None], int, NDArray[np.int64]], CodedBatch]
Encode = Callable[[Release], list[bytes]]


class JsonLinesReader:
    """Reads batches from a file of JSON Lines; an offset is the number of the line, counted from 0.

    Parameters
    ----------
    file
        Opened for bytes.
    decode
        The codec's: lines to a coded batch.
    source
        The number that stands for the file.
    most_line
        Bytes after which the rest of a line is dropped; the codec must reject longer lines.

    Notes
    -----
    Blank lines are no records. Memory is bounded by a block and a line.
    """

    delimiter = None
    coerced = 0

    def __init__(self, file: BinaryIO, decode: Decode, source: int = 0, most_line: int = MOST_LINE) -> None:
        self._file = file
        self._decode = decode
        self._source = source
        self._most = most_line
        self.bytes_read = 0

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield batches as blocks come in, in order."""
        number = 0
        for lines in self._blocks():
            offsets = np.arange(number, number + len(lines))
            number += len(lines)
            kept = [i for i, line in enumerate(lines) if line and not line.isspace()]
            if kept:
                yield self._decode([lines[i] for i in kept], self._source, offsets[kept])

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lines of records, counted from 1."""
        return offsets + 1

    def _blocks(self) -> Iterator[list[bytes]]:
        """Yield complete lines, block by block; text after the last line's end is a line too."""
        read = getattr(self._file, "read1", self._file.read)  # a pipe gives what it has
        rest = b""
        while block := read(BLOCK):
            if not self.bytes_read and block.startswith(_BOM):
                self.bytes_read, block = len(_BOM), block[len(_BOM) :]
            self.bytes_read += len(block)
            first, *lines = block.split(b"\n")
            # One byte more than allowed is kept of a line, so that the codec still finds it too long.
            rest += first[: self._most + 1 - len(rest)]
            if lines:
                yield [rest, *lines[:-1]]
                rest = lines[-1]
        if rest:
            yield [rest]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class JsonLinesWriter:
    """Writes releases as JSON Lines, with the same bytes as for Kafka.

    Parameters
    ----------
    file
        Opened for bytes.
    encode
        The codec's: a release to its records.
    owned
        Whether to close the file in the end.
    """

    def __init__(self, file: BinaryIO, encode: Encode, *, owned: bool = True) -> None:
        self._file = file
        self._encode = encode
        self._owned = owned

    def write(self, release: Release) -> None:
        """Write all released records of a window and flush them."""
        self._file.writelines(record + b"\n" for record in self._encode(release))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._owned:
            self._file.close()
