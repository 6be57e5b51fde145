"""What happens between the worker and its brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from stream_anon.errors import Cause
from stream_anon.ports.log_lines import LogLine, Said
from stream_anon.ports.schema_news import SchemaChange, UnknownSchemas
from stream_anon.service.events.event import Event


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
class BrokerAway(Event):
    """The broker cannot be reached, does not answer or refuses; it will be tried again.

    Sent once until `BrokerBack`, and now and then with `again` if the error has changed.
    """

    doing: Away
    error: str
    cause: Cause = Cause.BROKER
    again: bool = False

    def _lines(self) -> Iterator[Said]:
        yield LogLine.BROKER_AWAY.said(doing=self.doing, error=self.error)


@dataclass(frozen=True, slots=True)
class BrokerBack(Event):
    """The broker answers again.

    Parameters
    ----------
    seconds
        How long it was away.
    attempts
        How often it was tried.
    """

    line = LogLine.BROKER_BACK

    doing: Away
    seconds: float
    attempts: int


class Throttle(StrEnum):
    """What throttles a worker: the brokers or the processor limit."""

    BROKER = "broker"  # a quota of the brokers on this client or user
    PROCESSOR = "processor"  # a limit on the processor time of the pod or service

    @property
    def explanation(self) -> str:
        """Return what it means, for the log."""
        if self is Throttle.BROKER:
            return (
                "a quota of the brokers holds this client or user back (producer_byte_rate, consumer_byte_rate, "
                "request_percentage)"
            )
        return "the limit on processor time of the pod or service is used up within its periods"


LEAST_THROTTLED = 1.0
"""Seconds within a minute; less is counted but not logged."""


@dataclass(frozen=True, slots=True)
class Throttled(Event):
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

    def _lines(self) -> Iterator[Said]:
        if self.seconds >= LEAST_THROTTLED:
            yield LogLine.THROTTLED.said(
                by=self.by, seconds=self.seconds, within=self.within, explanation=self.by.explanation
            )


@dataclass(frozen=True, slots=True)
class LedgerHeld(Event):
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

    def _lines(self) -> Iterator[Said]:
        if self.warns:
            yield LogLine.LEDGER_HELD.said(
                topic=self.topic,
                seconds=self.seconds,
                explanation="a transaction is open there for longer than any worker's: windows of the same "
                "partitions are not published and takeovers wait until it ends",
            )


class Outcome(StrEnum):
    """How a transaction ended."""

    COMMITTED = "committed"
    REPEATED = "repeated"  # it broke and nothing had become visible; the same bytes were then committed
    FOUND_COMMITTED = "found-committed"  # it broke, but the ledger says that it had been committed
    FENCED = "fenced"  # another worker owns the partitions; nothing became visible
    LOST = "lost"  # it broke, and somebody else went on; a takeover follows
    REFUSED = "refused"  # the output refuses a record; nothing became visible, and a takeover reads it again


@dataclass(frozen=True, slots=True)
class TransactionBroken(Event):
    """A transaction broke. The producer is thrown away, and ledger and stable offsets decide how it ended.

    Parameters
    ----------
    step
        Name of the step of `service/closing/closing_steps.py`.
    error
        The failure in our own words, or the name of its type; never a library's message.
    windows
        How many it held. Where these are several and not out, they and many after them go out one by one.
    """

    line = LogLine.COMMIT_UNCERTAIN

    step: str
    error: str
    windows: int


@dataclass(frozen=True, slots=True)
class TransactionEnded(Event):
    """The outcome of a transaction is known."""

    outcome: Outcome

    def _lines(self) -> Iterator[Said]:
        if self.outcome is Outcome.FENCED:
            yield LogLine.COMMIT_FENCED.said()
        elif self.outcome is not Outcome.COMMITTED:
            yield LogLine.COMMIT_SETTLED.said(outcome=self.outcome)


@dataclass(frozen=True, slots=True)
class CertificatesRead(Event):
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

    def _lines(self) -> Iterator[Said]:
        for key in self.soon:
            yield LogLine.CERTIFICATE_ENDS.said(key=key, days=round((self.ends[key] - self.wall) / 86_400, 1))


@dataclass(frozen=True, slots=True)
class LedgerCreated(Event):
    """The ledger was missing and has been created. It was lost, unless this is a first run."""

    line = LogLine.LEDGER_CREATED

    topic: str


@dataclass(frozen=True, slots=True)
class CountsBegun(Event):
    """The topic that counts releases was missing and has been created: nobody counts as released before."""

    line = LogLine.COUNTS_BEGUN

    topic: str


@dataclass(frozen=True, slots=True)
class CountsPassedOver(Event):
    """Entries of the topic that counts releases are by another key: whom they name nobody knows."""

    line = LogLine.COUNTS_PASSED_OVER

    topic: str
    entries: int


@dataclass(frozen=True, slots=True)
class PeopleScattered(Event):
    """People of one window have records in several partitions, where releases are counted by partition."""

    line = LogLine.PEOPLE_SCATTERED

    people: int


@dataclass(frozen=True, slots=True)
class SchemaSeen(Event):
    """Records name a schema that tells something about declared fields; see `ports.schema_news.SchemaChange`."""

    change: SchemaChange

    def _lines(self) -> Iterator[Said]:
        changed = {kind: names for kind, names in self.change.fields.items() if names}
        yield LogLine.SCHEMA_CHANGED.said(schema=self.change.schema, readable=self.change.readable, **changed)


@dataclass(frozen=True, slots=True)
class SchemasUnknown(Event):
    """Records name schemas that the registry does not know; see `ports.schema_news.UnknownSchemas`."""

    unknown: UnknownSchemas

    def _lines(self) -> Iterator[Said]:
        told = self.unknown
        yield LogLine.SCHEMA_UNKNOWN.said(schemas=told.schemas, others=told.others, unasked=told.unasked)
