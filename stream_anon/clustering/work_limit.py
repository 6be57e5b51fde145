"""How much work a stage may do on a window, in rows that it looks at: the same on every machine."""

from __future__ import annotations

from stream_anon.clustering.rules import LEFT, Rules
from stream_anon.compiled import bare_inlined

_ROWS_FREE = 100_000  # about a second for REPAIR


def allow(rules: Rules, looks: int, rows: int) -> None:
    """Let a stage look at `looks` rows for each row of its window from here on, and at more in a small window.

    Counting rows is what takes the time where classes are large or hardly ever legal, and it is the same count
    whatever the machine: a window is partitioned in the same way everywhere. A small one is soon closed whatever
    its values are; where it is large, time must not grow faster than the rows do.
    """
    rules.notes[LEFT] = looks * (rows + _ROWS_FREE)


def left_of(rules: Rules) -> int:
    """Return how many rows may still be looked at, less than 0 where it was stopped for that; not for kernels."""
    return int(rules.notes[LEFT])


@bare_inlined
def spend(rules: Rules, rows: int) -> None:
    """Count rows that were looked at."""
    rules.notes[LEFT] -= rows


@bare_inlined
def is_spent(rules: Rules) -> bool:
    """Return whether more rows were looked at than were allowed; False where no limit was set."""
    return bool(rules.notes[LEFT] < 0)
