"""What happens to a worker, as values. Metrics, logs and the status page are reactions to these.

No event carries a person's value: only counts, places (topic, partition, offset), times and names of steps. Times
named `at` and in `arrivals` are seconds on the service's monotonic clock (`Clock.monotonic`), times named `wall`
are seconds since the epoch. Listeners are called in the worker's event loop, in order; they must be quick and must
not raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import Classes

Place = tuple[str, int]
"""A topic and a partition."""


class Outcome(StrEnum):
    """How a transaction ended."""

    COMMITTED = "committed"
    REPEATED = "repeated"  # it broke off, nothing had become visible, the same bytes were committed again
    FOUND_COMMITTED = "found-committed"  # it broke off, and the ledger says that it had been committed
    FENCED = "fenced"  # another worker owns the partitions: nothing became visible
    LOST = "lost"  # it broke off, and somebody else went on: a takeover follows
    REFUSED = "refused"  # the output does not take a record: nothing became visible, a takeover reads it again


class Away(StrEnum):
    """What the worker was doing when the broker could not be reached."""

    STARTING = "starting"
    CONSUMING = "consuming"
    TAKING_OVER = "taking-over"
    PUBLISHING = "publishing"


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """The worker begins; it is not ready yet.

    Parameters
    ----------
    max_delay
        Seconds, as the policy says.
    attributes
        Names of the quasi-identifiers, in the policy's order.
    holds
        Whether a window with too few people waits beyond max_delay.
    declared
        Names of all attributes, in the policy's order.
    asked
        What the policy asks of every class, in words.
    published
        Names of all attributes that are published.
    accept_missing
        Those of them of which the policy says that they may be absent.
    revision
        `privacy.revision`.
    """

    software: str
    policy: str
    group: str
    topic: str
    output: str
    delivery: str
    engine: str
    k: int
    max_delay: float
    max_records: int
    attributes: tuple[str, ...] = ()
    holds: bool = False
    declared: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    accept_missing: tuple[str, ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ReadingSlowly:
    """The policy lets every record be read one by one.

    Parameters
    ----------
    attributes
        Names of those for whose sake.
    """

    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadinessChanged:
    """The worker became ready (member of the group, no broker away, no takeover pending), or ceased to be."""

    ready: bool
    reason: str = ""


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


@dataclass(frozen=True, slots=True)
class OrderAdopted:
    """The engine's learned order changed; the window that opens is the first along it.

    Parameters
    ----------
    gain
        Share of the loss that the order alone saves against the one before.
    drifted
        Whether the one before had aged: its loss had grown against the built-in order's.
    """

    version: int
    gain: float
    drifted: bool


@dataclass(frozen=True, slots=True)
class PartitionsRevoked:
    """The group took partitions away.

    Parameters
    ----------
    dropped
        Rows of the open window that left it; their next owner reads them again.
    owned
        Partitions this worker still has.
    """

    places: tuple[Place, ...]
    dropped: int
    owned: int


@dataclass(frozen=True, slots=True)
class TakeoverStarted:
    """The group gave partitions; records of them are not taken before `TakeoverDone`."""

    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class TakeoverDone:
    """Partitions are open.

    Parameters
    ----------
    starts
        (topic, partition, first offset that will be taken).
    kept
        Partitions whose rows of the open window stayed.
    dropped
        Rows of the open window that left it.
    skipped
        Partitions whose committed offset lies beyond the ledger: somebody chose to skip.
    from_ledger
        Partitions whose committed offset was missing and that go on from the ledger.
    owned
        Partitions this worker has now.
    unprotected
        Partitions with a committed offset of which the ledger knows nothing: had the offset been set back, nobody
        would see it.
    """

    starts: tuple[tuple[str, int, int], ...]
    generation: int
    kept: int
    dropped: int
    read_again: int
    skipped: tuple[Place, ...]
    from_ledger: tuple[Place, ...]
    owned: int
    attempts: int
    seconds: float
    unprotected: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class StandingBy:
    """The group has no partition left for this worker: it waits for another one to fail. Sent once until it has."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """The output has been published under a higher revision of the policy. Sent once until that is another one.

    The worker stays a member of the group and reads nothing; workers of the newer policy go on.

    Parameters
    ----------
    by, own
        The two revisions.
    partitions
        How many partitions the worker owns and does not read.
    """

    by: int
    own: int
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionStopped:
    """A partition is owned but not read: its offsets contradict the ledger, or its input is lost or damaged."""

    place: Place
    reason: str  # one of `prometheus.families.STOPS`
    explanation: str


@dataclass(frozen=True, slots=True)
class ReadingOrdered:
    """An operator paused the reading, or let it go on; the open window keeps its deadline."""

    paused: bool


@dataclass(frozen=True, slots=True)
class InputSkipped:
    """Records were deleted unread, or cannot be read, and the settings say to go on (`lost_input: skip`)."""

    place: Place
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RecordsConsumed:
    """A poll brought records, rejected ones included.

    Parameters
    ----------
    decoding, adding
        Seconds that it took to decode them, and to put them into the window.
    singly
        How many of them were read one by one, rejected ones among them.
    """

    records: int
    decoding: float = 0.0
    adding: float = 0.0
    singly: int = 0


@dataclass(frozen=True, slots=True)
class WindowProgress:
    """The state of the open window, after each poll and at least once a second.

    Parameters
    ----------
    opened
        When its oldest record arrived; None while it is empty.
    closing
        Whether a window is being closed and published meanwhile.
    paused
        Whether polling waits for that window.
    lag
        Records of the owned partitions that are not yet read, of stopped ones too; None where it is not known.
    stopped
        Owned partitions that are not read: they need an operator.
    left
        Owned partitions that are left to workers of a newer policy.
    held, held_seconds
        Records behind open transactions on the input, and how long a partition has stood at one.
    """

    records: int
    opened: float | None
    at: float
    closing: bool
    paused: bool
    lag: int | None
    stopped: int = 0
    left: int = 0
    held: int = 0
    held_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that the stages of one closing took."""

    release: float  # partition, generalization and gate
    encode: float
    publish: float  # begin to commit, repeated attempts included
    commit: float  # offsets, fence and commit of the last attempt
    gate: float = 0.0  # part of `release`, where the engine tells it


