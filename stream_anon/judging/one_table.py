"""The policy of a file or a frame that is one window."""

from __future__ import annotations

from dataclasses import replace

from stream_anon.microdata.choices.window_limits import MOST_RECORDS
from stream_anon.microdata.policy import Policy

_A_DAY = 86_400.0


def whole(policy: Policy) -> Policy:
    """Return a policy under which a file is one window."""
    return replace(policy, window=replace(policy.window, max_records=MOST_RECORDS, max_delay=_A_DAY, auto=False))


def becomes_one(policy: Policy) -> bool:
    """Return whether a policy's engine takes a file as one table; k-forest takes few records at once."""
    return policy.method is None and policy.engine.name != "k-forest"
