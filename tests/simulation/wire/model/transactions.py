"""The coordinator of transactions, as Apache Kafka 4.1 has it, at each level of transaction.version.

Two kinds of EndTxn: before version 5 a transaction keeps its producer's epoch, from version 5 on each has its own.
The level of the cluster decides how the coordinator itself aborts, and whether it can note what version 5 leaves.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tests.simulation.wire.model.codes import (
    CONCURRENT_TRANSACTIONS,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    PRODUCER_FENCED,
    UNSUPPORTED_VERSION,
    Refused,
)

Place = tuple[str, int]
LAST_EPOCH = 2**15 - 2
"""The last epoch that a client gets of one producer id; the one after it is the coordinator's, to fence."""


class State(enum.Enum):
    """Where a transactional id stands."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


_PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)


@dataclass(slots=True)
class Transaction:
    """What the coordinator knows of one transactional id.

    Parameters
    ----------
    pending
        A change has begun that is not complete: markers are being written, or it could not be noted.
    """

    producer: int
    epoch: int = -1
    before: int = -1  # the producer id before the last change
    following: int = -1  # the producer id after this transaction, if the epochs are used up
    timeout: float = 0.0
    state: State = State.EMPTY
    pending: bool = False
    partitions: set[Place] = field(default_factory=set)
    number: int = 0  # of transactions so far


Markers = Callable[["Transaction", bool, int, int], None]


class Transactions:
    """All transactional ids of a cluster.

    Parameters
    ----------
    level
        The finalized transaction.version.
    write_markers
        Begins to write the markers of a transaction that is prepared, for a producer id and epoch; whoever does so
        calls `complete` after the last one.
    begun
        Hears of each transaction that begins.
    """

    def __init__(self, level: int, write_markers: Markers, begun: Callable[[str, Transaction], None]) -> None:
        self.level = level
        self.known: dict[str, Transaction] = {}
        self._write_markers = write_markers
        self._begun = begun
        self._producers = 0

    def new_producer(self) -> int:
        """Return a producer id that nobody has."""
        self._producers += 1
        return self._producers - 1

    def init(self, name: str, timeout: float) -> tuple[int, int]:
        """Return producer id and epoch of a producer that begins; what was left open is aborted first."""
        found = self.known.get(name)
        if found is None:
            found = self.known[name] = Transaction(self.new_producer())
        if found.pending or found.state in _PREPARED:
            raise Refused(CONCURRENT_TRANSACTIONS)
        if found.state is State.ONGOING:
            self._fence(found)
            raise Refused(CONCURRENT_TRANSACTIONS)
        found.before = found.producer
        if found.epoch >= LAST_EPOCH:
            found.producer, found.epoch = self.new_producer(), 0
        else:
            found.epoch += 1
        found.state, found.timeout = State.EMPTY, timeout
        return found.producer, found.epoch

    def add(self, name: str, producer: int, epoch: int, places: Collection[Place]) -> None:
        """Add partitions to the transaction of a producer, which begins with the first ones."""
        found = self._of(name)
        if found.pending:
            raise Refused(CONCURRENT_TRANSACTIONS)
        self._must_be(found, producer, epoch)
        if found.state is not State.ONGOING:
            found.before = found.producer
            found.state, found.partitions = State.ONGOING, set()
            found.number += 1
            self._begun(name, found)
        found.partitions |= set(places)

    def verify(self, name: str, producer: int, epoch: int, place: Place) -> None:
        """Raise if a partition is not in the transaction of a producer."""
        found = self._of(name)
        self._must_be(found, producer, epoch)
        if found.state in _PREPARED:
            raise Refused(CONCURRENT_TRANSACTIONS)
        if found.state is not State.ONGOING or place not in found.partitions:
            raise Refused(INVALID_TXN_STATE)

    def end(self, name: str, producer: int, epoch: int, *, commits: bool, own_epochs: bool) -> tuple[int, int]:
        """End a transaction; return producer id and epoch of the next one.

        Parameters
        ----------
        own_epochs
            Whether the request is of version 5 or later.
        """
        found = self._of(name)
        if own_epochs:
            return self._end_epoch(found, producer, epoch, commits=commits)
        if found.producer != producer:
            raise Refused(INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != epoch:
            raise Refused(PRODUCER_FENCED)
        if found.pending:
            raise Refused(CONCURRENT_TRANSACTIONS)
        if found.state is State.ONGOING:
            self._prepare(found, commits=commits)
        else:
            self._must_have_ended(found, commits=commits)
        return -1, -1

    def _end_epoch(self, found: Transaction, producer: int, epoch: int, *, commits: bool) -> tuple[int, int]:
        overflown = found.before == producer and epoch == LAST_EPOCH and found.epoch == 0
        repeated = found.epoch == epoch + 1 or overflown
        if found.pending:
            raise Refused(CONCURRENT_TRANSACTIONS)
        if found.producer != producer and not overflown:
            raise Refused(INVALID_PRODUCER_ID_MAPPING)
        ended = found.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
        if epoch != found.epoch and not (ended and repeated):
            raise Refused(PRODUCER_FENCED)
        if repeated:
            self._must_have_ended(found, commits=commits)
            return found.producer, found.epoch
        if found.state is not State.ONGOING and commits:
            raise Refused(INVALID_TXN_STATE)
        # An abort without any partition only takes the next epoch.
        if self.level == 0:  # the note of this level has no room for what follows: the change never completes
            found.pending = True
            raise Refused(UNSUPPORTED_VERSION)
        if found.state is not State.ONGOING:
            found.partitions = set()
        following = self.new_producer() if found.epoch >= LAST_EPOCH else -1
        found.before, found.following = found.producer, following
        found.epoch += 1
        answer = (following, 0) if following >= 0 else (found.producer, found.epoch)
        self._prepare(found, commits=commits)
        return answer

    def expire(self, name: str, number: int) -> None:
        """Abort a transaction that has taken too long, if it has not ended."""
        found = self.known[name]
        if found.number == number and found.state is State.ONGOING and not found.pending:
            self._fence(found)

    def complete(self, found: Transaction) -> None:
        """Note that all markers of a transaction are written."""
        committed = found.state is State.PREPARE_COMMIT
        found.state = State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT
        found.before = found.producer
        if found.following >= 0:
            found.producer, found.epoch, found.following = found.following, 0, -1
        found.partitions = set()
        found.pending = False

    def _fence(self, found: Transaction) -> None:
        found.epoch += 1
        self._prepare(found, commits=False)

    def _prepare(self, found: Transaction, *, commits: bool) -> None:
        found.state = State.PREPARE_COMMIT if commits else State.PREPARE_ABORT
        found.pending = True
        self._write_markers(found, commits, found.producer, found.epoch)

    @staticmethod
    def _must_have_ended(found: Transaction, *, commits: bool) -> None:
        wanted = State.COMPLETE_COMMIT if commits else State.COMPLETE_ABORT
        if found.state is not wanted:
            raise Refused(INVALID_TXN_STATE)

    def _of(self, name: str) -> Transaction:
        if name not in self.known:
            raise Refused(INVALID_PRODUCER_ID_MAPPING)
        return self.known[name]

    @staticmethod
    def _must_be(found: Transaction, producer: int, epoch: int) -> None:
        if found.producer != producer:
            raise Refused(INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != epoch:
            raise Refused(PRODUCER_FENCED)
