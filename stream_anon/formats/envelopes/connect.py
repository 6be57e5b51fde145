"""Kafka Connect's pair of a schema and a payload, as its JSON converter reads and writes it."""

from __future__ import annotations

import numpy as np

from stream_anon.formats.envelopes.object_unwrapper import LEFT, Members, RecordSpans
from stream_anon.formats.json.scanner.forms import ABSENT, NEST
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.unwrapping import FITS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.schemas.connect_schema import PAYLOAD, SCHEMA
from stream_anon.microdata.texts import Texts

_SCHEMA, _PAYLOAD = range(2)
_PATHS = ((SCHEMA,), (PAYLOAD,))


class ConnectEnvelope:
    """What such a pair means; see `object_unwrapper.Envelope`."""

    paths = _PATHS

    def spans(self, found: FoundValues, texts: Texts) -> RecordSpans:  # noqa: ARG002 - the signature is the protocol's
        """Return where the payloads stand; those that are no object or array are left."""
        whole = (found.forms[_SCHEMA] != ABSENT) & (found.forms[_PAYLOAD] == NEST)
        outcomes = np.where(whole, FITS, LEFT).astype(np.int8)
        return RecordSpans(outcomes, found.starts[_PAYLOAD], found.stops[_PAYLOAD])

    def record(self, members: Members, value: bytes) -> bytes | Reason:  # noqa: ARG002
        """Return the payload, or why there is none."""
        if not members.keys() >= {SCHEMA, PAYLOAD}:
            return Reason.WRONG_ENVELOPE
        payload = bytes(members[PAYLOAD])
        return Reason.TOMBSTONE if payload == b"null" else payload
