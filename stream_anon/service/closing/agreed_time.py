"""Publish no window after the day up to which the policy states its release.

A start asks for that day too. A service runs for months, so it is asked again before each attempt at a publication.
What is not published then waits in the input, and the next start, under a policy of a later day, reads it again.
"""

from __future__ import annotations

from collections.abc import Collection

from stream_anon.conditions import Condition
from stream_anon.errors import Refused
from stream_anon.judging.validity import raise_if_expired
from stream_anon.microdata.output.statement import Statement
from stream_anon.ports import Clock
from stream_anon.service.events import Listener, ReleaseExpired


class AgreedTime:
    """Knows until when windows may be published.

    Parameters
    ----------
    accepted
        Conditions that somebody has accepted.
    tell
        Hears once that the time is over.
    """

    def __init__(self, statement: Statement, accepted: Collection[Condition], clock: Clock, tell: Listener) -> None:
        self._statement, self._accepted, self._clock, self._tell = statement, accepted, clock, tell
        self._told = False

    def judge(self) -> None:
        """Return if a window may be published now.

        Raises
        ------
        Refused
            If the time is over, and nobody has accepted that. The worker ends, and nothing is published.
        """
        try:
            raise_if_expired(self._statement, self._clock.wall(), self._accepted)
        except Refused:
            if not self._told:
                self._tell(ReleaseExpired(str(self._statement.valid_until)))
            self._told = True
            raise
