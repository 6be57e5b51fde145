"""The schedules: which request is late or lost, and when it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from tests.support.late_requests.frames import COMMIT_OFFSETS, END, INIT, OFFSETS, PARTITIONS, PRODUCE
from tests.support.late_requests.script import Moment


class Killed(Enum):
    """When the worker is killed, and another one started in its place."""

    NEVER = "never"
    AT_ARRIVAL = "at arrival"
    AFTER_NEXT_END = "after the next end"


@dataclass(frozen=True)
class Schedule:
    """What happens to one request of a worker.

    Parameters
    ----------
    key, number
        Which request is held: the n-th of a kind. The second EndTxn is that of window 2.
    moment
        When it arrives; None if only its answer is lost.
    size
        How many brokers it takes.
    window, records
        Records in a window, and in all.
    partitions
        Of the output.
    restarts
        Whether the broker is killed and started again when the answer is lost.
    zombie
        Whether the group gives the worker's partitions away before it begins the next transaction.
    moves
        Whether the coordinator's broker stands still, so that others take over, until the request arrives.
    gathers
        Whether small windows go out in bundles; then "window" means a bundle.
    """

    about: str
    key: int = END
    number: int = 2
    moment: Moment | None = None
    size: int = 1
    window: int = 300
    records: int = 1500
    partitions: int = 3
    killed: Killed = Killed.NEVER
    restarts: bool = False
    zombie: bool = False
    moves: bool = False
    gathers: bool = False

    @property
    def alone(self) -> bool:
        """Return whether it stops brokers, so that no other may be played on them."""
        return self.restarts or self.moves

    def but(self, about: str, **changes: object) -> Schedule:
        return replace(self, about=about, **changes)  # type: ignore[arg-type]


_KILL = Killed.AT_ARRIVAL
_MID = Schedule(
    "EndTxn of window 2 arrives after the first Produce of window 3",
    moment=Moment(PRODUCE, after=True),
    window=24_000,
    records=72_000,
    partitions=1,
)
_SENT = Schedule("EndTxn of window 2 arrives when all of window 3 is sent", moment=Moment(OFFSETS))
_TWO = Schedule(
    "EndTxn of window 2 arrives when the output's leader has its batch of window 3 and the ledger's has not",
    moment=Moment(PRODUCE, after=True, node=1),
    size=2,
)
_BEFORE_END = Schedule(
    "TxnOffsetCommit of window 2 arrives before EndTxn of window 3", key=COMMIT_OFFSETS, moment=Moment(END)
)
_PRODUCE = Schedule(
    "the first Produce of window 2 arrives after that of window 3", PRODUCE, moment=Moment(PRODUCE, after=True)
)
_PARTITIONS = Schedule(
    "AddPartitionsToTxn of window 2 arrives before that of window 3", PARTITIONS, moment=Moment(PARTITIONS)
)
_INIT = Schedule("InitProducerId arrives after the first Produce of window 2", INIT, 1, Moment(PRODUCE, after=True))
_LOST = Schedule("the answer to EndTxn of window 2 is lost")

SCHEDULES: Mapping[str, Schedule] = {
    "plain": Schedule("nothing is held", number=10**9),
    "commit-mid": _MID,
    "commit-mid-kill": _MID.but("as commit-mid, and the worker is killed at once", killed=_KILL),
    "commit-sent": _SENT,
    "commit-sent-kill": _SENT.but("as commit-sent, and the worker is killed at once", killed=_KILL),
    "commit-fenced": Schedule("EndTxn of window 2 arrives before that of window 3", moment=Moment(END)),
    "commit-2nodes": _TWO,
    "commit-2nodes-kill": _TWO.but("as commit-2nodes, and the worker is killed at once", killed=_KILL),
    "commit-3nodes": _TWO.but("as commit-2nodes, on three brokers with two copies in sync", size=3),
    "commit-moved": _SENT.but(
        "as commit-sent, and the coordinator's broker stood still in between: others took over, and it comes back "
        "with the late request",
        size=3,
        moves=True,
    ),
    "bundles-2nodes-kill": _TWO.but(
        "as commit-2nodes-kill, with bundles of windows", killed=_KILL, gathers=True, window=500, records=40_000
    ),
    "bundles-zombie": _SENT.but(
        "as zombie, with bundles of windows", zombie=True, gathers=True, window=500, records=40_000
    ),
    "bundles-before-end-kill": _BEFORE_END.but(
        "as offsets-before-end-kill, with bundles of windows",
        killed=Killed.AFTER_NEXT_END,
        gathers=True,
        window=500,
        records=40_000,
    ),
    "bundles-lost-answer": _LOST.but(
        "as lost-answer-commit, with bundles of windows", gathers=True, window=500, records=40_000
    ),
    "zombie": _SENT.but("as commit-sent, and another worker has published window 3's records before", zombie=True),
    "offsets-before-end": _BEFORE_END,
    "offsets-before-end-kill": _BEFORE_END.but(
        "as offsets-before-end, and the worker is killed after EndTxn of window 3", killed=Killed.AFTER_NEXT_END
    ),
    "offsets-between": Schedule(
        "TxnOffsetCommit of window 2 arrives before AddOffsetsToTxn of window 3",
        COMMIT_OFFSETS,
        moment=Moment(OFFSETS),
    ),
    "produce-next": _PRODUCE,
    "produce-before": _PRODUCE.but("it arrives before the first Produce of window 3", moment=Moment(PRODUCE)),
    "produce-idle": _PRODUCE.but("it arrives before AddPartitionsToTxn of window 3", moment=Moment(PARTITIONS)),
    "partitions": _PARTITIONS,
    "partitions-mid": _PARTITIONS.but(
        "it arrives after the first Produce of window 3", moment=Moment(PRODUCE, after=True)
    ),
    "add-offsets": Schedule(
        "AddOffsetsToTxn of window 2 arrives before AddPartitionsToTxn of window 3",
        OFFSETS,
        moment=Moment(PARTITIONS),
    ),
    "init": _INIT,
    "init-fenced": _INIT.but("InitProducerId arrives before EndTxn of window 2", moment=Moment(END)),
    "lost-answer-commit": _LOST,
    "lost-answer-commit-restart": _LOST.but(
        "the answer to EndTxn of window 2 is lost, and the broker is killed and started again", restarts=True
    ),
    "lost-answer-offsets": _LOST.but("the answer to TxnOffsetCommit of window 2 is lost", key=COMMIT_OFFSETS),
    "lost-answer-produce": _LOST.but("the answer to the second Produce is lost", key=PRODUCE),
    "lost-answer-partitions": _LOST.but("the answer to AddPartitionsToTxn of window 2 is lost", key=PARTITIONS),
    "lost-answer-add-offsets": _LOST.but("the answer to AddOffsetsToTxn of window 2 is lost", key=OFFSETS),
}
