"""A broker in memory: partitions, a group with generations, transactions that may break, and a ledger.

It keeps the rules that exactly-once stands on: stable offsets wait for open transactions, the group turns away old
generations, a new producer aborts what an older one of its id left open, and only commits make anything visible.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from stream_anon.adapters.kafka.assigning.packed import KnownMember, packed
from stream_anon.errors import (
    BatchRefused,
    BrokerError,
    LedgerMissing,
    OutcomeUnknown,
    Overtaken,
    OwnershipLost,
    TimeRefused,
    TopicError,
)
from stream_anon.microdata.release import ReleasedPeople
from stream_anon.ports import (
    Chunk,
    DeadClient,
    GroupView,
    Held,
    LedgerEntry,
    Lost,
    Membership,
    Parcel,
    Place,
    Polled,
    TopicIds,
)
from stream_anon.ports.release_history import read_entry
from stream_anon.privacy.certificate import certificate_digest, read_part

INPUT = "people"
OUTPUTS = ("out", "out.certificates", "out.dead-letters")
RETURNS = "out.returns"
MOST_AHEAD = 3600.0  # seconds, as message.timestamp.after.max.ms unless it is set


@dataclass
class Transaction:
    group: MemoryBroker
    parcels: list[Parcel] = field(default_factory=list)
    offsets: dict[Place, int] = field(default_factory=dict)

    @property
    def revision(self) -> int:
        """Return the revision that its entries in the ledger name; 0 without any."""
        values = (value for parcel in self.parcels if parcel.topic == "ledger" for value in parcel.values if value)
        return max((int(json.loads(value)[2]) for value in values), default=0)

    def is_about(self, places: Collection[Place]) -> bool:
        """Whether the ledger gets an entry for one of these places."""
        keys = (key for parcel in self.parcels if parcel.topic == "ledger" for key in parcel.keys or ())
        return any(tuple(json.loads(key)) in places for key in keys)


class MemoryBroker:
    """Everything a broker remembers. `away` makes every request fail."""

    def __init__(self, partitions: int = 2) -> None:
        self.input: list[list[tuple[bytes | None, int]]] = [[] for _ in range(partitions)]
        self.first = [0] * partitions
        self.committed: list[Parcel] = []
        self.offsets: dict[Place, int] = {}
        self.ledger: dict[Place, int] = {}
        self.released_by: dict[Place, str] = {}
        self.released_of: dict[Place, str | None] = {}  # the topic's id
        self.topic_id: str | None = "first"
        self.revisions: dict[Place, int] = {}
        self.has_ledger = False
        self.ledger_is_gone = False
        self.ledger_lacks_entries = False
        self.deleted_entries: dict[Place, LedgerEntry] = {}
        self.missing: set[str] = set()
        self.held = 0  # records behind an open transaction
        self.shared = False  # whether a member of the group is no worker
        self.load: Callable[[], float] | None = None  # of a partition; the group packs them if there is any
        self.largest: dict[str, int] = {}  # bytes of a batch, as the topics' settings tell
        self.wall: Callable[[], float] = lambda: inf  # its own time of day, seconds since the epoch
        self.generation = 0
        self.members: dict[str, MemorySource] = {}
        self.given: dict[str, frozenset[int]] = {}
        self.open: dict[str, Transaction] = {}
        self.owner: dict[str, object] = {}
        self.away = False

    def other_group(self) -> MemoryBroker:
        """Return the same broker as another group sees it: one log and one ledger, other members and offsets."""
        other = MemoryBroker(len(self.input))
        for shared in (
            "input",
            "first",
            "committed",
            "ledger",
            "released_by",
            "released_of",
            "revisions",
            "missing",
            "wall",
            "open",
            "owner",
        ):
            setattr(other, shared, getattr(self, shared))
        other.has_ledger, other.load = True, self.load
        return other

    def ask(self) -> None:
        if self.away:
            raise BrokerError("the broker is away")

    def send(self, values: Sequence[bytes | None], partition: int = 0, time: int = 0) -> None:
        self.input[partition] += [(value, time) for value in values]

    def recreate(self, topic_id: str | None = "second") -> None:
        """Delete the input topic and create it again, without telling the members."""
        self.input = [[] for _ in self.input]
        self.first = [0] * len(self.input)
        self.topic_id = topic_id

    def delete_ledger(self) -> None:
        """Delete the ledger with all its entries."""
        self.deleted_entries = self.entries()
        for entries in (self.ledger, self.released_by, self.released_of, self.revisions):
            entries.clear()
        self.has_ledger, self.ledger_is_gone = False, True
        self.ledger_lacks_entries = bool(self.visible("out"))

    def entries(self) -> dict[Place, LedgerEntry]:
        by, of, under = self.released_by, self.released_of, self.revisions
        return {p: LedgerEntry(n, by.get(p), of.get(p), under.get(p, 0)) for p, n in self.ledger.items()}

    def lose(self, partition: int, first: int) -> None:
        """Delete all records below `first`."""
        self.first[partition] = first

    # -- the group -----------------------------------------------------------------------------------------

    def rebalance(self) -> None:
        """Begin a new generation; partitions go around among the members, in the order in which they joined."""
        self.generation += 1
        names = list(self.members)
        if self.load is not None:
            self.given = self._packed(self.load)
        else:
            self.given = {
                name: frozenset(p for p in range(len(self.input)) if p % len(names) == i)
                for i, name in enumerate(names)
            }
        for source in self.members.values():
            source.hear()

    def _packed(self, load: Callable[[], float]) -> dict[str, frozenset[int]]:
        """Return who is given what by a leader that packs, and that may always change what members have."""
        carriers, known = sum(map(bool, self.given.values())), {}
        for name in self.members:
            holds = frozenset((INPUT, number) for number in self.given.get(name, ()))
            loads = {place: load() for place in sorted(holds)}
            busy = min(sum(loads.values()), 1.0)
            known[name] = KnownMember(frozenset({INPUT}), holds, self.generation, busy, loads, carriers)
        found = packed(known, [(INPUT, number) for number in range(len(self.input))], may_change=True)
        return {name: frozenset(number for _, number in places) for name, places in found.given.items()}

    def leave(self, name: str) -> None:
        self.members.pop(name, None)
        if self.members:
            self.rebalance()
        else:
            self.generation += 1
            self.given = {}

    def fence(self, membership: Membership) -> None:
        if membership == Membership(-1, "") and not self.members:
            return
        if membership.member not in self.members or membership.generation != self.generation:
            raise OwnershipLost("an old generation")

    # -- transactions --------------------------------------------------------------------------------------

    def commit(self, transaction: Transaction) -> None:
        self.committed += transaction.parcels
        self.offsets |= transaction.offsets
        for parcel in transaction.parcels:
            if parcel.topic == "ledger":
                assert parcel.keys is not None
                for key, value in zip(parcel.keys, parcel.values, strict=True):
                    topic, partition = json.loads(key)
                    if value is None:
                        self.ledger.pop((topic, partition), None)
                        self.released_by.pop((topic, partition), None)
                        self.released_of.pop((topic, partition), None)
                        self.revisions.pop((topic, partition), None)
                    else:
                        place = topic, partition
                        (
                            self.ledger[place],
                            self.released_by[place],
                            self.revisions[place],
                            self.released_of[place],
                        ) = json.loads(value)

    def expire(self) -> None:
        """Abort every transaction, as their timeouts would."""
        self.open.clear()
        self.owner.clear()

    def visible(self, topic: str) -> list[bytes]:
        """Return all committed values of a topic."""
        return [value for parcel in self.committed if parcel.topic == topic for value in parcel.values]

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(value) for value in self.visible("out")]

    @property
    def certificate_parts(self) -> list[bytes]:
        """Return the committed certificates without the policy documents that travel with them."""
        parcels = [parcel for parcel in self.committed if parcel.topic == "out.certificates"]
        return [value for parcel in parcels if "batch" in dict(parcel.headers) for value in parcel.values if value]

    @property
    def certificates(self) -> list[dict[str, Any]]:
        return [json.loads(value) for value in self.certificate_parts]

    @property
    def astray(self) -> list[str]:
        """Return what certificates name as the one before, and it is not among them, or another names it too."""
        parts = self.certificate_parts
        known = {certificate_digest([part]) for part in parts}
        named = Counter(read_part(part).previous for part in parts)
        return [digest for digest, times in named.items() if digest and (times > 1 or digest not in known)]

    @property
    def serials(self) -> Counter[int]:
        return Counter(record["serial"] for record in self.records)

    @property
    def accounted(self) -> int:
        return sum(c["in"] for c in self.certificates if c["part"] == 1)


class MemorySource:
    """A member of the group; `asleep` keeps it from hearing what the group decides."""

    def __init__(self, broker: MemoryBroker, name: str) -> None:
        self.broker = broker
        self.name = name
        self.asleep = False
        self.dead = False
        self.refusals: list[BrokerError] = []  # what the group says while it reassigns
        self.rotten: set[int] = set()
        self.faulty = False  # whether `rotten` and `damaged` make a kernel leave its bounds
        self.damaged: tuple[int, int, int] | None = None  # partition, first offset of a batch, that behind it
        self.polls = 0
        self.paused: set[int] = set()
        self._positions: dict[int, int] = {}
        self._assigned: frozenset[int] = frozenset()
        self._marks = 0
        self._generation = -1

    @property
    def marks(self) -> int:
        return self._marks

    @property
    def settled(self) -> bool:
        return self._generation >= 0

    @property
    def assigned(self) -> frozenset[int]:
        return self._assigned

    def place(self, source: int) -> Place:
        return INPUT, source

    async def moved(self, marks: int, within: float) -> None:
        await asyncio.sleep(0)
        if self.refusals:
            raise self.refusals.pop(0)

    def membership(self) -> Membership | None:
        return Membership(self._generation, self.name) if self._generation >= 0 else None

    def hear(self) -> None:
        """Learn the group's present generation, as from a heartbeat."""
        if self.asleep or self.name not in self.broker.members or self._generation == self.broker.generation:
            return
        self._generation = self.broker.generation
        self._assigned = self.broker.given[self.name]
        self._positions.clear()
        self.paused = set(self._assigned)
        self._marks += 1

    def wake(self) -> None:
        self.asleep = False
        if self.name in self.broker.members:
            self.hear()
        else:  # thrown out: it joins again
            self._generation = -1
            self._assigned = frozenset()
            self._marks += 1
            self.broker.members[self.name] = self
            self.broker.rebalance()

    async def start(self) -> None:
        self.broker.ask()
        self.broker.members[self.name] = self
        self.broker.rebalance()

    async def poll(self, wait: float, most: int) -> Polled:
        await asyncio.sleep(0)
        self.polls += 1
        if self.dead:
            raise DeadClient("a task of the consumer has ended")
        chunks, lost = [], []
        for source in sorted(self._assigned - self.paused):
            position = self._positions.get(source)
            if position is None or self.broker.away:
                continue
            if source in self.rotten:
                lost.append(Lost(source, position, unreadable=True, fault=self.faulty))
                continue
            if position < self.broker.first[source] or position > len(self.broker.input[source]):
                lost.append(Lost(source, position))
                continue
            stop = position + most
            if self.damaged is not None and source == self.damaged[0]:
                _, first, after = self.damaged
                if first <= position < after:
                    lost.append(Lost(source, position, unreadable=True, after=after, fault=self.faulty))
                    continue
                stop = min(stop, first) if position < first else stop
            part = self.broker.input[source][position:stop]
            if not part:
                continue
            most -= len(part)
            offsets = np.arange(position, position + len(part), dtype=np.int64)
            times = np.array([time for _, time in part], np.int64)
            values = [value for value, _ in part]
            chunks.append(Chunk(source, position, values, offsets, times))
            self._positions[source] = position + len(part)
            if not most:
                break
        return Polled(tuple(chunks), tuple(lost))

    def seek(self, source: int, offset: int) -> None:
        if source not in self._assigned:
            raise RuntimeError("the client raises IllegalStateError: not assigned")
        self._positions[source] = offset

    def pause(self, sources: Collection[int]) -> None:
        self.paused |= set(sources)

    def resume(self, sources: Collection[int]) -> None:
        self.paused -= set(sources)

    async def bounds(self, sources: Collection[int], start: str) -> Mapping[int, int]:
        self.broker.ask()
        return {s: self.broker.first[s] if start == "earliest" else len(self.broker.input[s]) for s in sources}

    def lag(self, sources: Collection[int]) -> int | None:
        known = self._assigned & set(sources)
        if not known <= self._positions.keys():
            return None
        return sum(len(self.broker.input[s]) - self._positions[s] for s in known)

    def held(self, sources: Collection[int]) -> Held:
        return Held(self.broker.held, 60.0 * bool(self.broker.held))

    async def reachable(self) -> bool:
        return not self.broker.away

    def view(self) -> GroupView:
        return GroupView({INPUT: len(self.broker.input)}, self.broker.shared)

    async def stop(self, within: float) -> None:
        self._generation = -1
        self._assigned = frozenset()
        self._marks += 1
        self.dead = False
        self.broker.leave(self.name)