@dataclass(frozen=True, slots=True, eq=False)
class WindowPublished:
    """A window is out: its transaction is committed.

    Parameters
    ----------
    batch
        The random id that the header of its records names.
    ranges
        (topic, partition, start, end).
    suppressed, rejected
        Records by reason.
    faults
        Rejected records by reason and the number of the attribute at fault, which is negative where none is.
    classes
        The published classes.
    achieved_k
        Least number of individuals in a class; None if there is no class.
    arrivals
        (seconds on the service's clock, records) for the delay: `at` minus each.
    broker_times
        float64[n], seconds since the epoch at which the input topic got each record: `wall` minus each is the
        end-to-end delay.
    outcome
        How the transaction ended; `Outcome.FOUND_COMMITTED` included.
    missing
        Released and suppressed records without a value, by attribute.
    """

    batch: str
    ranges: tuple[tuple[str, int, int, int], ...]
    records_in: int
    released: int
    suppressed: Mapping[str, int]
    rejected: Mapping[str, int]
    classes: Classes
    achieved_k: int | None
    achieved_l: Mapping[str, int]
    gcp: float | None
    gate_violations: int
    arrivals: tuple[tuple[float, int], ...]
    broker_times: NDArray[np.float64] = field(repr=False)
    opened_at: float
    closed_at: float
    at: float
    wall: float
    durations: Durations
    outcome: Outcome
    faults: Mapping[tuple[str, int], int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Return int64[c], the records of each published class."""
        return self.classes.records


@dataclass(frozen=True, slots=True)
class WindowAudited:
    """A published window was audited again, from the very bytes that were sent.

    Parameters
    ----------
    result
        `passed`, `failed`, or `skipped` where auditing it would have taken more than its share of the time.
    violations
        What was found, in words that name no value.
    seconds
        How long it took; None where it was skipped.
    """

    batch: str
    result: str
    violations: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WindowAbandoned:
    """A window is dropped unpublished; the next owner of its partitions reads its records again."""

    records: int
    reason: str  # "stopping" | "fenced" | "lost" | "refused" | "failed"


@dataclass(frozen=True, slots=True)
class WindowWithheld:
    """The first window of a policy is not published, since a declared field has come in no record; the worker ends.

    Parameters
    ----------
    attributes
        Those of which no record of the window has a value.
    """

    records: int
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransactionBroken:
    """A transaction broke off; the producer is thrown away; ledger and stable offsets decide.

    Parameters
    ----------
    step
        Name of the step of `service/closing/steps.py`.
    error
        The step and kind of the failure in our own words, or the name of its type; no library's message.
    """

    step: str
    error: str


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """The outcome of a transaction is known."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class KernelsCompiling:
    """No cache holds the kernels of this policy: they are compiled before the worker joins the group."""


@dataclass(frozen=True, slots=True)
class KernelsCompiled:
    """They are compiled, and kept where a cache can be written."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """SIGTERM or SIGINT arrived, or a fault that a restart must cure."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerStopped:
    """The worker has left the group and closed its connections."""

    seconds: float


Event = (
    WorkerStarted
    | KernelsCompiling
    | KernelsCompiled
    | ReadinessChanged
    | BrokerAway
    | BrokerBack
    | CertificatesRead
    | Throttled
    | LedgerHeld
    | LedgerCreated
    | OrderAdopted
    | PartitionsRevoked
    | TakeoverStarted
    | TakeoverDone
    | StandingBy
    | Superseded
    | PartitionStopped
    | ReadingOrdered
    | InputSkipped
    | ReadingSlowly
    | RecordsConsumed
    | WindowProgress
    | WindowPublished
    | WindowAudited
    | WindowAbandoned
    | WindowWithheld
    | TransactionBroken
    | TransactionEnded
    | WorkerStopping
    | WorkerStopped
)
Listener = Callable[[Event], None]
