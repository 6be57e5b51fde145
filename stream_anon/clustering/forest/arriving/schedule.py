"""When the open forest is laid as a line, and whether classes are formed on it: arithmetic on row counts.

::

    0 rows                             mark        expected
    ├──────────────────────────────────┤·····late·····┤
      join the forest when it is laid     join line or classes

Late rows are at least as many as arrive while the forest is laid, and never fewer than one poll. A mark is a number
of rows: how these were cut into batches has no part in it. Where the end of the window is not
known, the line is laid anew each time the window has grown by a fifth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stream_anon.clustering.partitioning import Outlook

LATE = 0.03
MOST_LATE_IN_LINE = 0.05  # lose 0.5 %, 10 % lose 1 to 1.5 %
MOST_LATE_IN_CLASSES = 0.04  # lose nothing, 5 % lose 1 %
MOST_LATE = 0.1  # if more came than was expected; beyond, what was prepared is thrown away
GROWTH = 1.2
ANEW = 1.1  # a later mark is worth its work
BLOCK = 0.01
LEAST_CLASSES = 4  # fewer are formed at once when the window closes

# Rows of 8 attributes that one core of a small machine lays, or forms classes of, in a second.
LINE_SPEED = 800_000
CLASSES_SPEED = 270_000


class Mark(NamedTuple):
    """What is prepared of the first rows of a window.

    Parameters
    ----------
    rows
        How many of them; later ones are late.
    classes
        Whether classes are formed too, not only a line.
    expected
        Rows that the window was expected to hold.
    block
        Rows that join the classes together.
    most_late
        The largest part of the window that may be late at its end.
    """

    rows: int
    classes: bool
    expected: int
    block: int
    most_late: float

    def block_end(self, reached: int) -> int:
        """Return where the block ends that begins after so many rows: blocks end with the expected rows."""
        return reached + 1 + (self.expected - reached - 1) % self.block

    def blocks_after(self, reached: int) -> int:
        """Return how many blocks are expected to follow after so many rows."""
        return max(self.expected - reached, 0) // self.block


def next_mark(outlook: Outlook, held: int, k: int, rounds: int = 1, *, sizes_decide: bool) -> Mark | None:
    """Return the mark that a window has passed, None if there is none.

    Parameters
    ----------
    outlook
        How near the end is.
    held
        Rows in the window.
    k
        Least size of a class.
    rounds
        Of REFINE: more take longer.
    sizes_decide
        Whether classes may be formed: every row is a person's own, and k the only criterion.
    """
    least = LEAST_CLASSES * k
    if math.isinf(outlook.rate) or held < least:
        return None
    if outlook.expected is None:
        rows = least
        while math.ceil(GROWTH * rows) <= held:
            rows = math.ceil(GROWTH * rows)
        return Mark(rows, classes=False, expected=rows, block=1, most_late=GROWTH - 1)
    for classes, speed, most in (
        (True, CLASSES_SPEED / rounds**1.5, MOST_LATE_IN_CLASSES),
        (False, LINE_SPEED, MOST_LATE_IN_LINE),
    ):
        late = max(math.ceil(max(LATE, outlook.rate / speed) * outlook.expected), outlook.at_once)
        if late <= max(most * outlook.expected, 1):
            rows = outlook.expected - late
            block = max(1, int(BLOCK * outlook.expected))
            # Where classes will not do, the line is laid at their mark: who comes later has no part in that.
            mark = Mark(rows, classes and sizes_decide, outlook.expected, block, MOST_LATE)
            return mark if least <= rows <= held else None
    return None
