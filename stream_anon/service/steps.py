"""Numbered steps: a procedure that protects data names each of its steps once, where it does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stream_anon.errors import BrokerError, Cause
from stream_anon.service.fault_points import At


class Steps:
    """One run through the steps of a procedure.

    Parameters
    ----------
    procedure
        `takeover` or `closing`: the first part of a step's name.
    at
        Awaited with the name of each step before the step is done.
    """

    def __init__(self, procedure: str, at: At) -> None:
        self._procedure = procedure
        self._at = at
        self._number = 0

    @property
    def reached(self) -> str:
        """Return the name of the step that was begun last, such as `closing.9`."""
        return f"{self._procedure}.{self._number}"

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
        try:
            async with asyncio.timeout(within):
                yield
        except TimeoutError:
            if within is None:
                raise
            text = f"{self._procedure}, step {number} ({doing}): no answer in {within:g} s"
            raise BrokerError(text, Cause.UNREACHABLE) from None
