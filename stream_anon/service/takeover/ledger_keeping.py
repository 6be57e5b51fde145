"""Keep the ledger open, and create it again if somebody has deleted it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stream_anon.errors import LedgerMissing
from stream_anon.ports import ReleaseLedger
from stream_anon.service.events import Away, LedgerCreated, Listener
from stream_anon.service.retrying import Reachability


@dataclass(kw_only=True)
class LedgerKeeper:
    """Creates the ledger if it is missing, at the start and later, and tells of it.

    Parameters
    ----------
    prepare
        Creates the ledger if it is missing, and returns its name then; raises if the ledger is not as it must be.
    made
        Whether this worker created the ledger and has not taken over since.
    """

    ledger: ReleaseLedger
    prepare: Callable[[], Awaitable[str | None]]
    tell: Listener
    reachability: Reachability
    made: bool = False

    async def make(self) -> None:
        """Create the ledger if it is missing. Raises BrokerError."""
        name = await self.prepare()
        if name is not None:
            self.made = True
            self.tell(LedgerCreated(name))

    async def open(self, doing: Away) -> None:
        """Follow the ledger; if it was deleted, tell so and create it first. Raises BrokerError.

        Parameters
        ----------
        doing
            The activity that waits for the ledger; the caller tells when that is done.
        """
        try:
            await self.ledger.open()
        except LedgerMissing as error:
            self.reachability.failed(doing, error)
            await self.make()
            await self.ledger.open()
