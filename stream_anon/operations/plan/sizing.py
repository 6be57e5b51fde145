"""How many workers a stream needs, and how much memory each: from what one worker was measured to take.

The measurements are those of docs/guides/operations.md, "Sizing"; a test compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

KB, MB = 1_000, 1_000_000
# Microseconds a record by window: of 1 KB, and for each further KB. That of 100,000 is taken from 10,000.
_COST = {1_000: (17.2, 2.72), 10_000: (8.85, 1.54), 100_000: (11.6, 1.54)}
_BUSY = 0.7  # share of a worker's time that is planned: the rest is for catching up after a takeover
# For records of which almost all is published: a worker keeps it until its window is committed.
_EMPTY_MB = 425  # with the shortest records
_MB_A_KB = 13  # for each KB of a record: what is fetched ahead
_WINDOWS = 3.0  # times the bytes of a window: one fills, one closes, and what is written of it
_STEP_MB = 50


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a stream needs at one size of window.

    Parameters
    ----------
    max_records
        Of a window.
    workers
        How many.
    memory
        Megabytes of each.
    """

    max_records: int
    workers: int
    memory: int


def sizing(rate: float, record_bytes: float, max_records: int) -> Sizing:
    """Return how many workers `rate` records a second need, and how much memory each.

    Parameters
    ----------
    record_bytes
        Mean length of a record in the input.
    """
    memory = _EMPTY_MB + _MB_A_KB * record_bytes / KB + _WINDOWS * max_records * record_bytes / MB
    workers = math.ceil(rate / (_BUSY * capacity(record_bytes, max_records)))
    return Sizing(max_records, max(workers, 1), math.ceil(memory / _STEP_MB) * _STEP_MB)


def capacity(record_bytes: float, max_records: int) -> float:
    """Return how many records a second one worker takes when it is always busy.

    Between two measured windows the slower one counts. A window smaller than all of them is assumed to take as long
    as the smallest.
    """
    further = max(record_bytes / KB - 1, 0.0)
    costs = {window: first + further * more for window, (first, more) in _COST.items()}
    least, most = min(costs), max(costs)
    if max_records < least:
        cost = costs[least] * least / max_records
    else:
        within = min(max_records, most)
        below, above = max(w for w in costs if w <= within), min(w for w in costs if w >= within)
        cost = max(costs[below], costs[above])
    return 1e6 / cost
