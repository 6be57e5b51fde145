"""A wrapping of one byte, as small as a wrapping can be: a mark before the JSON."""

from __future__ import annotations

import numpy as np

from stream_anon.formats.json.json_codec import JsonCodec
from stream_anon.formats.unwrapping import FITS, Unwrapped, UnwrappingCodec
from stream_anon.microdata.batch import Reason
from stream_anon.microdata.policy import Policy
from stream_anon.microdata.texts import Texts

MARK = b"\x01"


class MarkUnwrapper:
    """See `formats.unwrapping.Unwrapper`."""

    def unwrap(self, values: Texts) -> Unwrapped:
        found, outcomes = list[bytes | None](), np.full(len(values), FITS, np.int8)
        for row, value in enumerate(values):
            is_marked = not value or value.startswith(MARK)
            found.append(value[1:] if value and is_marked else None)
            if not is_marked:
                outcomes[row] = Reason.MALFORMED
        return Unwrapped(Texts.of(found), outcomes)

    def warm_up(self) -> None:
        """Compile nothing."""


class MarkedCodec(UnwrappingCodec):
    """Reads JSON behind a mark."""

    def __init__(self, policy: Policy, *, max_record_bytes: int = 1_048_576) -> None:
        super().__init__([MarkUnwrapper()], JsonCodec(policy, max_record_bytes=max_record_bytes))
