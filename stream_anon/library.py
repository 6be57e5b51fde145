"""The engine as a library: add records or frames, iterate releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stream_anon.adapters.codecs import codec_of
from stream_anon.adapters.tables.arrow.installed import require_narwhals, require_pyarrow
from stream_anon.adapters.tables.python_values import plain
from stream_anon.files.anonymizing import SOURCE, Anonymization, CertifiedRelease
from stream_anon.files.frames import anonymize_frame
from stream_anon.files.rejects import faults_of
from stream_anon.microdata import policy as _policy
from stream_anon.microdata.batch import CodedBatch
from stream_anon.microdata.coding import BatchBuilder, RecordCoder, find
from stream_anon.ports import Codec
from stream_anon.settings.policy_file import load_policy

__all__ = ["Anonymizer", "AnonymousRelease", "Policy", "Reject", "anonymize_frame"]

_CHUNK = 1000
_FRAMES = ("pandas", "polars", "duckdb", "modin", "cudf", "dask", "ibis", "pyspark")


class Policy(_policy.Policy):
    """What records look like and what must hold of what is published."""

    @classmethod
    def load(cls, path: str | Path, **overrides: Mapping[str, Any]) -> Policy:
        """Return the policy of a settings file, of which only its privacy side is needed.

        Parameters
        ----------
        path
            YAML; hierarchy files are relative to its folder.
        overrides
            Values by section that win over the file: `Policy.load(path, privacy={"k": 5})`.

        Raises
        ------
        SettingsError
            Names the first wrong key, what is allowed, and the file.
        """
        loaded = load_policy(Path(path), {section: dict(values) for section, values in overrides.items()})
        fields = loaded.__dataclass_fields__
        return cls(**{name: getattr(loaded, name) for name in fields})


@dataclass(frozen=True)
class Reject:
    """A record that did not fit: its number in the order of `add`, why, and the attribute at fault."""

    number: int
    reason: str
    attribute: str | None


class AnonymousRelease:
    """One window, k-anonymous.

    Attributes
    ----------
    records
        The released records in shuffled order, decoded when they are first asked for.
    rejected
        Records of the same stretch of input that did not fit the policy.
    certificate
        What the window promises, for `stream-anon audit`; not for readers of the records.
    """

    def __init__(self, certified: CertifiedRelease, policy: _policy.Policy, codec: Codec) -> None:
        self._release = certified.release
        self._policy = policy
        self._codec = codec
        names = [attribute.name for attribute in policy.attributes]
        rejects = certified.release.rejects
        faults = faults_of(rejects, names)
        self.rejected = [
            Reject(number, *fault) for number, fault in zip(rejects.offsets.tolist(), faults, strict=True)
        ]
        self.certificate: list[dict[str, Any]] = [msgspec.json.decode(part) for part in certified.certificate]

    def __len__(self) -> int:
        """Return the number of released records."""
        return self._release.released

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Return the released records, nested as the policy's paths say."""
        return [msgspec.json.decode(record) for record in self._codec.encode(self._release)]

    def to_arrow(self, *, flat: bool = False) -> Any:
        """Return the released records as a `pyarrow.Table`, with one type for each column.

        Parameters
        ----------
        flat
            See `anonymize_frame`.

        Raises
        ------
        SettingsError
            If pyarrow is not installed.
        """
        require_pyarrow("to_arrow")
        from stream_anon.adapters.tables.arrow.releases import ReleaseTables

        return ReleaseTables(self._policy, flat=flat).table(self._release)


class Anonymizer:
    """Anonymize a stream of records window by window.

    Windows close when `window.max_records` are in; `close` closes the last one. For windows that close by age
    run the service, or call `close` by your own clock: it may be called any number of times.

    Parameters
    ----------
    policy
        From `Policy.load`, or built from `stream_anon.microdata`.

    Examples
    --------
    >>> anonymizer = Anonymizer(Policy.load("policy.yaml"))  # doctest: +SKIP
    >>> for release in anonymizer.add(records):  # doctest: +SKIP
    ...     publish(release.records)
    """

    def __init__(self, policy: _policy.Policy) -> None:
        self._policy = policy
        self._coder = RecordCoder(policy)
        self._codec = codec_of(policy)
        self._anonymization = Anonymization(policy)
        self._count = 0
        self._every_record = policy.individual == _policy.EVERY_RECORD

    def add(self, records: Iterable[Mapping[str, Any] | bytes] | Any) -> Iterator[AnonymousRelease]:
        """Take records and yield the windows they filled.

        It is a generator: nothing is taken before it is iterated.

        Parameters
        ----------
        records
            Mappings, nested as the policy's paths say, or their JSON as bytes; or a frame, see `anonymize_frame`. A
            `pyarrow.RecordBatchReader` is read piece by piece. In mappings NaN, NaT and NA are missing too, and
            scalars of numpy and pandas, dates, `Decimal` and `UUID` are taken.

        Raises
        ------
        TypeError
            If it is neither, such as a single record.
        InputError
            If a frame has no column for a declared field.
        SettingsError
            For a frame, if pyarrow or narwhals is not installed.
        """
        batches = self._frame_batches(records) if _is_frame(records) else self._batches(iter(_several(records)))
        for batch in batches:
            self._count += len(batch) + len(batch.rejects)
            for certified in self._anonymization.add(batch):
                yield AnonymousRelease(certified, self._policy, self._codec)

    def _frame_batches(self, frame: Any) -> Iterator[CodedBatch]:
        require_narwhals("a frame")
        from stream_anon.adapters.tables.arrow.frames import batches_of

        for batch in batches_of(frame, self._policy, self._count):
            yield self._numbered(batch)

    def _batches(self, records: Iterator[Any]) -> Iterator[CodedBatch]:
        while chunk := list(islice(records, _CHUNK)):
            for as_bytes, run in groupby(chunk, key=lambda record: isinstance(record, bytes)):
                stretch = list(run)
                yield self._decoded(stretch) if as_bytes else self._coded(stretch)

    def _decoded(self, records: Sequence[Any]) -> CodedBatch:
        return self._numbered(
            self._codec.decode(records, SOURCE, np.arange(self._count, self._count + len(records)))
        )

    def _numbered(self, batch: CodedBatch) -> CodedBatch:
        """Return a batch with every record as an individual, if the policy says so, whichever way it came."""
        return replace(batch, individuals=batch.offsets) if self._every_record else batch

    def _coded(self, records: Sequence[Any]) -> CodedBatch:
        builder = BatchBuilder(self._policy, SOURCE)
        for offset, record in enumerate(records, start=self._count):
            if not isinstance(record, Mapping):
                raise TypeError(f"a record must be a mapping or JSON as bytes, not {type(record).__name__}")
            values = [plain(own, find(record, own.path)) for own in self._policy.attributes]
            builder.add(self._coder.code(values), offset)
        return self._numbered(builder.build())

    def close(self) -> Iterator[AnonymousRelease]:
        """Close the open window; yield nothing if it is empty."""
        for certified in self._anonymization.close():
            yield AnonymousRelease(certified, self._policy, self._codec)


def _is_frame(records: Any) -> bool:
    """Return whether something is no iterable of records but a table of columns."""
    marks = ("__arrow_c_stream__", "__arrow_c_array__", "__narwhals_dataframe__", "__narwhals_lazyframe__")
    own = type(records).__module__.partition(".")[0]
    return own in _FRAMES or any(hasattr(records, mark) for mark in marks)


def _several(records: Any) -> Iterable[Any]:
    if isinstance(records, Mapping | bytes | str):
        raise TypeError("give several records: a list, or anything else that yields them")
    found: Iterable[Any] = records
    return found
