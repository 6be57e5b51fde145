"""Debezium's change events: the row after a change is the record.

See the documentation of Debezium 3, "Data change events". The JSON converter of Kafka Connect may put a schema
beside the event, as `{"schema": ..., "payload": EVENT}`.

An event that is ignored leaves no trace but a count, so an operation of one letter is not enough: a row of another
kind may have such a column. It must have the envelope that Debezium gives it, with a `source` that names its
connector. Of an event whose row is a record this is not asked, since what is no such row does not fit the policy.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_anon.formats.envelopes.object_unwrapper import LEFT, Members, RecordSpans, text_of
from stream_anon.formats.json.scanner.forms import ABSENT, NEST, NULL, STRING
from stream_anon.formats.json.scanner.letters import OPEN_BRACE
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.json.scanner.spans import SpanFinder
from stream_anon.formats.unwrapping import FITS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.schemas.connect_schema import PAYLOAD, SCHEMA
from stream_anon.microdata.texts import Texts

UNAVAILABLE = frozenset({"__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="})
"""What stands for a column that the database did not log because it was not changed; the second is its Base64."""

OP, AFTER = "op", "after"
"""Keys of an event."""

CONNECTOR, PREFIX = ("source", "connector"), ("message", "prefix")
"""Where an event that is ignored proves to be one: texts that every event has, and every logical message."""

IGNORED_SCHEMAS = {
    "io.debezium.connector.common.Heartbeat": Reason.HEARTBEAT,
    "io.debezium.connector.common.TransactionMetadataValue": Reason.TRANSACTION_MARKER,
}
"""Names of the schemas of what is no change, in formats whose records name their schemas."""

_BEFORE = "before"
_OP, _AFTER, _PAIR_OP, _PAIR_AFTER, _SCHEMA = range(5)
_PATHS = ((OP,), (AFTER,), (PAYLOAD, OP), (PAYLOAD, AFTER), (SCHEMA,))
_PROOFS = ((_BEFORE,), CONNECTOR, PREFIX)
_IGNORED = {"d": Reason.DELETED, "t": Reason.TRUNCATED, "m": Reason.MESSAGE}
_OF_ROWS = (Reason.DELETED, Reason.UPDATE)
"""What may have the row before."""

_TRANSACTION_KEYS = frozenset({"status", "id", "ts_ms", "event_count", "data_collections"})
_TRANSACTION_STATES = ("BEGIN", "END")
_ANY_SIZE = 2**62
_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class DebeziumEnvelope:
    """What Debezium's events mean; see `object_unwrapper.Envelope`.

    Parameters
    ----------
    skips_updates
        Whether the row after an update is ignored instead of being a record.
    """

    paths = _PATHS

    def __init__(self, *, skips_updates: bool) -> None:
        self._ignored = _IGNORED | ({"u": Reason.UPDATE} if skips_updates else {})
        self._outcomes = np.full(256, LEFT, np.int8)
        for letter in "cru":
            self._outcomes[ord(letter)] = FITS
        for letter, reason in self._ignored.items():
            self._outcomes[ord(letter)] = reason
        self._proofs = SpanFinder.of((*_PROOFS, *((PAYLOAD, *path) for path in _PROOFS)), _ANY_SIZE)

    def spans(self, found: FoundValues, texts: Texts) -> RecordSpans:
        """Return where the rows stand; what has no operation of one letter, or does not prove it, is left."""
        bare = found.forms[_OP] != ABSENT
        forms, starts, stops = (
            np.where(bare, column[[_OP, _AFTER]], column[[_PAIR_OP, _PAIR_AFTER]])
            for column in (found.forms, found.starts, found.stops)
        )
        told = found.plain & (forms[0] == STRING) & (stops[0] == starts[0] + 1)
        told &= bare | (found.forms[_SCHEMA] != ABSENT)
        outcomes = np.full(len(told), LEFT, np.int8)
        outcomes[told] = self._outcomes[found.text[starts[0][told]]]
        fits, ignored = outcomes == FITS, np.flatnonzero(outcomes >= 0)
        outcomes[fits] = np.where(_are_objects(found, forms[1][fits], starts[1][fits]), FITS, LEFT)
        if len(ignored):
            reasons = outcomes[ignored]
            after = _are_objects(found, forms[1][ignored], starts[1][ignored])
            proven = np.where(reasons == Reason.UPDATE, after, _are_null(forms[1][ignored]))
            proven &= self._are_proven(texts, ignored, bare[ignored], reasons)
            outcomes[ignored] = np.where(proven, reasons, LEFT)
        return RecordSpans(outcomes, starts[1], stops[1])

    def _are_proven(
        self, texts: Texts, rows: NDArray[np.intp], bare: NDArray[np.bool_], reasons: NDArray[np.int8]
    ) -> NDArray[np.bool_]:
        """Return which of m events that are to be ignored have what Debezium writes beside `after`; bool[m]."""
        found, count = self._proofs.find(texts.cut(texts.starts[rows], texts.stops[rows])), len(_PROOFS)
        forms, starts = (
            np.where(bare, column[:count], column[count : 2 * count]) for column in (found.forms, found.starts)
        )
        before = np.isin(reasons, _OF_ROWS) & _are_objects(found, forms[0], starts[0])
        told = (forms[1] == STRING) & ((reasons != Reason.MESSAGE) | (forms[2] == STRING))
        proven: NDArray[np.bool_] = found.plain & told & (before | _are_null(forms[0]))
        return proven

    def record(self, members: Members, value: bytes) -> bytes | Reason:  # noqa: ARG002
        """Return the row after the change, or why there is none."""
        if OP not in members and members.keys() >= {SCHEMA, PAYLOAD}:
            payload = bytes(members[PAYLOAD])
            if payload == b"null":
                return Reason.TOMBSTONE
            try:
                members = _split(payload)
            except msgspec.MsgspecError:
                return Reason.WRONG_ENVELOPE
        if OP not in members:
            return _beside_rows(members)
        op, after = text_of(members[OP]), bytes(members.get(AFTER, b""))
        if op in self._ignored:
            reason = self._ignored[op]
            return reason if _is_proven(members, reason) else Reason.WRONG_ENVELOPE
        return after if op in ("c", "r", "u") and after.startswith(b"{") else Reason.WRONG_ENVELOPE


def _are_objects(found: FoundValues, forms: NDArray[np.int8], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values are objects, whose forms and starts are given."""
    objects: NDArray[np.bool_] = forms == NEST
    objects[objects] = found.text[starts[objects]] == OPEN_BRACE
    return objects


