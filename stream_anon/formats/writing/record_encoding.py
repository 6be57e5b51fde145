"""Join what a class shares and the passing values of each record to the bytes that are released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.writing.passed_texts import PassedTexts, Spans
from stream_anon.formats.writing.record_writing import JoinedTexts, write_records
from stream_anon.microdata.keys import PADDING, padded_words
from stream_anon.microdata.payload import Payload
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.quasi_identifier import QuasiIdentifier
from stream_anon.microdata.release import Classes, Release, made_up_release
from stream_anon.microdata.texts import Texts

NOTHING = (b"", b"")
"""What stands before and behind each record unless there is more to say."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes that every record has."""

    text: bytes

    @property
    def longest(self) -> int:
        """Return the bytes that it takes."""
        return len(self.text)

    def of(self, classes: Classes) -> list[bytes]:
        """Return the bytes of each class."""
        return [self.text] * len(classes)


@dataclass(frozen=True, slots=True)
class OfClass:
    """The value of a quasi-identifier, the same for all records of a class.

    Parameters
    ----------
    row
        Its place among the quasi-identifiers.
    steps
        What makes bytes of a published value, one after the other.
    longest
        The most bytes that it takes.
    """

    row: int
    steps: tuple[Callable[[Any], Any], ...]
    longest: int

    def of(self, classes: Classes) -> list[bytes]:
        """Return the bytes of each class."""
        values: Any = classes.values[self.row]
        for step in self.steps:
            values = map(step, values)
        return list(values)


@dataclass(frozen=True, slots=True)
class Together:
    """Parts that all records of a class share, with something around them that depends on their bytes.

    Parameters
    ----------
    parts
        The parts.
    around
        Returns their bytes with what is around them.
    growth
        The most bytes that are around them.
    """

    parts: tuple[Shared, ...]
    around: Callable[[bytes], bytes]
    growth: int

    @property
    def longest(self) -> int:
        """Return the most bytes that it takes."""
        return self.growth + sum(part.longest for part in self.parts)

    def of(self, classes: Classes) -> list[bytes]:
        """Return the bytes of each class."""
        return list(map(self.around, joint(self.parts, classes)))


@dataclass(frozen=True, slots=True)
class OfRecord:
    """A value that passes, by its place among the attributes that do."""

    place: int


def of_class(
    policy: Policy, attribute: QuasiIdentifier, steps: Iterable[Callable[[Any], Any] | None], longest: int
) -> OfClass:
    """Return the part that a quasi-identifier is; a step that is None is left out."""
    row = policy.quasi_identifiers.index(attribute)
    return OfClass(row, tuple(step for step in steps if step is not None), longest)


Shared = Fixed | OfClass | Together
Part = Shared | OfRecord


@dataclass(frozen=True, slots=True)
class Passing:
    """How a format writes the values that pass.

    Parameters
    ----------
    write
        Returns the bytes of n rows, given their JSON.
    growth
        The most bytes that a row takes beyond its JSON.
    """

    write: Callable[[PassedTexts], Spans]
    growth: int


class ReleaseEncoder:
    """Encodes releases of one policy, in a quarter of a microsecond a record.

    The quasi-identifiers of a class are written once, from the class alone; only fields that pass are written for
    each record. Nothing is kept between two calls.

    Parameters
    ----------
    policy
        Whose releases are written.
    parts
        What a record consists of, in order.
    passing
        How its passing values are written.

    Attributes
    ----------
    most_around
        The most bytes that a record takes beside the JSON of the fields that pass.
    """

    def __init__(self, policy: Policy, parts: Sequence[Part], passing: Passing) -> None:
        self._policy = policy
        self._passing = passing
        self._places = np.array([part.place for part in parts if isinstance(part, OfRecord)], np.int64)
        self._between: list[list[Shared]] = [[]]  # the parts that are the same for all records of a class
        for part in parts:
            if isinstance(part, OfRecord):
                self._between.append([])
            else:
                self._between[-1].append(part)
        shared = [part for between in self._between for part in between]
        self.most_around = passing.growth + sum(part.longest for part in shared)

    def encode(self, release: Release) -> Texts:
        """Return the bytes of each released record, in the release's order, as `Texts`."""
        return self.encode_rows(release.classes, release.order, release.class_of_row, release.payload)

    def encode_rows(
        self, classes: Classes, order: NDArray[np.int64], class_of_row: NDArray[np.int32], payload: Payload
    ) -> Texts:
        """Return the bytes of each row in `order`; see `Release` for the rest."""
        passed = self._passing.write(self._texts(payload))
        shared, shared_ends = self._shared(classes)
        widths = _widths(shared_ends, order, class_of_row, passed)
        room = np.empty(int(widths.sum()) + len(PADDING), np.uint8)
        ends = np.empty(len(order), np.int64)
        write_records(
            order,
            class_of_row,
            JoinedTexts(padded_words(shared), shared_ends),
            JoinedTexts(padded_words(passed.text.tobytes() + PADDING), passed.ends),
            self._places,
            JoinedTexts(padded_words(room), ends),
        )
        room.setflags(write=False)
        return Texts(room, ends)

    def larger_than(self, release: Release, most: int) -> NDArray[np.int64]:
        """Return the released rows that take more bytes than `most`; O(n) if none can."""
        texts = self._texts(release.payload)
        if self.most_around + int(texts.widths.max(initial=0)) <= most:
            return np.empty(0, np.int64)
        passed = self._passing.write(texts)
        _, shared_ends = self._shared(release.classes)
        return release.order[_widths(shared_ends, release.order, release.class_of_row, passed) > most]

    def warm_up(self) -> None:
        """Compile every kernel that releases of the policy will call."""
        # To the compiler, texts of more than one word have another type than those of an empty window. Without this
        # the first published window would wait for it.
        nothing = (None,) * len(self._policy.passed)
        self.encode(made_up_release(self._policy, self._texts([nothing] * 2)))
        self.encode_rows(
            Classes.none(len(self._policy.quasi_identifiers)), np.empty(0, np.int64), np.empty(0, np.int32), []
        )

    def _texts(self, payload: Payload) -> PassedTexts:
        return payload if isinstance(payload, PassedTexts) else PassedTexts.of(payload, len(self._policy.passed))

    def _shared(self, classes: Classes) -> tuple[bytes, NDArray[np.int64]]:
        """Return the bytes that all records of each class share, without gaps, and where each piece ends."""
        columns = [joint(parts, classes) for parts in self._between]
        texts = list(chain.from_iterable(zip(*columns, strict=True)))
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return b"".join([*texts, PADDING]), ends.reshape(len(classes), len(columns))


def joint(parts: Sequence[Shared], classes: Classes) -> list[bytes]:
    """Return the bytes of all parts together, for each class."""
    pieces = [part.of(classes) for part in parts]
    return list(map(b"".join, zip(*pieces, strict=True))) if pieces else [b""] * len(classes)


def _widths(
    shared_ends: NDArray[np.int64], order: NDArray[np.int64], class_of_row: NDArray[np.int32], passed: Spans
) -> NDArray[np.int64]:
    """Return the bytes of each record in `order`."""
    widths: NDArray[np.int64] = np.diff(shared_ends[:, -1], prepend=0)[class_of_row[order]] + passed.widths[order]
    return widths