class MemorySink:
    """A transactional producer. `break_at` names a verb that fails next: before, or `after` it had its effect."""

    delivery = "exactly-once"

    def __init__(self, broker: MemoryBroker, name: str) -> None:
        self.broker = broker
        self.name = name
        self.attempts: list[tuple[Parcel, ...]] = []
        self.break_at: list[str] = []
        self.breaking: Callable[[], None] = lambda: None  # called when a verb fails
        self.gate = asyncio.Event()
        self.gate.set()
        self.gate_at = "settle"  # the verb that waits for it
        self.takes: dict[str, int] = {}  # bytes of a value that a topic takes, before anybody was told
        self._alive = False
        self._transaction: Transaction | None = None

    async def open(self) -> None:
        self.broker.ask()
        if not self._alive:
            # Whatever an older producer of this id left open is aborted, and that producer is fenced.
            self.broker.open.pop(self.name, None)
            self.broker.owner[self.name] = self
            self._alive = True

    async def partitions(self, topic: str) -> int:
        self.broker.ask()
        if topic in self.broker.missing:
            raise TopicError(f"{topic}: does not exist")
        return 3

    async def topic_ids(self, topics: Collection[str]) -> TopicIds:
        self.broker.ask()
        its = self.broker.topic_id
        missing = frozenset(topics) & self.broker.missing
        return TopicIds({INPUT: its} if its is not None and INPUT in topics else {}, missing)

    async def largest_batches(self, topics: Collection[str]) -> Mapping[str, int]:
        return {topic: most for topic, most in self.broker.largest.items() if topic in topics}

    async def stable_offsets(self, places: Collection[Place]) -> dict[Place, int | None]:
        while any(t.group is self.broker and t.offsets.keys() & set(places) for t in self.broker.open.values()):
            self.broker.ask()
            await asyncio.sleep(0.001)
        self.broker.ask()
        return {place: self.broker.offsets.get(place) for place in places}

    async def pin_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        self.broker.ask()
        self.broker.fence(membership)
        self.broker.offsets |= offsets

    async def begin(self) -> None:
        await self._pass("begin")
        self._check("begin")
        assert self._alive, "a producer that was thrown away is used again"
        assert self._transaction is None
        self._transaction = Transaction(self.broker)

    async def send(self, parcels: Sequence[Parcel]) -> None:
        self._check("send")
        self.attempts.append(tuple(parcels))
        transaction = self._running()
        self.broker.open[self.name] = transaction
        transaction.parcels += parcels
        self._check("send after")

    async def settle(self) -> dict[Place, int]:
        await self._pass("settle")
        self._check("settle")
        there = {parcel.topic for parcel in self._running().parcels} - self.broker.missing
        if self.broker.ledger_is_gone or len(there) < len({p.topic for p in self._running().parcels}):
            raise TopicError("a topic does not exist any more")
        for parcel in self._running().parcels:
            if parcel.time / 1000 > self.broker.wall() + MOST_AHEAD:
                raise TimeRefused(parcel.topic)
            most = self.takes.get(parcel.topic, 2**31)
            for size in (len(value or b"") for value in parcel.values):
                if size > most:
                    self.broker.largest[parcel.topic] = most
                    raise BatchRefused(parcel.topic, 1, size)
        return {}

    async def add_offsets(self) -> None:
        self._check("add_offsets")

    async def commit_offsets(self, offsets: Mapping[Place, int], membership: Membership) -> None:
        self._check("commit_offsets")
        transaction = self._running()
        if self.name not in self.broker.open:
            raise OutcomeUnknown("the transaction has timed out")
        self.broker.fence(membership)
        transaction.offsets |= offsets
        self._check("commit_offsets after")

    async def commit(self) -> None:
        await self._pass("commit")
        self._check("commit")
        if self.name not in self.broker.open:
            raise OutcomeUnknown("the transaction has timed out")
        self.broker.commit(self.broker.open.pop(self.name))
        self._transaction = None
        self._check("commit after")

    async def discard(self) -> None:
        self._alive = False
        self._transaction = None

    async def _pass(self, verb: str) -> None:
        if verb == self.gate_at:
            await self.gate.wait()

    def _running(self) -> Transaction:
        assert self._transaction is not None
        return self._transaction

    def _check(self, verb: str) -> None:
        if " " not in verb:
            self.broker.ask()
        if self.break_at and self.break_at[0] == verb:
            self.break_at.pop(0)
            self.breaking()
            raise OutcomeUnknown(f"{verb} broke")