def _are_null(forms: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which values are null or absent."""
    null: NDArray[np.bool_] = (forms == NULL) | (forms == ABSENT)
    return null


def _is_proven(members: Members, reason: Reason) -> bool:
    """Return whether an event that is to be ignored has what Debezium writes of its kind."""
    before, after = (_kind(members, key) for key in (_BEFORE, AFTER))
    if before is not None and not (before == b"{" and reason in _OF_ROWS):
        return False
    if after != (b"{" if reason is Reason.UPDATE else None):
        return False
    return _has_text(members, CONNECTOR) and (reason is not Reason.MESSAGE or _has_text(members, PREFIX))


def _kind(members: Members, key: str) -> bytes | None:
    """Return the first byte of a member; None for one that is absent or null."""
    value = bytes(members.get(key, b"null"))
    return None if value == b"null" else value[:1]


def _has_text(members: Members, path: tuple[str, str]) -> bool:
    """Return whether a text stands at a path."""
    try:
        inner = _split(bytes(members.get(path[0], b"null")))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return path[1] in inner and text_of(inner[path[1]]) is not None


def _beside_rows(members: Members) -> Reason:
    """Return what an event without an operation is."""
    if members.keys() == {"ts_ms"}:
        return Reason.HEARTBEAT
    is_marker = {"status", "id"} <= members.keys() <= _TRANSACTION_KEYS
    if is_marker and text_of(members["status"]) in _TRANSACTION_STATES:
        return Reason.TRANSACTION_MARKER
    return Reason.WRONG_ENVELOPE
