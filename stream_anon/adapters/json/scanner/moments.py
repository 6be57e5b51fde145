"""From numbers that count moments to the days that they fall on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_anon.adapters.json.scanner import tables as t
from stream_anon.adapters.json.scanner.fields import units_of
from stream_anon.adapters.json.scanner.forms import ABSENT, DECIMAL, INTEGER, NULL, ODD
from stream_anon.compiled import bare_kernel

_MISSING, _UNKNOWN = t.MISSING, t.UNKNOWN


@bare_kernel
def moment_codes(
    text: NDArray[np.uint8],
    forms: NDArray[np.int8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    field: NDArray[np.int64],
    begins: NDArray[np.int64],
    days: NDArray[np.int32],
    codes: NDArray[np.int32],
    plain: NDArray[np.bool_],
) -> None:
    """Write the codes of numbers by the stretches that they fall into; see `fields` and `ByMoment`."""
    for i in range(len(forms)):
        form, code = forms[i], -1
        if form == ABSENT or form == NULL:
            code = field[_MISSING]
        elif form == ODD:
            code = 0
        elif form == INTEGER or form == DECIMAL:
            number, _ = units_of(text, starts[i], stops[i], 0)
            low, high = 0, len(begins)
            while low < high:
                middle = (low + high) // 2
                if begins[middle] <= number:
                    low = middle + 1
                else:
                    high = middle
            code = days[low - 1] if low > 0 else -1
            if code < 0:
                code = field[_UNKNOWN]
        codes[i] = code
        plain[i] &= code >= 0
