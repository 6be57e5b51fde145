"""Numbered steps: a procedure that protects data names each of its steps once, where it does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from stream_anon.errors import BrokerError, Cause

At = Callable[[str], Awaitable[None]]
"""Awaited before each numbered step with its name, such as `closing.9`."""


class Steps:
    """One run through the steps of a procedure.

    Parameters
    ----------
    procedure
        `takeover` or `closing`: the first part of a step's name.
    at
        Awaited with the name of each step before the step is done.
    monotonic
        Returns seconds.
    """

    def __init__(self, procedure: str, at: At, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self._procedure = procedure
        self._at = at
        self._monotonic = monotonic
        self._number = 0
        self._begun: dict[int, float] = {}

    @property
    def reached(self) -> str:
        """Return the name of the step that was begun last, such as `closing.9`."""
        return f"{self._procedure}.{self._number}"

    def since(self, number: int) -> float:
        """Return the seconds since a step was begun; 0 if it was not."""
        now = self._monotonic()
        return now - self._begun.get(number, now)

    @asynccontextmanager
    async def step(self, number: int, doing: str, within: float | None = None) -> AsyncIterator[None]:
        """Do a step: pass its fault point first, then do everything in the block.

        Parameters
        ----------
        number, doing
            The step, for errors and fault points.
        within
            Seconds that the block may take. None if it waits for nobody, or if each call has a deadline of its own.

        Raises
        ------
        BrokerError
            If the time runs out; the message names the step.
        """
        self._number = number
        await self._at(self.reached)
        self._begun[number] = self._monotonic()
        try:
            async with asyncio.timeout(within):
                yield
        except TimeoutError:
            if within is None:
                raise
            text = f"{self._procedure}, step {number} ({doing}): no answer in {within:g} s"
            raise BrokerError(text, Cause.UNREACHABLE) from None
