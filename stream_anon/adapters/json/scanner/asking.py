"""Codes of a field whose domain no kernel knows: the domain is asked once for each different text of a batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.scanner.members import ABSENT, NULL, STRING
from stream_anon.errors import Unfit
from stream_anon.microdata.attributes import Missing, QuasiIdentifier

_LEFT = -1


class AskedColumn:
    """Writes the codes of one attribute. It holds the interpreter's lock, unlike the kernels."""

    def __init__(self, attribute: QuasiIdentifier) -> None:
        self._attribute = attribute
        self._missing = attribute.missing_code if attribute.missing is Missing.LEAF else _LEFT

    def codes(
        self,
        text: NDArray[np.uint8],
        forms: NDArray[np.int8],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        codes: NDArray[np.int32],
        plain: NDArray[np.bool_],
    ) -> None:
        """Write codes, int32[n], as the kernels in `fields` do; what is no text is left to a closer look."""
        codes[:] = np.where((forms == ABSENT) | (forms == NULL), self._missing, _LEFT)
        places = np.flatnonzero(plain & (forms == STRING))
        spans = zip(starts[places].tolist(), stops[places].tolist(), strict=True)
        written = [text[start:stop].tobytes() for start, stop in spans]
        # Each different text once, and only for this call: nobody's value outlives its batch.
        known = {each: self._code(each) for each in set(written)}
        codes[places] = list(map(known.__getitem__, written))
        plain &= codes >= 0

    def _code(self, written: bytes) -> int:
        try:
            return self._attribute.code(written.decode())
        except Unfit:
            return _LEFT
