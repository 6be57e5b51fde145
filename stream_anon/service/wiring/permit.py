"""What a worker asks before it starts; whether it may is for `operations.starting` to say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stream_anon.adapters.kafka.client.connection import Connection
from stream_anon.microdata.policy import Policy
from stream_anon.settings.model import Settings
from stream_anon.windowing.loss_law import WindowLoss


@dataclass(frozen=True, slots=True)
class Permit:
    """What is known once a worker may start.

    Parameters
    ----------
    revision
        Of the policy under which the output was published last; 0 if nothing was, or if it may not be read.
    unsampled
        Published attributes that must have a value before the first window goes out, since no record of the input
        could tell yet whether they come.
    last
        Records of the window that was published last and their loss, if it was published under this policy.
    """

    revision: int = 0
    unsampled: frozenset[str] = frozenset()
    last: WindowLoss | None = None


AskPermit = Callable[[Connection, Settings, Policy], Awaitable[Permit]]
"""Returns whether a worker may start, or raises; see `operations.starting.permission`."""
