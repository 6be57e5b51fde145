"""Put records through the engine as if they arrived at given times, with a clock that only these times move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream_anon.engine.engine import Engine
from stream_anon.engine.sealed_window import SealedWindow
from stream_anon.microdata.batch import CodedBatch

_MOST_CHUNK = 2048  # rows that are handed to the engine at once

Closed = tuple[SealedWindow, float]
"""A window, and when it closed."""


def replayed(engine: Engine, batch: CodedBatch, times: NDArray[np.float64]) -> Iterator[Closed]:
    """Yield the windows that rows fill which arrive at `times`, each when it is full or due.

    Afterwards the engine holds the rows of the window that the end of the rows cut off, if there is one.

    Parameters
    ----------
    engine
        With source 0 open.
    batch
        Rows of source 0 with ascending offsets.
    times
        float64[n], ascending seconds, of each row.
    """
    row = 0
    while row < len(batch):
        now = float(times[row])
        deadline = engine.deadline
        if deadline is not None and deadline <= now:
            due = engine.tick(deadline)
            if due is not None:
                yield due, deadline
                continue
        # As far as the deadline reaches, and no farther than the window has room. A window's first row goes alone,
        # since it sets the deadline.
        end = row + 1 if deadline is None else int(np.searchsorted(times, deadline))
        end = min(max(end, row + 1), row + min(max(engine.space, 1), _MOST_CHUNK), len(batch))
        now = float(times[end - 1])
        for window in engine.add(batch.take(np.arange(row, end)), now):
            yield window, now
        row = end
