"""Debezium's change events: the row after a change is the record.

See the documentation of Debezium 3, "Data change events". The JSON converter of Kafka Connect may put a schema
beside the event, as `{"schema": ..., "payload": EVENT}`.
"""

from __future__ import annotations

import msgspec
import numpy as np

from stream_anon.adapters.envelopes.object_unwrapper import LEFT, Members, RecordSpans, text_of
from stream_anon.adapters.json.scanner.forms import ABSENT, NEST, STRING
from stream_anon.adapters.json.scanner.letters import OPEN_BRACE
from stream_anon.adapters.json.scanner.odd_values import Found
from stream_anon.adapters.unwrapping import FITS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.output.connect import PAYLOAD, SCHEMA
from stream_anon.microdata.texts import Texts

UNAVAILABLE = frozenset({"__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="})
"""What stands for a column that the database did not log because it was not changed; the second is its Base64."""

OP, AFTER = "op", "after"
"""Keys of an event."""

_OP, _AFTER, _PAIR_OP, _PAIR_AFTER, _SCHEMA = range(5)
_PATHS = ((OP,), (AFTER,), (PAYLOAD, OP), (PAYLOAD, AFTER), (SCHEMA,))
_IGNORED = {"d": Reason.DELETED, "t": Reason.TRUNCATED, "m": Reason.MESSAGE}
_TRANSACTION_KEYS = frozenset({"status", "id", "ts_ms", "event_count", "data_collections"})
_TRANSACTION_STATES = ("BEGIN", "END")
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

    def spans(self, found: Found, texts: Texts) -> RecordSpans:  # noqa: ARG002 - the signature is the protocol's
        """Return where the rows stand; whatever has no operation of one letter is left."""
        bare = found.forms[_OP] != ABSENT
        forms, starts, stops = (
            np.where(bare, column[[_OP, _AFTER]], column[[_PAIR_OP, _PAIR_AFTER]])
            for column in (found.forms, found.starts, found.stops)
        )
        told = found.plain & (forms[0] == STRING) & (stops[0] == starts[0] + 1)
        told &= bare | (found.forms[_SCHEMA] != ABSENT)
        outcomes = np.full(len(told), LEFT, np.int8)
        outcomes[told] = self._outcomes[found.text[starts[0][told]]]
        fits = outcomes == FITS
        whole = forms[1][fits] == NEST
        whole[whole] = found.text[starts[1][fits][whole]] == OPEN_BRACE
        outcomes[fits] = np.where(whole, FITS, LEFT)
        return RecordSpans(outcomes, starts[1], stops[1])

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
        op = text_of(members[OP])
        if op in self._ignored:
            return self._ignored[op]
        after = bytes(members.get(AFTER, b""))
        return after if op in ("c", "r", "u") and after.startswith(b"{") else Reason.WRONG_ENVELOPE


def _beside_rows(members: Members) -> Reason:
    """Return what an event without an operation is."""
    if members.keys() == {"ts_ms"}:
        return Reason.HEARTBEAT
    is_marker = {"status", "id"} <= members.keys() <= _TRANSACTION_KEYS
    if is_marker and text_of(members["status"]) in _TRANSACTION_STATES:
        return Reason.TRANSACTION_MARKER
    return Reason.WRONG_ENVELOPE
