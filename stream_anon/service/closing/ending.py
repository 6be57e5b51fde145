"""How a transaction ended whose outcome its producer does not know."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from stream_anon.ports import Place
from stream_anon.service.events import Outcome


class Ending(Enum):
    """What the ledger and the stable offsets say about a broken transaction."""

    AT_START = "nothing became visible"
    AT_END = "all became visible"
    ELSEWHERE = "somebody else went on"

    @property
    def outcome(self) -> Outcome:
        """Return how a publication has ended that is not tried again."""
        return _OUTCOMES[self]


_OUTCOMES = {
    Ending.AT_START: Outcome.FENCED,  # the group has moved on, so the window is not sent again
    Ending.AT_END: Outcome.FOUND_COMMITTED,
    Ending.ELSEWHERE: Outcome.LOST,
}


def how_it_ended(
    starts: Mapping[Place, int], ends: Mapping[Place, int], stable: Mapping[Place, int | None], held: bool | None
) -> Ending:
    """Return how a transaction ended whose window covers `starts` to `ends`.

    Parameters
    ----------
    stable
        None means that nothing was ever committed, which counts as the start.
    held
        Whether the ledger holds an entry of this very window. Offsets at its end do not prove that it was
        committed: a successor's window may end there too. None without a ledger; then only the offsets can tell.
    """
    if held:
        return Ending.AT_END
    if all(stable[place] in (None, start) for place, start in starts.items()):
        return Ending.AT_START
    if held is None and all(stable[place] == end for place, end in ends.items()):
        return Ending.AT_END
    return Ending.ELSEWHERE
