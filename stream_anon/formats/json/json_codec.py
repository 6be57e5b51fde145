"""The codec of JSON records: bytes to coded batches, releases to bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_anon.errors import SettingsError
from stream_anon.formats.json.record_parts import json_encoder
from stream_anon.formats.json.scanner.scanner import Scanner
from stream_anon.formats.json.scanner.tables import deep_attributes, scan_tables
from stream_anon.formats.json.single_reading import SingleReader
from stream_anon.formats.writing.passed_texts import PassedTexts
from stream_anon.formats.writing.record_encoding import NOTHING
from stream_anon.microdata.attributes import MOST_ITEMS, ScalarType, Sensitive
from stream_anon.microdata.batch import CodedBatch, joined_sets
from stream_anon.microdata.coding import BatchBuilder, Passed
from stream_anon.microdata.payload import joined, taken
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts
from stream_anon.ports import MOST_RECORD_BYTES

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
# 1e308 may be written with all its digits, and 3 as 3.0.
_MOST_GROWTH = {ScalarType.INTEGER: 310, ScalarType.NUMBER: 24}


class JsonCodec:
    """Decodes records and encodes releases of one policy.

    Parameters
    ----------
    policy
        Declares what is read and what may be published.
    max_record_bytes
        Larger records are rejected unread.
    around
        The bytes before and behind each record that is written.
    """

    faults = 0  # `GuardedCodec` counts them

    def __init__(
        self,
        policy: Policy,
        *,
        max_record_bytes: int = MOST_RECORD_BYTES,
        around: tuple[bytes, bytes] = NOTHING,
    ) -> None:
        self._policy = policy
        for attribute in policy.attributes:
            if _ESCAPED.search(attribute.column):
                raise SettingsError(
                    f"attributes.{attribute.name}", "must hold no quote, backslash or control character"
                )
        tables = scan_tables(policy)
        self._scanner = None if tables is None else Scanner(policy, tables, max_record_bytes)
        self._single = SingleReader(policy, max_record_bytes)
        self._encoder = json_encoder(policy, around)
        self._read_singly = 0
        self._numbers = 0 if policy.individual == EVERY_RECORD else None

    async def open(self) -> None:
        """Fetch nothing: JSON tells what it holds."""

    async def learn(self, stretches: Sequence[Sequence[bytes | None]]) -> None:
        """Fetch nothing."""

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        """Return the coded records of one partition, each value by itself.

        Parameters
        ----------
        values
            One JSON text each; None for a record without a value. `Texts` with a gap are read in place.
        source
            The worker's number of the partition.
        offsets
            int64[n], ascending.

        Returns
        -------
        CodedBatch
            Rows in the order of `values`. A record that does not fit is among the rejects, whatever its bytes are.
        """
        # Of two readers the second is twenty times as slow, and gets only the records that the first one left.
        if self._scanner is None:
            batch = self._one_by_one(values, range(len(values)), source, offsets)
        else:
            texts = values if isinstance(values, Texts) and values.gap else Texts.of(values)
            batch, left = self._scanner.scan(texts, source, offsets)
            if len(left):
                batch = _merge(batch, self._one_by_one(values, left.tolist(), source, offsets))
        if self._numbers is not None:
            batch.individuals[:] = np.arange(self._numbers, self._numbers + len(batch))
            self._numbers += len(batch)
        return batch

    def inner(self, values: Sequence[bytes | None]) -> Sequence[bytes | None]:
        """Return the values: nothing stands around JSON."""
        return values

    def warm_up(self) -> None:
        """Compile every kernel that records of the policy will call."""
        if self._scanner is not None:
            self._scanner.scan(Texts.of([b"{}"]), 0, np.zeros(1, np.int64))
        self._encoder.warm_up()

    @property
    def read_singly(self) -> int:
        """Return how many records were read one by one so far."""
        return self._read_singly

    @property
    def coerced(self) -> int:
        """Return how many texts counted as another type so far because their attributes say so."""
        return self._single.coerced + (self._scanner.coerced if self._scanner is not None else 0)

    @property
    def slow_attributes(self) -> tuple[str, ...]:
        """Return the attributes because of which all records are read one by one."""
        return deep_attributes(self._policy)

    def _one_by_one(
        self, values: Sequence[bytes | None], places: Sequence[int], source: int, offsets: NDArray[np.int64]
    ) -> CodedBatch:
        builder = BatchBuilder(self._policy, source)
        for place in places:
            builder.add(self._single.read(values[place]), int(offsets[place]))
        self._read_singly += len(places)
        batch = builder.build()
        return replace(batch, payload=self._texts(batch.payload))

    def _texts(self, passed: Sequence[Passed]) -> PassedTexts:
        return PassedTexts.of(passed, len(self._policy.passed))

    def encode(self, release: Release) -> list[bytes]:
        """Return one JSON object for each released record, in the release's order."""
        return [text for text in self._encoder.encode(release) if text is not None]

    def most_released(self, read: int) -> int:
        """Return the most bytes that may be written for a record of so many bytes."""
        grown = (_MOST_GROWTH.get(a.type, 0) * (MOST_ITEMS if a.many else 1) for a in self._policy.passed)
        families = (a.most_shown for a in self._policy.passed if isinstance(a, Sensitive))
        return self._encoder.most_around + read + sum(grown) + sum(families)

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that would take more than `most` bytes."""
        return self._encoder.larger_than(release, most)

    def encode_in_bulk(self, release: Release) -> Texts:
        """Return the same as `encode`, without an object for each record."""
        return self._encoder.encode(release)


def _merge(first: CodedBatch, second: CodedBatch) -> CodedBatch:
    """Return the rows of both batches by offset; the rejects are those of the second."""
    if not len(second):
        return replace(first, rejects=second.rejects)
    if not len(first):
        return second
    order = np.argsort(np.concatenate([first.offsets, second.offsets]), kind="stable")
    return CodedBatch(
        np.concatenate([first.codes, second.codes], axis=1)[:, order],
        np.concatenate([first.sensitive, second.sensitive], axis=1)[:, order],
        np.concatenate([first.individuals, second.individuals])[order],
        np.concatenate([first.sources, second.sources])[order],
        np.concatenate([first.offsets, second.offsets])[order],
        taken(joined([first.payload, second.payload]), order),
        second.rejects,
        joined_sets([first, second]),
    )
