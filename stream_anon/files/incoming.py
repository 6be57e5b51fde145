"""Records and frames as programs have them, coded in batches: the way in of the library and of other engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.extras import require
from stream_anon.files.anonymizing import SOURCE
from stream_anon.formats.codecs import codec_of
from stream_anon.formats.tables.python_values import plain
from stream_anon.formats.tables.table_columns import ColumnCoder
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import BatchBuilder, RecordCoder, find
from stream_anon.microdata.policy import EVERY_RECORD, Policy

_CHUNK = 1000
_FRAMES = ("pandas", "polars", "duckdb", "modin", "cudf", "dask", "ibis", "pyspark")


class Incoming:
    """Codes what comes as batches of source 0, numbered from 0 on through all calls.

    Attributes
    ----------
    count
        How many records have come.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._coder = RecordCoder(policy)
        self._codec = codec_of(policy)
        self._columns = ColumnCoder(policy, plain)
        self._every_record = policy.individual == EVERY_RECORD
        self.count = 0

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so."""
        return self._coder.coerced + self._codec.coerced + self._columns.coerced

    def batches(self, records: Iterable[Mapping[str, Any] | bytes] | Any) -> Iterator[CodedBatch]:
        """Return an iterator of the coded batches of records or of a frame; see `Anonymizer.add`.

        What can be said of them as a whole is checked at once.

        Raises
        ------
        TypeError
            If it is neither, such as a single record.
        InputError
            If a frame has no column for a declared field.
        SettingsError
            For a frame, if pyarrow or narwhals is not installed.
        """
        return self._counted(self._of_frame(records) if _is_frame(records) else self._of_records(_several(records)))

    def _counted(self, batches: Iterator[CodedBatch]) -> Iterator[CodedBatch]:
        for batch in batches:
            self.count += len(batch) + len(batch.rejects)
            yield replace(batch, individuals=batch.offsets) if self._every_record else batch

    def _of_frame(self, frame: Any) -> Iterator[CodedBatch]:
        require("a frame", "pyarrow", "narwhals")
        from stream_anon.formats.tables.arrow.frames import batches_of

        return batches_of(frame, self._policy, self.count, self._columns)

    def _of_records(self, records: Iterator[Any]) -> Iterator[CodedBatch]:
        while chunk := list(islice(records, _CHUNK)):
            for as_bytes, run in groupby(chunk, key=lambda record: isinstance(record, bytes)):
                stretch = list(run)
                yield self._decoded(stretch) if as_bytes else self._coded(stretch)

    def _decoded(self, records: Sequence[Any]) -> CodedBatch:
        return self._codec.decode(records, SOURCE, np.arange(self.count, self.count + len(records)))

    def _coded(self, records: Sequence[Any]) -> CodedBatch:
        builder = BatchBuilder(self._policy, SOURCE)
        for offset, record in enumerate(records, start=self.count):
            if not isinstance(record, Mapping):
                raise TypeError(f"a record must be a mapping or JSON as bytes, not {type(record).__name__}")
            values = [plain(own, find(record, own.path)) for own in self._policy.attributes]
            builder.add(self._coder.code(values), offset)
        return builder.build()


class IncomingReader:
    """Reads records or a frame as files are read; see `RecordReader`. Its rows are counted from 1."""

    delimiter = None
    bytes_read = 0

    def __init__(self, policy: Policy, records: Any) -> None:
        self._incoming = Incoming(policy)
        self._records = records

    def __iter__(self) -> Iterator[CodedBatch]:
        """Yield coded batches in order."""
        return self._incoming.batches(self._records)

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type because their attributes say so."""
        return self._incoming.coerced

    def lines(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of records, counted from 1."""
        return offsets + 1

    def close(self) -> None:
        """Leave the records to whoever gave them."""


def _is_frame(records: Any) -> bool:
    """Return whether something is no iterable of records but a table of columns."""
    marks = ("__arrow_c_stream__", "__arrow_c_array__", "__narwhals_dataframe__", "__narwhals_lazyframe__")
    own = type(records).__module__.partition(".")[0]
    return own in _FRAMES or any(hasattr(records, mark) for mark in marks)


def is_whole(records: Any) -> bool:
    """Return whether all that comes is at hand: a list or a frame, and nothing that is read piece by piece."""
    return isinstance(records, Sized) or (_is_frame(records) and not isinstance(records, Iterator))


def _several(records: Any) -> Iterator[Any]:
    if isinstance(records, Mapping | bytes | str) or not isinstance(records, Iterable):
        raise TypeError("give several records: a list, or anything else that yields them")
    return iter(records)
