"""What happens to a worker as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stream_anon.microdata.bounds import Shield
from stream_anon.ports.log_lines import LogLine, Said
from stream_anon.service.events.event import Event


@dataclass(frozen=True, slots=True)
class WorkerStarted(Event):
    """The worker starts; it is not ready yet.

    Parameters
    ----------
    max_delay
        Seconds, as the policy says.
    attributes
        Names of the quasi-identifiers, in the policy's order.
    holds
        Whether a window with too few people, or with too many records to suppress, waits for longer than max_delay.
    declared
        Names of all attributes, in the policy's order.
    asked
        The criteria that the policy sets for every class, in words.
    published
        Names of all attributes that are published.
    accept_missing
        Those published attributes that may be absent, as the policy says.
    revision
        `privacy.revision`.
    shields
        The shields of the policy, in its order.
    chosen
        Whether somebody has chosen `max_records`.
    target_loss
        The loss at which windows close before max_delay; None where the policy names none.
    release_ends
        When the release expires that the policy states, in seconds since the epoch; None if it does not.
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
    shields: tuple[Shield, ...] = ()
    chosen: bool = True
    target_loss: float | None = None
    release_ends: float | None = None

    def _lines(self) -> Iterator[Said]:
        yield LogLine.STARTED.said(
            software=self.software,
            policy=self.policy,
            revision=self.revision,
            group=self.group,
            input=self.topic,
            output=self.output,
            delivery=self.delivery,
            engine=self.engine,
            k=self.k,
            max_delay=self.max_delay,
            max_records=self.max_records,
        )
        if self.delivery == "at-least-once":
            yield LogLine.AT_LEAST_ONCE.said()
        elif self.delivery == "shadow":
            yield LogLine.SHADOW.said()


@dataclass(frozen=True, slots=True)
class ReadingSlowly(Event):
    """The policy makes the service read every record by itself, which is slow.

    Parameters
    ----------
    attributes
        Names of the attributes that are the reason.
    """

    line = LogLine.SLOW_READING

    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadinessChanged(Event):
    """The worker became ready (member of the group, no broker away, no takeover pending), or ceased to be."""

    ready: bool
    reason: str = ""

    def _lines(self) -> Iterator[Said]:
        yield LogLine.READY.said() if self.ready else LogLine.NOT_READY.said(reason=self.reason)


@dataclass(frozen=True, slots=True)
class ClockSet(Event):
    """The machine's time of day was set, while durations were measured on.

    Parameters
    ----------
    seconds
        By how much; below 0 it was set back.
    """

    seconds: float

    def _lines(self) -> Iterator[Said]:
        line = LogLine.CLOCK_SET_BACK if self.seconds < 0 else LogLine.CLOCK_SET_AHEAD
        yield line.said(seconds=abs(self.seconds))


@dataclass(frozen=True, slots=True)
class OrderAdopted(Event):
    """The engine's learned order changed; the next window is the first that uses it.

    Parameters
    ----------
    gain
        Share of the loss that the order alone saves, compared with the one before.
    drifted
        Whether the order before had aged: its loss had grown, compared with the built-in order.
    """

    line = LogLine.ORDER_ADOPTED

    version: int
    gain: float
    drifted: bool


@dataclass(frozen=True, slots=True)
class KernelsCompiling(Event):
    """No cache holds the kernels of this policy: they are compiled before the worker joins the group."""

    line = LogLine.COMPILING


@dataclass(frozen=True, slots=True)
class KernelsCompiled(Event):
    """The kernels are compiled, and kept if a cache can be written."""

    line = LogLine.COMPILED

    seconds: float


@dataclass(frozen=True, slots=True)
class ReleaseExpired(Event):
    """A window is withheld, since the day up to which the policy states its release has passed; the worker ends.

    Parameters
    ----------
    valid_until
        That day.
    """

    line = LogLine.RELEASE_EXPIRED

    valid_until: str


@dataclass(frozen=True, slots=True)
class WorkerStopping(Event):
    """SIGTERM or SIGINT arrived, or a fault that a restart must cure; maybe during a pause, which then ends."""

    reason: str
    forgets_pause: bool = False

    def _lines(self) -> Iterator[Said]:
        yield LogLine.STOPPING.said(reason=self.reason)
        if self.forgets_pause:
            yield LogLine.PAUSE_FORGOTTEN.said()


@dataclass(frozen=True, slots=True)
class WorkerStopped(Event):
    """The worker has left the group and closed its connections."""

    line = LogLine.STOPPED

    seconds: float
