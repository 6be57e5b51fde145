"""What members tell the leader of the group, and what it tells them: a few bytes of the group's own messages.

A member's note follows the data of the sticky protocol, whose readers ignore what follows. So workers that know no
notes are members of the same group: as long as one of them is there, the leader spreads the partitions. A note of
another version, or bytes that are none, count as no note.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_MEMBER = struct.Struct(">3sB?HHIII")  # mark, version, aside, busy, carriers, age, revision, number of loads
_LEADER = struct.Struct(">3sBHHI")  # mark, version, members, carriers, age
_MARK, _VERSION = b"spk", 1
_THOUSANDTHS = 1000.0
_UNKNOWN_SHARE, _UNKNOWN_AGE = 2**16 - 1, 2**32 - 1
MOST_LOAD = 64.0
MOST_SECONDS = (_UNKNOWN_AGE - 1) / 1000.0


@dataclass(frozen=True, slots=True)
class MemberNote:
    """What a member tells the leader; see `packed.KnownMember`.

    Parameters
    ----------
    loads
        Of its partitions, in the order in which the sticky data names them; empty if not known.
    age
        Seconds since load last changed the group's assignment; infinite if never, as far as it knows.
    aside, revision
        See `packed.KnownMember`.
    """

    busy: float | None = None
    loads: Sequence[float] = ()
    carriers: int = 0
    age: float = math.inf
    aside: bool = False
    revision: int = 0

    def written(self) -> bytes:
        """Return it as bytes. What is too large becomes the largest that can be told."""
        busy = _UNKNOWN_SHARE if self.busy is None else round(min(max(self.busy, 0.0), 1.0) * _THOUSANDTHS)
        revision = min(max(self.revision, 0), 2**32 - 1)
        figures = busy, _count(self.carriers), _age(self.age), revision, len(self.loads)
        head = _MEMBER.pack(_MARK, _VERSION, self.aside, *figures)
        loads = (min(max(0.0, load), MOST_LOAD) for load in self.loads)
        # Shares of one of thousands of partitions are tiny.
        return head + struct.pack(f">{len(self.loads)}f", *loads)


@dataclass(frozen=True, slots=True)
class LeaderNote:
    """What the leader of a packed group tells each member: how many there are, and how many have partitions."""

    members: int
    carriers: int
    age: float = math.inf

    def written(self) -> bytes:
        """Return it as bytes."""
        return _LEADER.pack(_MARK, _VERSION, _count(self.members), _count(self.carriers), _age(self.age))


def member_note(data: bytes) -> MemberNote | None:
    """Return what a member told; None if that cannot be read."""
    if len(data) < _MEMBER.size:
        return None
    mark, version, aside, busy, carriers, age, revision, count = _MEMBER.unpack_from(data)
    if (mark, version) != (_MARK, _VERSION) or len(data) < _MEMBER.size + 4 * count:
        return None
    loads: tuple[float, ...] = struct.unpack_from(f">{count}f", data, _MEMBER.size)
    if not all(0.0 <= load <= MOST_LOAD for load in loads):  # nor is it a number
        return None
    share = None if busy == _UNKNOWN_SHARE else min(busy / _THOUSANDTHS, 1.0)
    return MemberNote(share, loads, carriers, _seconds(age), aside, revision)


def leader_note(data: bytes) -> LeaderNote | None:
    """Return what the leader told; None if that cannot be read, or the group is not packed."""
    if len(data) < _LEADER.size:
        return None
    mark, version, members, carriers, age = _LEADER.unpack_from(data)
    return LeaderNote(members, carriers, _seconds(age)) if (mark, version) == (_MARK, _VERSION) else None


def _count(number: int) -> int:
    return min(max(number, 0), 2**16 - 1)


def _age(seconds: float) -> int:
    return _UNKNOWN_AGE if math.isinf(seconds) else round(min(max(seconds, 0.0), MOST_SECONDS) * 1000)


def _seconds(age: int) -> float:
    return math.inf if age == _UNKNOWN_AGE else age / 1000
