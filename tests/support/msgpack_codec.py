"""A codec of MessagePack records, as small as a codec can be: it proves that the port needs no JSON.

Plain Python on single records, with a payload of tuples. Not for use: it lives in the tests alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.attributes import ScalarType
from stream_anon.microdata.batch import CodedBatch, Reason
from stream_anon.microdata.coding import BatchBuilder, CodedRecord, Misfit
from stream_anon.microdata.output.output_members import members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.policy import EVERY_RECORD, Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Release
from stream_anon.microdata.texts import Texts
from tests.support.object_coder import ObjectCoder

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, ValueError, OverflowError)
_MOST_GROWTH = 9  # a missing value is written, and a number of half the width in full


class MsgpackCodec:
    """See `ports.codec.Codec`."""

    read_singly = faults = 0
    slow_attributes: tuple[str, ...] = ()

    def __init__(self, policy: Policy, *, max_record_bytes: int = 1_048_576) -> None:
        self._policy = policy
        self._members = members_of(policy.published, policy.shape)
        self._most = max_record_bytes
        self._coder = ObjectCoder(policy)
        self._numbers = 0 if policy.individual == EVERY_RECORD else None

    async def open(self) -> None:
        pass

    async def learn(self, stretches: Sequence[Sequence[bytes | None]]) -> None:
        pass

    def decode(self, values: Sequence[bytes | None], source: int, offsets: NDArray[np.int64]) -> CodedBatch:
        builder = BatchBuilder(self._policy, source)
        for value, offset in zip(values, offsets.tolist(), strict=True):
            builder.add(self._read(value), offset)
        batch = builder.build(self._numbers)
        if self._numbers is not None:
            self._numbers += len(batch)
        return batch

    def inner(self, values: Sequence[bytes | None]) -> Sequence[bytes | None]:
        return values

    @property
    def coerced(self) -> int:
        return self._coder.coerced

    def _read(self, value: bytes | None) -> CodedRecord | Misfit:
        if not value:
            return Misfit(Reason.EMPTY)
        if len(value) > self._most:
            return Misfit(Reason.TOO_LARGE)
        try:
            record = _decode(value)
        except _ERRORS:
            return Misfit(Reason.MALFORMED)
        if not isinstance(record, dict):
            return Misfit(Reason.NOT_AN_OBJECT)
        found = self._coder.code_object(record)
        if isinstance(found, CodedRecord):
            for attribute, passed in zip(self._policy.passed, found.passed, strict=True):
                if isinstance(passed, int) and not -(2**63) <= passed < 2**64:  # no such number can be written
                    return Misfit(Reason.OUT_OF_RANGE, self._policy.index[attribute.name])
        return found

    def encode(self, release: Release) -> list[bytes]:
        return [self._written(release, row) for row in release.order.tolist()]

    def encode_in_bulk(self, release: Release) -> Texts:
        records = self.encode(release)
        room = np.frombuffer(b"".join([*records, bytes(8)]), np.uint8)
        return Texts(room, np.cumsum([len(record) for record in records], dtype=np.int64))

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        rows = [row for row in release.order.tolist() if len(self._written(release, row)) > most]
        return np.array(rows, np.int64)

    def most_released(self, read: int) -> int:
        empty = len(_encode(self._nested(lambda _: None)))
        quasi = [member for member in self._members if isinstance(member.attribute, QuasiIdentifier)]
        longest = [max(len(_encode(one)) for one in member.longest()) for member in quasi]
        return read + empty + sum(longest) + _MOST_GROWTH * len(self._members)

    def warm_up(self) -> None:
        pass

    def _written(self, release: Release, row: int) -> bytes:
        own, passed = int(release.class_of_row[row]), release.payload[row]

        def value_of(member: Any) -> Any:
            attribute = member.attribute
            if isinstance(attribute, QuasiIdentifier):
                value = release.classes.values[self._policy.quasi_identifiers.index(attribute)][own]
                return value if member.write is None else member.write(value)
            value = passed[self._policy.passed.index(attribute)]
            whole = type(value) is int and attribute.type is ScalarType.NUMBER and len(str(value)) <= 15
            return float(value) if whole and self._policy.shape is not Shape.NATURAL else value

        return _encode(self._nested(value_of))

    def _nested(self, value_of: Any) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for member in self._members:
            inner = record
            for key in member.path[:-1]:
                inner = inner.setdefault(key, {})
            inner[member.path[-1]] = value_of(member)
        return record
