"""What happens to a worker, as values. Each carries what is logged of it; metrics and the status page hear of it.

No event carries a person's value: only counts, places (topic, partition, offset), times and names of steps. Times
named `at` and in `arrivals` are seconds on the service's monotonic clock (`Clock.monotonic`), times named `wall`
are seconds since the epoch. Listeners are called in the worker's event loop, in order; they must be quick and must
not raise.
"""

from __future__ import annotations

from collections.abc import Callable

from stream_anon.service.events.brokers import (
    Away,
    BrokerAway,
    BrokerBack,
    CertificatesRead,
    CountsBegun,
    CountsPassedOver,
    LedgerCreated,
    LedgerHeld,
    Outcome,
    PeopleScattered,
    SchemaSeen,
    SchemasUnknown,
    Throttle,
    Throttled,
    TransactionBroken,
    TransactionEnded,
)
from stream_anon.service.events.event import Event
from stream_anon.service.events.life import (
    ClockSet,
    KernelsCompiled,
    KernelsCompiling,
    OrderAdopted,
    ReadinessChanged,
    ReadingSlowly,
    ReleaseExpired,
    WorkerStarted,
    WorkerStopped,
    WorkerStopping,
)
from stream_anon.service.events.partitions import (
    GroupPacked,
    GroupSeen,
    InputSkipped,
    PartitionsRevoked,
    PartitionStopped,
    ReadingFault,
    ReadingOrdered,
    RecordsConsumed,
    StandingBy,
    Superseded,
    TakeoverDone,
    TakeoverStarted,
)
from stream_anon.service.events.sizes import SizesLearned, WindowStudied
from stream_anon.service.events.windows import (
    Durations,
    Readings,
    WindowAbandoned,
    WindowAudited,
    WindowMeasured,
    WindowProgress,
    WindowPublished,
    WindowsBounded,
    WindowWithheld,
)

Listener = Callable[[Event], None]

__all__ = [
    "Away",
    "BrokerAway",
    "BrokerBack",
    "CertificatesRead",
    "ClockSet",
    "CountsBegun",
    "CountsPassedOver",
    "Durations",
    "Event",
    "GroupPacked",
    "GroupSeen",
    "InputSkipped",
    "KernelsCompiled",
    "KernelsCompiling",
    "LedgerCreated",
    "LedgerHeld",
    "Listener",
    "OrderAdopted",
    "Outcome",
    "PartitionStopped",
    "PartitionsRevoked",
    "PeopleScattered",
    "ReadinessChanged",
    "ReadingFault",
    "ReadingOrdered",
    "ReadingSlowly",
    "Readings",
    "RecordsConsumed",
    "ReleaseExpired",
    "SchemaSeen",
    "SchemasUnknown",
    "SizesLearned",
    "StandingBy",
    "Superseded",
    "TakeoverDone",
    "TakeoverStarted",
    "Throttle",
    "Throttled",
    "TransactionBroken",
    "TransactionEnded",
    "WindowAbandoned",
    "WindowAudited",
    "WindowMeasured",
    "WindowProgress",
    "WindowPublished",
    "WindowStudied",
    "WindowWithheld",
    "WindowsBounded",
    "WorkerStarted",
    "WorkerStopped",
    "WorkerStopping",
]
