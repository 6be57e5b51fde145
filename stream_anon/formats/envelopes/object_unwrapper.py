"""Take JSON objects out of JSON objects: nearly all by their spans, the odd ones one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.json.scanner.spans import SpanFinder
from stream_anon.formats.json.single_reading import members_of_object
from stream_anon.formats.unwrapping import FITS, Unwrapped
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.keys import PADDING
from stream_anon.microdata.texts import Texts

LEFT = -2
"""The outcome of a record that must be read by itself."""

_text = msgspec.json.Decoder(str).decode

Members = Mapping[str, msgspec.Raw]


@dataclass(frozen=True, slots=True, eq=False)
class RecordSpans:
    """Where the records of n values stand.

    Parameters
    ----------
    outcomes
        int8[n], `FITS`, `LEFT` or a `Reason`.
    starts, stops
        int64[n], places in the room of the values; of values that fit.
    """

    outcomes: NDArray[np.int8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


class Envelope(Protocol):
    """What one kind of envelope means. Both readings of a value agree, but `spans` may leave any value."""

    @property
    def paths(self) -> Sequence[tuple[str, ...]]:
        """Return the keys of the members that `spans` looks at."""
        ...

    def spans(self, found: FoundValues, texts: Texts) -> RecordSpans:
        """Return where the records of values stand whose members were found; those not plain are left anyway."""
        ...

    def record(self, members: Members, value: bytes) -> bytes | Reason:
        """Return the JSON of the record in a sound object, or why there is none."""
        ...


class ObjectUnwrapper:
    """Takes one kind of envelope off; see `formats.unwrapping.Unwrapper`.

    A record is what `Envelope.record` says of it. A null value is a tombstone, as topics of changed rows have them.

    Parameters
    ----------
    most
        Larger values are rejected unread.
    """

    def __init__(self, envelope: Envelope, most: int) -> None:
        self._envelope = envelope
        self._finder = SpanFinder.of(envelope.paths, most)
        self._most = most

    def unwrap(self, values: Texts) -> Unwrapped:
        """Return the records of n values, with a gap of one byte."""
        found = self._finder.find(values)
        spans = self._envelope.spans(found, values)
        outcomes, starts, stops = spans.outcomes.copy(), spans.starts, spans.stops
        outcomes[~found.plain] = LEFT
        if values.missing is not None:
            outcomes[values.missing] = Reason.TOMBSTONE
        room, left = values, np.flatnonzero(outcomes == LEFT)
        if len(left):
            single = [self._one(values[row]) for row in left.tolist()]
            outcomes[left] = [one if isinstance(one, Reason) else FITS for one in single]
            room, begins, ends = _followed_by(values, [b"" if isinstance(one, Reason) else one for one in single])
            starts[left], stops[left] = begins, ends
        missing = outcomes != FITS
        return Unwrapped(
            room.cut(np.where(missing, 0, starts), np.where(missing, 0, stops), missing), outcomes, len(left)
        )

    def _one(self, value: bytes | None) -> bytes | Reason:
        members = members_of_object(value, self._most)
        return members if isinstance(members, Reason) else self._envelope.record(members, value or b"")

    def warm_up(self) -> None:
        """Compile every kernel that `unwrap` will call."""
        self.unwrap(Texts.of([b"{}", None]))


def text_of(raw: msgspec.Raw) -> str | None:
    """Return the text that a JSON value is; None for anything else."""
    try:
        return _text(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _followed_by(values: Texts, more: Sequence[bytes]) -> tuple[Texts, NDArray[np.int64], NDArray[np.int64]]:
    """Return the room of the values with further texts behind them, and where each of these begins and ends."""
    ends = values.size + np.cumsum(np.fromiter(map(len, more), np.int64, len(more)))
    begins = np.concatenate([np.array([values.size]), ends[:-1]])
    joint = np.concatenate([values.room[: values.size], np.frombuffer(b"".join([*more, PADDING]), np.uint8)])
    return Texts(joint, ends[-1:]), begins, ends
