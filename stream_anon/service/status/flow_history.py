"""How many records were read and released in each of the last seconds, for a page that is loaded anew."""

from __future__ import annotations

from collections import deque

SECONDS = 60


class FlowHistory:
    """Count records by second, for the last `SECONDS` of them."""

    def __init__(self) -> None:
        self._counts: deque[list[int]] = deque(maxlen=SECONDS + 1)  # second, read, released; the newest is last

    def add(self, now: float, read: int, released: int) -> None:
        """Count records at `now`, in seconds; time does not run backwards."""
        second = int(now)
        if not self._counts or self._counts[-1][0] < second:
            self._counts.append([second, 0, 0])
        self._counts[-1][1] += read
        self._counts[-1][2] += released

    def view(self, now: float) -> dict[str, list[int]]:
        """Return the records of each second that has ended, the newest last."""
        read, released = [0] * SECONDS, [0] * SECONDS
        for second, each_read, each_released in self._counts:
            place = second - int(now) + SECONDS
            if 0 <= place < SECONDS:
                read[place], released[place] = each_read, each_released
        return {"read": read, "released": released}
