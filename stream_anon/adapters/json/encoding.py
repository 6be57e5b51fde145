"""Write released records: one JSON object each, published fields in policy order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.passing import PassedTexts
from stream_anon.adapters.json.writing import write_records
from stream_anon.microdata.attributes import PassThrough, QuasiIdentifier, ScalarType
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.output.members import Member, Placed, by_first_key, members_of
from stream_anon.microdata.output.shape import Shape
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.release import Classes, Release
from stream_anon.microdata.texts import Texts

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Fixed:
    text: bytes


@dataclass(frozen=True, slots=True)
class _OfClass:
    row: int
    write: Callable[[Any], Any] | None  # None for values that are written as they are

    def of(self, classes: Classes) -> Iterable[Any]:
        """Return the value of each class."""
        values = classes.values[self.row]
        return values if self.write is None else map(self.write, values)


@dataclass(frozen=True, slots=True)
class _OfRecord:
    place: int


_Shared = _Fixed | _OfClass
_Part = _Shared | _OfRecord


class ReleaseEncoder:
    """Encodes releases of one policy, in a quarter of a microsecond a record.

    The quasi-identifiers of a class are written once, from the class alone; only fields that pass are written for
    each record. Nothing is kept between two calls.

    Attributes
    ----------
    most_around
        The most bytes that a record takes beside the fields that pass.
    """

    def __init__(self, policy: Policy) -> None:
        self._fields = len(policy.passed)
        decimals = [i for i, a in enumerate(policy.passed) if a.type is ScalarType.NUMBER]
        self._decimals = [] if policy.shape is Shape.NATURAL else decimals
        members = members_of(policy.published, policy.shape)
        parts = _object(policy, [(member, member.path) for member in members])
        self._places = np.array([part.place for part in parts if isinstance(part, _OfRecord)], np.int64)
        self._between: list[list[_Shared]] = [[]]  # the parts that are the same for all records of a class
        for part in parts:
            if isinstance(part, _OfRecord):
                self._between.append([])
            else:
                self._between[-1].append(part)
        fixed = sum(len(part.text) for parts in self._between for part in parts if isinstance(part, _Fixed))
        quasi = [member for member in members if isinstance(member.attribute, QuasiIdentifier)]
        self.most_around = fixed + sum(map(longest_form, quasi))

    def encode(self, release: Release) -> Texts:
        """Return one JSON object for each released record, in the release's order, as `Texts`."""
        return self.encode_rows(release.classes, release.order, release.class_of_row, release.payload)

    def encode_rows(
        self, classes: Classes, order: NDArray[np.int64], class_of_row: NDArray[np.int32], payload: Payload
    ) -> Texts:
        """Return one JSON object for each row in `order`; see `Release` for the rest."""
        passed = self._passed(payload)
        shared, shared_ends = self._shared(classes)
        widths = _widths(shared_ends, order, class_of_row, passed)
        room = np.empty(int(widths.sum()) + len(PADDING), np.uint8)
        ends = np.empty(len(order), np.int64)
        write_records(
            order,
            class_of_row,
            padded_words(shared),
            shared_ends,
            padded_words(passed.text.tobytes() + PADDING),
            passed.ends,
            self._places,
            padded_words(room),
            ends,
        )
        room.setflags(write=False)
        return Texts(room, ends)

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that take more bytes than `most`; O(n) if none can."""
        passed = self._passed(release.payload)
        if self.most_around + int(passed.widths.max(initial=0)) <= most:
            return np.empty(0, np.int64)
        _, shared_ends = self._shared(release.classes)
        return release.order[_widths(shared_ends, release.order, release.class_of_row, passed) > most]

    def _passed(self, payload: Payload) -> PassedTexts:
        passed = payload if isinstance(payload, PassedTexts) else PassedTexts.of(payload, self._fields)
        return passed.as_decimals(self._decimals) if self._decimals else passed

    def _shared(self, classes: Classes) -> tuple[bytes, NDArray[np.int64]]:
        """Return the texts that all records of each class share, without gaps, and where each text ends."""
        columns: list[list[bytes]] = []
        for parts in self._between:
            pieces = [
                list(map(_encode, part.of(classes))) if isinstance(part, _OfClass) else [part.text] * len(classes)
                for part in parts
            ]
            columns.append(list(map(b"".join, zip(*pieces, strict=True))) if pieces else [b""] * len(classes))
        texts = list(chain.from_iterable(zip(*columns, strict=True)))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return b"".join([*texts, PADDING]), ends.reshape(len(classes), len(columns))


def longest_form(member: Member) -> int:
    """Return the most bytes that the value of a quasi-identifier takes."""
    return max(len(_encode(value)) for value in member.longest())


def _widths(
    shared_ends: NDArray[np.int64], order: NDArray[np.int64], class_of_row: NDArray[np.int32], passed: PassedTexts
) -> NDArray[np.int64]:
    """Return the bytes of each record in `order`."""
    widths: NDArray[np.int64] = np.diff(shared_ends[:, -1], prepend=0)[class_of_row[order]] + passed.widths[order]
    return widths


def _object(policy: Policy, fields: Sequence[Placed]) -> list[_Part]:
    """Return the parts of an object; fields under one parent stand together at the place of the first."""
    parts: list[_Part] = []
    for key, members in by_first_key(fields).items():
        parts.append(_Fixed((b"," if parts else b"{") + _encode(key) + b":"))
        member, rest = members[0]
        attribute = member.attribute
        if rest:
            parts += _object(policy, members)
        elif isinstance(attribute, QuasiIdentifier):
            parts.append(_OfClass(policy.quasi_identifiers.index(attribute), member.write))
        elif isinstance(attribute, PassThrough):
            parts.append(_OfRecord(policy.passed.index(attribute)))
    return [*parts, _Fixed(b"}")] if parts else [_Fixed(b"{}")]
