"""What happens between the worker and its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Away(StrEnum):
    """What the worker was doing when the broker could not be reached."""

    STARTING = "starting"
    CONSUMING = "consuming"
    TAKING_OVER = "taking-over"
    PUBLISHING = "publishing"


@dataclass(frozen=True, slots=True)
class BrokerAway:
    """The broker cannot be reached, does not answer or refuses; it will be tried again.

    Sent once until `BrokerBack`, and now and then with `again` where the cause has changed.
    """

    doing: Away
    error: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class BrokerBack:
    """The broker answers again.

    Parameters
    ----------
    seconds
        How long it was away.
    attempts
        How often it was tried.
    """

    doing: Away
    seconds: float
    attempts: int


class Throttle(StrEnum):
    """Who holds a worker back."""

    BROKER = "broker"  # a quota of the brokers on this client or user
    PROCESSOR = "processor"  # a limit on the processor time of the pod or service


LEAST_THROTTLED = 1.0
"""Seconds within a minute; less is counted and not worth a word."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A worker was held back; sums up about a minute.

    Parameters
    ----------
    seconds
        By brokers: added up over connections. By the system: added up over processors, of all processes of the pod.
    within
        Seconds that are summed up.
    """

    by: Throttle
    seconds: float
    within: float


@dataclass(frozen=True, slots=True)
class LedgerHeld:
    """A transaction is open on the ledger, or no longer: what lies behind it nobody can read, nor publish after it.

    Parameters
    ----------
    seconds
        How long the ledger has stood at the same one; 0 where it does not any more.
    warns
        Whether an operator should be told now: it is open for longer than any worker's is. Now and then again.
    """

    topic: str
    seconds: float
    warns: bool


@dataclass(frozen=True, slots=True)
class CertificatesRead:
    """The files that secure the connection were looked at.

    Parameters
    ----------
    ends
        When each certificate ends, in seconds since the epoch, by its key in `kafka.security`.
    soon
        Keys of those that end within two weeks, or have ended.
    wall
        When that was looked at.
    """

    ends: Mapping[str, float]
    soon: tuple[str, ...]
    wall: float


@dataclass(frozen=True, slots=True)
class LedgerCreated:
    """The ledger was missing and has been made, as on a first run; or it was lost."""

    topic: str
