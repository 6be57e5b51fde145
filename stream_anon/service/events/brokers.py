"""What happens between the worker and its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from stream_anon.errors import Cause
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas


class Away(StrEnum):
    """What the worker was doing when the broker, or the schema registry, could not be reached."""

    STARTING = "starting"
    CONSUMING = "consuming"
    TAKING_OVER = "taking-over"
    PUBLISHING = "publishing"
    DATING = "dating"  # the broker refuses the times of our records
    ASKING_REGISTRY = "asking-registry"

    @property
    def whom(self) -> str:
        """Return who could not be reached, or refuses."""
        return "schema registry" if self is Away.ASKING_REGISTRY else "broker"

    @property
    def in_words(self) -> str:
        """Return why the worker is not ready."""
        if self is Away.DATING:
            return "broker refuses the times of records"
        return f"{self.whom} away while {self.value}"


@dataclass(frozen=True, slots=True)
class BrokerAway:
    """The broker cannot be reached, does not answer or refuses; it will be tried again.

    Sent once until `BrokerBack`, and now and then with `again` if the error has changed.
    """

    doing: Away
    error: str
    cause: Cause = Cause.BROKER
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
    """What throttles a worker: the brokers or the processor limit."""

    BROKER = "broker"  # a quota of the brokers on this client or user
    PROCESSOR = "processor"  # a limit on the processor time of the pod or service


LEAST_THROTTLED = 1.0
"""Seconds within a minute; less is counted but not logged."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A worker was held back; one event adds up about a minute.

    Parameters
    ----------
    seconds
        Throttling by brokers is added up over connections, throttling by the system over processors and all
        processes of the pod.
    within
        Seconds that the event covers.
    """

    by: Throttle
    seconds: float
    within: float


@dataclass(frozen=True, slots=True)
class LedgerHeld:
    """A transaction is open on the ledger, or no longer open. Nobody can read or publish behind it.

    Parameters
    ----------
    seconds
        How long the ledger has stood at the same transaction; 0 once it has ended.
    warns
        Whether to warn an operator now: the transaction is open for longer than a worker's can be. Repeated now and
        then.
    """

    topic: str
    seconds: float
    warns: bool


@dataclass(frozen=True, slots=True)
class CertificatesRead:
    """The certificates that secure connections were read.

    Parameters
    ----------
    ends
        When each certificate ends, in seconds since the epoch, by its key in the settings.
    soon
        Keys of those that end within two weeks, or have ended.
    wall
        When they were read.
    """

    ends: Mapping[str, float]
    soon: tuple[str, ...]
    wall: float


@dataclass(frozen=True, slots=True)
class LedgerCreated:
    """The ledger was missing and has been created. It was lost, unless this is a first run."""

    topic: str


@dataclass(frozen=True, slots=True)
class SchemaSeen:
    """Records name a schema that tells something about declared fields; see `ports.schema_news.SchemaChange`."""

    change: SchemaChange


@dataclass(frozen=True, slots=True)
class SchemasUnknown:
    """Records name schemas that the registry does not know; see `ports.schema_news.UnknownSchemas`."""

    unknown: UnknownSchemas
