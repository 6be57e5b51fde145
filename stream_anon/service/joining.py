"""Stay a member of the group: join anew when the client has died or polls keep failing."""

from __future__ import annotations

from stream_anon.errors import BrokerError
from stream_anon.ports import DeadClient, Source
from stream_anon.service.events import Away
from stream_anon.service.retrying import Patience, Reachability

POLLS_THAT_MAY_FAIL = 5
DISCONNECT_WITHIN = 1.0  # seconds for a polite end, before connections are cut


class Joining:
    """Answers errors of the source.

    Parameters
    ----------
    patience
        Of the worker: its pauses grow with every failure in a row.
    """

    def __init__(self, source: Source, reachability: Reachability, patience: Patience) -> None:
        self._source = source
        self._reachability = reachability
        self._patience = patience
        self._failed_polls = 0

    async def poll_failed(self, error: BrokerError) -> None:
        """Pause, or join anew after too many failures in a row."""
        self._failed_polls += 1
        if isinstance(error, DeadClient) or self._failed_polls > POLLS_THAT_MAY_FAIL:
            await self._rejoin(error)
        else:
            await self._pause(Away.CONSUMING, error)

    def polled(self) -> None:
        """Note that records have come."""
        self._failed_polls = 0
        self._patience.relax()

    async def wait(self, marks: int, within: float) -> None:
        """Wait until the group has moved on from `marks`, or for so many seconds."""
        try:
            await self._source.moved(marks, within)
        except DeadClient as error:
            await self._rejoin(error)
        except BrokerError as error:
            await self._pause(Away.TAKING_OVER, error)

    async def _pause(self, doing: Away, error: BrokerError) -> None:
        self._reachability.failed(doing, error)
        await self._patience.pause()

    async def _rejoin(self, error: BrokerError) -> None:
        """Throw the consumer away and join the group anew."""
        self._failed_polls = 0
        self._reachability.failed(Away.CONSUMING, error)
        await self._source.stop(DISCONNECT_WITHIN)
        # Only polls show whether it gets records, so joining alone does not end the absence.
        await self._patience.persist(Away.CONSUMING, self._source.start, settles=False)
