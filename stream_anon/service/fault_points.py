"""Fail on purpose between two steps of a closing or a takeover, so that tests can show that nothing is lost.

The place is a setting, `kafka.fault`, which only `kafka.development: true` allows: `closing.9:kill` kills the
process before step 9 of its first closing, `takeover.6:stop@3` stops it (SIGSTOP) before step 6 of its third
takeover, `closing.5:fail` raises there.
"""

from __future__ import annotations

import os
import re
import signal

from stream_anon.errors import BrokerError
from stream_anon.ports import At


async def nowhere(step: str) -> None:
    """Break nowhere."""


def fault_at(place: str) -> At:
    """Return the hook that breaks at `place`, once; see the module's text for its form."""
    if not place:
        return nowhere
    match = re.fullmatch(r"((?:closing|takeover)\.\d+):(kill|stop|fail)(?:@(\d+))?", place)
    if match is None:
        raise ValueError("not a place to break at")
    wanted, how, left = match[1], match[2], int(match[3] or 1)

    async def break_there(step: str) -> None:
        nonlocal left
        if step != wanted:
            return
        left -= 1
        if left == 0:
            _break(how)

    return break_there


def _break(how: str) -> None:
    if how == "fail":
        raise BrokerError("broken on purpose")
    os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)
