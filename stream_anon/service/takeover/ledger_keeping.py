"""Keep the ledger open, and make it anew where somebody has deleted it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stream_anon.errors import LedgerMissing
from stream_anon.ports import ReleaseLedger
from stream_anon.service.events import Away, LedgerCreated, Listener
from stream_anon.service.retrying import Reachability, describe


@dataclass(kw_only=True)
class LedgerKeeper:
    """Makes the ledger where it is missing, at the start and later, and tells of it.

    Parameters
    ----------
    prepare
        Makes the ledger where it is missing, and returns its name then; raises where it is not as it must be.
    made
        Whether this worker made the ledger and has not taken over since.
    """

    ledger: ReleaseLedger
    prepare: Callable[[], Awaitable[str | None]]
    tell: Listener
    reachability: Reachability
    made: bool = False

    async def make(self) -> None:
        """Make the ledger where it is missing. Raises BrokerError."""
        name = await self.prepare()
        if name is not None:
            self.made = True
            self.tell(LedgerCreated(name))

    async def open(self, doing: Away) -> None:
        """Follow the ledger; where it was deleted, say so and make it first. Raises BrokerError.

        Parameters
        ----------
        doing
            What waits for it; whoever asks says when that is done.
        """
        try:
            await self.ledger.open()
        except LedgerMissing as error:
            self.reachability.away(doing, describe(error))
            await self.make()
            await self.ledger.open()
