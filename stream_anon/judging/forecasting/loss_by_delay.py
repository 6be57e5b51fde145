"""What a stream loses at its rate and its delay, and how much earlier it could publish, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stream_anon.microdata.policy import WindowLimits
from stream_anon.windowing.loss_law import LossLaw, WindowLoss

_STEP = 0.05  # where nobody names a loss, one of these above the stream's own is told
_FAR = 2  # times the largest window that was seen: beyond, the law is only a guess


@dataclass(frozen=True, slots=True)
class LossByDelay:
    """What to expect of one worker; losses are of the records that are published, without suppressed ones.

    Parameters
    ----------
    rate, max_delay
        Records a second, and the seconds that they may wait.
    records, loss
        Of a window that is as large as it may be.
    target, seconds
        A loss, and after how long a window that has it could be published.
    largest
        Records of the largest window that was tried.
    """

    rate: float
    max_delay: float
    records: int
    loss: float
    target: float
    seconds: float
    largest: int

    def __str__(self) -> str:
        guess = f" (a guess: the sample fills windows of {self.largest:,})" if self._far(self.records) else ""
        told = (
            f"at {self.rate:,.4g}/s and {self.max_delay:g} s: loss {self.loss:.2f} in windows of {self.records:,}"
        )
        if self.seconds <= self.max_delay:
            return f"{told}{guess}; at {self.target:.2f} you could publish after {_two_digits(self.seconds)} s"
        needed = f"{self.target:.2f} takes {_two_digits(self.seconds)} s"
        return f"{told}{guess}; {needed}" + (" (a guess too)" if self._far(self.seconds * self.rate) else "")

    def _far(self, records: float) -> bool:
        return records > _FAR * self.largest


def _two_digits(seconds: float) -> str:
    """Return a number with two digits that mean something, and never with an exponent."""
    return f"{float(f'{seconds:.2g}'):,.15g}"


def loss_by_delay(
    seen: Sequence[WindowLoss], rate: float, limits: WindowLimits, target: float | None = None
) -> LossByDelay | None:
    """Return what windows of some sizes tell about a rate and a delay; None where no window was seen.

    Parameters
    ----------
    target
        A loss that is asked about, above 0; else that of the limits, or the next twentieth above what is expected.
    """
    seen = [window for window in seen if window.records]
    if not seen or rate <= 0:
        return None
    law = LossLaw.fit(seen)
    records = max(1, min(round(rate * limits.max_delay), limits.max_records))
    loss = law.loss(records)
    asked = target or limits.target_loss or min(round((math.floor(loss / _STEP) + 1) * _STEP, 2), 1.0)
    seconds = law.records(asked) / rate
    return LossByDelay(rate, limits.max_delay, records, loss, asked, seconds, max(n for n, _ in seen))
