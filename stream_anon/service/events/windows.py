"""What happens to windows, from the first record to the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_anon.microdata.release import Classes, Suppression
from stream_anon.ports.log_lines import LogLine, Said
from stream_anon.service.events.brokers import Outcome
from stream_anon.service.events.event import MOST_NAMED, Event


@dataclass(frozen=True, slots=True)
class WindowProgress(Event):
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
        Records of the owned partitions that are not yet read, stopped ones included; None if not known.
    stopped
        Owned partitions that are not read until an operator decides.
    left
        Owned partitions that are left to workers of a newer policy.
    held, held_seconds
        Records behind open transactions on the input, and how long a partition has stood at one.
    busy
        Share of the last minute in which the worker was busy; None before it has had its partitions for a minute.
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
    busy: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """How records were read. It tells of their values, so it is told when their window is published.

    Parameters
    ----------
    times
        float64[n], seconds since the epoch at which the input topic got each record.
    singly
        How many were read one by one, rejected ones included.
    coerced
        How many texts counted as another type because their attributes say so.
    """

    times: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    singly: int = 0
    coerced: int = 0


@dataclass(frozen=True, slots=True)
class Durations:
    """Seconds that closing and publishing one window took, by stage; of a shared transaction, its share."""

    release: float  # partition, generalization and gate
    encode: float
    publish: float  # begin to commit, repeated attempts included
    commit: float  # offsets, fence and commit of the last attempt
    gate: float = 0.0  # a part of `release`, if the engine tells it


@dataclass(frozen=True, slots=True, eq=False)
class WindowPublished(Event):
    """A window is published: its transaction is committed.

    Parameters
    ----------
    batch
        The random id that the header of its records names.
    ranges
        (topic, partition, start, end).
    suppressed, rejected
        Records by reason.
    faults
        Rejected records by reason and number of the attribute at fault; the number is negative if none is.
    classes
        The published classes.
    achieved_k
        Least number of individuals in a class; None if there is no class.
    arrivals
        (seconds on the service's clock, records); the delay is `at` minus each of these times.
    outcome
        How the transaction ended.
    missing
        Released and suppressed records without a value, by attribute.
    above_max_suppressed
        Whether it suppresses, or would have suppressed, more records than the policy allows.
    ignored
        Records by reason that are no dead letters, see `Reason.is_ignored`.
    achieved_shields
        The least number of individuals by each shield, in the policy's order; empty without a shield or a class.
    readings
        How its records were read. The end-to-end delay is `wall` minus each of their times.
    lost
        (topic, partition, start, end) of the input that could not be read.
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
    opened_at: float
    closed_at: float
    at: float
    wall: float
    durations: Durations
    outcome: Outcome
    faults: Mapping[tuple[str, int], int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    above_max_suppressed: bool = False
    achieved_shields: tuple[int, ...] = ()
    readings: Readings = field(default_factory=Readings)
    lost: tuple[tuple[str, int, int, int], ...] = ()

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Return int64[c], the records of each published class."""
        return self.classes.records

    @property
    def admitted(self) -> int:
        """Return the records that took room in the window; those of people who had enough take none."""
        without = sum(self.suppressed.get(each, 0) for each in (Suppression.OVER_LIMIT, Suppression.RETURNING))
        return self.released + sum(self.suppressed.values()) - without

    def _lines(self) -> Iterator[Said]:
        suppressed = _reasons(self.suppressed)
        yield LogLine.WINDOW_PUBLISHED.said(
            batch=self.batch,
            records_in=self.records_in,
            released=self.released,
            suppressed=suppressed,
            rejected=_reasons(self.rejected),
            **({"ignored": _reasons(self.ignored)} if self.ignored else {}),
            classes=len(self.class_sizes),
            achieved_k=self.achieved_k,
            **({"achieved_shields": self.achieved_shields} if self.achieved_shields else {}),
            loss=self.gcp,
            age=self.closed_at - self.opened_at,
            close_seconds=self.durations.release + self.durations.encode,
            publish_seconds=self.durations.publish,
        )
        if self.above_max_suppressed:
            yield LogLine.SUPPRESSED_TOO_MANY.said(batch=self.batch, suppressed=suppressed)
        if self.gate_violations:
            yield LogLine.GATE_VIOLATION.said(batch=self.batch, classes=self.gate_violations)


@dataclass(frozen=True, slots=True)
class WindowAudited(Event):
    """A published window was audited, from the very bytes that were sent.

    Parameters
    ----------
    result
        `passed`, `failed`, or `skipped` if audits had used up their share of the time.
    violations
        What was found, in words that name no value.
    seconds
        How long it took; None if it was skipped.
    """

    batch: str
    result: str
    violations: tuple[str, ...] = ()
    seconds: float | None = None

    def _lines(self) -> Iterator[Said]:
        if self.result == "failed":
            yield LogLine.AUDIT_FAILED.said(batch=self.batch, violations=self.violations[:MOST_NAMED])


@dataclass(frozen=True, slots=True)
class WindowMeasured(Event):
    """What the quasi-identifiers of a published window leak was measured.

    Which window it was is not told: nobody needs to know more than what is usual.

    Parameters
    ----------
    shares
        (attribute, before, after) by `measures.window_leakage`, which says what protects people. `before` is of an
        earlier window where this one is not told of, None where none was.
        Empty if the measurement broke off, which is a bug.
    seconds
        How long it took.
    """

    shares: tuple[tuple[str, float | None, float], ...]
    seconds: float

    def _lines(self) -> Iterator[Said]:
        if not self.shares:
            yield LogLine.LEAKAGE_UNMEASURED.said()


@dataclass(frozen=True, slots=True)
class WindowAbandoned(Event):
    """A window was dropped unpublished; the next owner of its partitions reads its records again."""

    records: int
    reason: str  # "stopping" | "fenced" | "lost" | "refused" | "failed"

    def _lines(self) -> Iterator[Said]:
        level = "info" if self.reason == "stopping" else "warning"
        yield LogLine.WINDOW_ABANDONED.said(level, records=self.records, reason=self.reason)


@dataclass(frozen=True, slots=True)
class WindowsBounded(Event):
    """Windows hold so much at the most from now on.

    Parameters
    ----------
    records
        Admitted records.
    memory
        Bytes of what is kept of them; None where nobody bounds it.
    reason
        `begun` when the worker begins, `time` if windows took too much or little of the time that they are given,
        `memory` if memory is short or no longer so.
    smaller
        Whether that is less than before.
    """

    records: int
    memory: int | None
    reason: str  # "begun" | "time" | "memory"
    smaller: bool = False

    def _lines(self) -> Iterator[Said]:
        line = LogLine.WINDOWS_SMALLER if self.smaller else LogLine.WINDOWS_BOUNDED
        memory = {} if self.memory is None else {"memory": self.memory}
        yield line.said(records=self.records, **memory, reason=self.reason)


@dataclass(frozen=True, slots=True)
class WindowWithheld(Event):
    """The first window of a policy is withheld, since no record has held a declared field; the worker ends.

    Parameters
    ----------
    attributes
        Attributes that have a value in no record of the window.
    """

    line = LogLine.WINDOW_WITHHELD

    records: int
    attributes: tuple[str, ...]


def _reasons(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not 0."""
    return {str(reason): count for reason, count in counts.items() if count}
