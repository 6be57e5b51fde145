"""What programs of every format are asked before a kernel walks by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def are_within(numbers: NDArray[np.int64], count: int) -> bool:
    """Return whether all are places of a table of so many rows."""
    return bool(((numbers >= 0) & (numbers < count)).all())


def are_texts(starts: NDArray[np.int64], stops: NDArray[np.int64], texts: NDArray[np.int64]) -> bool:
    """Return whether all are stretches of constant texts, which are given as words (`keys.padded_words`)."""
    return bool(((starts >= 0) & (starts <= stops) & (stops <= len(texts))).all())