class MemoryHistory:
    """Who was released, as the topic of returns tells it; `key` names the key of pseudonyms."""

    def __init__(self, broker: MemoryBroker, key: bytes) -> None:
        self.broker = broker
        self.key = key

    async def read(
        self, places: Collection[Place], take: Callable[[Place, Sequence[ReleasedPeople]], None]
    ) -> None:
        self.broker.ask()
        for parcel in self.broker.committed:
            if parcel.topic == RETURNS and (INPUT, parcel.partition) in places:
                entries = [read_entry(value or b"") for value in parcel.values]
                take((INPUT, parcel.partition), [released for key, released in entries if key == self.key])


class MemoryLedger:
    """The ledger as the producer `name` sees it, with a policy of some revision."""

    def __init__(self, broker: MemoryBroker, name: str = "", revision: int = 0) -> None:
        self.broker = broker
        self.name = name
        self.revision = revision
        self._follows = False
        self._remembered: dict[Place, LedgerEntry] = {}

    async def open(self) -> None:
        self.broker.ask()
        if self.broker.ledger_is_gone:
            self._remembered |= self.broker.deleted_entries if self._follows else {}
            raise LedgerMissing("the ledger out.ledger does not exist")
        self._follows = True

    @property
    def is_gone(self) -> bool:
        return self.broker.ledger_is_gone

    @property
    def is_incomplete(self) -> bool:
        return self.broker.ledger_lacks_entries

    @property
    def held_seconds(self) -> float:
        return 0.0

    def remembered(self) -> Mapping[Place, LedgerEntry]:
        return {p: entry for p, entry in self._remembered.items() if p not in self.broker.ledger}

    async def uncontested(self, starts: Mapping[Place, int], sent: Mapping[Place, int]) -> None:
        names = list(self.broker.open)
        before = [self.broker.open[n] for n in names[: names.index(self.name) if self.name in names else 0]]
        for _ in range(20):
            decide = (t for t in before if t.is_about(starts) or t.revision != self.revision)
            if not any(t in self.broker.open.values() for t in decide):
                break
            await asyncio.sleep(0.001)
        else:
            raise BrokerError("not decided")
        if any(revision > self.revision for revision in self.broker.revisions.values()):
            raise Overtaken("a higher revision")
        if any(self.broker.ledger.get(place, start) > start for place, start in starts.items()):
            raise Overtaken("another group")

    async def caught_up(self) -> Mapping[Place, LedgerEntry]:
        self.broker.ask()
        return self.broker.entries()

    def holds(self, batch: str) -> bool:
        return batch in self.broker.released_by.values()

    def entries(
        self, offsets: Mapping[Place, int], batch: str, topic_ids: Mapping[str, str], time: int
    ) -> Parcel | None:
        entries = {p: LedgerEntry(n, batch, topic_ids.get(p[0]), self.revision) for p, n in offsets.items()}
        return self.written(entries, time)

    def written(self, entries: Mapping[Place, LedgerEntry | None], time: int) -> Parcel:
        keys = [json.dumps(place).encode() for place in entries]
        values = [
            None
            if entry is None
            else json.dumps([entry.next, entry.batch, entry.revision, entry.topic_id]).encode()
            for entry in entries.values()
        ]
        return Parcel("ledger", 0, values, time, keys=keys)

    async def discard(self) -> None:
        pass
