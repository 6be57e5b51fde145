"""The coordinator of consumer groups: members and generation, offsets committed and in open transactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.simulation.wire.model.codes import ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, Refused

Place = tuple[str, int]


@dataclass(slots=True)
class Group:
    """One group.

    Parameters
    ----------
    pending
        By producer id, what a transaction will commit.
    """

    generation: int = 0
    members: set[str] = field(default_factory=set)
    offsets: dict[Place, int] = field(default_factory=dict)
    pending: dict[int, dict[Place, int]] = field(default_factory=dict)

    def move(self, members: set[str]) -> None:
        """Begin a generation with these members."""
        self.members = members
        self.generation += 1

    def fence(self, generation: int, member: str) -> None:
        """Raise if a commit within a transaction is of no member, or of an older generation."""
        if generation < 0 and not member:
            return
        if not self.members and self.generation == 0:
            raise Refused(ILLEGAL_GENERATION)  # nobody has heard of this group
        if member not in self.members:
            raise Refused(UNKNOWN_MEMBER_ID)
        if generation != self.generation:
            raise Refused(ILLEGAL_GENERATION)

    def hold(self, producer: int, offsets: Mapping[Place, int]) -> None:
        """Keep offsets until the transaction of a producer ends."""
        self.pending.setdefault(producer, {}).update(offsets)

    def end(self, producer: int, *, commits: bool) -> None:
        """Commit or drop what a transaction held."""
        held = self.pending.pop(producer, {})
        if commits:
            self.offsets.update(held)

    def is_stable(self, place: Place) -> bool:
        """Whether no open transaction will change an offset."""
        return not any(place in held for held in self.pending.values())
