"""How workers share out the input: the assignor that the group's leader applies, and what members tell it.

aiokafka asks the assignor of each member for bytes when it joins, and that of the leader for an assignment. The
protocol has one name, `sticky`, whatever `kafka.assignment` says: aiokafka joins once for each protocol that a
member lists, so that each rebalance would be followed by another one. The leader packs the partitions if every
member has left a note for it (`notes`), and spreads them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from typing import Any, NamedTuple

from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1, StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from stream_anon.adapters.kafka.assigning.notes import LeaderNote, MemberNote, leader_note, member_note
from stream_anon.adapters.kafka.assigning.packed import KnownMember, packed
from stream_anon.adapters.kafka.protocol.group_fencing import by_topic
from stream_anon.ports import Place

REST = 300.0
"""Seconds between two changes of the assignment because of load."""


class Told(NamedTuple):
    """What a member tells of itself; see `packed.KnownMember`."""

    busy: float | None
    loads: Mapping[Place, float]
    aside: bool = False
    revision: int = 0


class Assignor:
    """One member's assignor; spreads the partitions unless all members want them packed.

    Parameters
    ----------
    now
        Returns the time in seconds, on any clock that never goes back.
    told
        Returns what this member tells; None if it wants the partitions spread.

    Attributes
    ----------
    note
        What the leader said with the last assignment; None if partitions are spread.
    answered
        When an assignment came last that load might have changed, and did not.
    """

    def __init__(self, now: Callable[[], float], told: Callable[[], Told] | None) -> None:
        # The library keeps a member's partitions in the class, without their generation: a member that was away
        # would claim partitions that others own by now.
        self._sticky: Any = type("Sticky", (StickyPartitionAssignor,), {"member_assignment": []})
        self.name: str = StickyPartitionAssignor.name
        self._now, self._told = now, told
        self.note: LeaderNote | None = None
        self._changed_at = self.answered = -math.inf

    @property
    def age(self) -> float:
        """Return the seconds since load last changed the group's assignment, as far as this member knows."""
        return self._now() - self._changed_at

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Return what this member tells the leader."""
        found: ConsumerProtocolMemberMetadata = self._sticky.metadata(topics)
        if self._told is None:
            return found
        own = self._told()
        held = _decoded(found.user_data)[0]
        loads = [own.loads[place] for place in held] if own.loads.keys() >= set(held) else []
        carriers = 0 if self.note is None else self.note.carriers
        note = MemberNote(own.busy, loads, carriers, self.age, own.aside, own.revision)
        return ConsumerProtocolMemberMetadata(found.version, found.subscription, found.user_data + note.written())

    def assign(
        self, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> Mapping[str, ConsumerProtocolMemberAssignment]:
        """Return what each member is given; asked of the leader."""
        notes: dict[str, MemberNote] = {}
        understood: dict[str, KnownMember] = {}
        for name, told in members.items():
            with suppress(Exception):  # whatever another member sent
                held, generation, rest = _decoded(told.user_data)
                note = member_note(rest)
                if note is not None:
                    loads = dict(zip(held, note.loads, strict=len(note.loads) > 0))
                    reads = frozenset(told.subscription)
                    notes[name] = note
                    understood[name] = KnownMember(
                        reads,
                        frozenset(held),
                        generation,
                        note.busy,
                        loads,
                        note.carriers,
                        note.aside,
                        note.revision,
                    )
        if self._told is None or understood.keys() != members.keys():
            spread: Mapping[str, ConsumerProtocolMemberAssignment] = self._sticky.assign(cluster, members)
            return spread
        topics = sorted(set().union(*(member.topics for member in understood.values())))
        places = [(topic, number) for topic in topics for number in cluster.partitions_for_topic(topic) or ()]
        age = min(note.age for note in notes.values())
        found = packed(understood, places, may_change=age >= REST)
        answer = LeaderNote(len(members), found.carriers, 0.0 if found.changed else age).written()
        return {
            name: ConsumerProtocolMemberAssignment(self._sticky.version, list(by_topic(given).items()), answer)
            for name, given in found.given.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Note what this member was given, and what the leader said."""
        self._sticky.on_assignment(assignment)
        self.note = None if self._told is None else leader_note(assignment.user_data or b"")
        if self.note is not None:
            self._changed_at = self._now() - self.note.age
            if self.note.age >= REST:
                self.answered = self._now()

    def on_generation_assignment(self, generation: int) -> None:
        """Note the generation of the assignment."""
        self._sticky.on_generation_assignment(generation)


def _decoded(data: bytes) -> tuple[list[Place], int, bytes]:
    """Return the places that sticky data claims, their generation, and the bytes that follow."""
    stream = BytesIO(data)
    claimed = StickyAssignorUserDataV1.decode(stream)
    held = [(topic, number) for topic, numbers in claimed.previous_assignment for number in numbers]
    return held, claimed.generation, stream.read()
