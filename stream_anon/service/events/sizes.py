"""What is learned about the size of windows, where the policy names a target of loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stream_anon.ports.log_lines import LogLine, Said
from stream_anon.service.events.event import Event


@dataclass(frozen=True, slots=True)
class SizesLearned(Event):
    """How many records windows need for the target of loss, learned from windows that were published.

    Parameters
    ----------
    needed
        For the target, whatever the bounds.
    by_delay
        That come within max_delay, at the rate of the window that was published last.
    in_use
        At which windows close that open from now on.
    before
        At which those closed that opened until now.
    """

    needed: int
    by_delay: int
    in_use: int
    before: int

    @property
    def out_of_reach(self) -> bool:
        """Return whether fewer records come within max_delay than the target needs."""
        return self.by_delay < self.needed

    def _lines(self) -> Iterator[Said]:
        if self.in_use != self.before:
            yield LogLine.SIZE_LEARNED.said(
                records=self.in_use, before=self.before, needed=self.needed, by_delay=self.by_delay
            )


@dataclass(frozen=True, slots=True)
class WindowStudied(Event):
    """A half and a quarter of a published window were closed, to learn what smaller windows lose.

    Parameters
    ----------
    seconds
        How long it took.
    broke_off
        Whether it broke off, which is a bug.
    """

    seconds: float
    broke_off: bool = False

    def _lines(self) -> Iterator[Said]:
        if self.broke_off:
            yield LogLine.SIZE_UNSTUDIED.said()
