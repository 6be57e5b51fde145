"""Published classes made up for tests that look at counts and labels only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stream_anon.microdata.domains.domain import Published
from stream_anon.microdata.release import Classes


def made_up_classes(sizes: Sequence[int], values: Sequence[Sequence[Published]] = (("*",),)) -> Classes:
    """Return classes of so many records; `values` holds per attribute one value, or one for each class."""
    count = len(sizes)
    columns = [list(column) * count if len(column) == 1 else list(column) for column in values]
    numbers = np.array(sizes, np.int64)
    bounds = np.zeros((len(columns), count), np.int32)
    return Classes(bounds, bounds, columns, numbers, numbers, np.full((len(columns), count), 0.5))
