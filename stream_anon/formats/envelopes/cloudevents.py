"""CloudEvents 1.0 in Kafka: the data of an event is the record.

In structured mode the value is a JSON object that holds the event's attributes and its `data`. In binary mode the
attributes are headers, and the value is the data itself. A value is structured if it has a `specversion`, the one
attribute whose name means nothing else. So data with a column of that name is refused in binary mode, and never
mistaken for another record.
"""

from __future__ import annotations

import numpy as np

from stream_anon.formats.envelopes.object_unwrapper import LEFT, Members, RecordSpans, text_of
from stream_anon.formats.json.scanner.forms import ABSENT, NEST, STRING
from stream_anon.formats.json.scanner.odd_values import FoundValues
from stream_anon.formats.unwrapping import FITS
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.texts import Texts

_VERSION, _DATA, _BASE64 = range(3)
_PATHS = (("specversion",), ("data",), ("data_base64",))
_KNOWN = "1."


class CloudEventsEnvelope:
    """What a CloudEvent means; see `object_unwrapper.Envelope`."""

    paths = _PATHS

    def spans(self, found: FoundValues, texts: Texts) -> RecordSpans:
        """Return where the data stand: all of the value in binary mode."""
        binary = found.forms[_VERSION] == ABSENT
        begins = found.starts[_VERSION]
        known = found.plain & (found.forms[_VERSION] == STRING)
        for place, letter in enumerate(_KNOWN):
            known &= found.stops[_VERSION] > begins + place
            known[known] = found.text[begins[known] + place] == ord(letter)
        structured = known & (found.forms[_DATA] == NEST) & (found.forms[_BASE64] == ABSENT)
        return RecordSpans(
            np.where(binary | structured, FITS, LEFT).astype(np.int8),
            np.where(binary, texts.starts, found.starts[_DATA]),
            np.where(binary, texts.stops, found.stops[_DATA]),
        )

    def record(self, members: Members, value: bytes) -> bytes | Reason:
        """Return the data of an event, or why it has none that can be read."""
        if "specversion" not in members:
            return value
        version = text_of(members["specversion"]) or ""
        if not version.startswith(_KNOWN) or "data" not in members or "data_base64" in members:
            return Reason.WRONG_ENVELOPE
        return bytes(members["data"])
