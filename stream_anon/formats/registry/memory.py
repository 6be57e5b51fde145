"""What is remembered of schemas: what reads them, which cannot be read, and which the registry does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from stream_anon.formats.registry.framing import SchemaKey
from stream_anon.formats.registry.messages import KnownMessages, MessageName, place_in
from stream_anon.formats.registry.schema_learning import UNREADABLE, LearnedMessage, LearnedSchema

_Value = TypeVar("_Value")
MOST_KEPT = 16 * 1024 * 1024
"""Characters of all schemas that are kept; of more, those that were named least lately are asked for again."""
ASKED_AGAIN = 60.0
"""Seconds until an id that is not known, or a schema that could not be read, is asked for again."""
DOUBTED = 5.0
"""Seconds between two answers after which an id counts as unknown: a registry's follower may be behind."""
_LEAST_KEPT = 2048  # characters that a small schema counts for, and each message of one
MOST_ABSENT = 10_000
"""Ids that are remembered as not known: `QuestionBudget` allows fewer than half as many within `ASKED_AGAIN`."""
MOST_FORGOTTEN = 100_000
"""Ids of schemas for which there was no room any more."""


@dataclass(slots=True)
class _Kept:
    """What is known of a schema that the registry has."""

    messages: KnownMessages | None = None  # None if it could not be read
    readers: dict[MessageName, LearnedMessage] = field(default_factory=dict)
    size: int = 0
    refused: float = 0.0  # when something of it could not be read


@dataclass(slots=True)
class _Absent:
    """An id that the registry did not know; `certain` once it counts as unknown."""

    first: float
    last: float
    certain: bool


class SchemaMemory:
    """Remembers what was learned of schemas, in bounded memory. All times are seconds of one clock."""

    def __init__(self) -> None:
        self._kept: dict[int | str, _Kept] = {}  # the one that was named least lately first
        self._absent: dict[int | str, _Absent] = {}  # the one that was asked for least lately first
        self._forgotten: dict[int | str, None] = {}
        self._size = 0
        self._in_use: Collection[int | str] = ()

    def reader(self, key: SchemaKey) -> LearnedMessage | None:
        """Return what reads a message; None if it was not learned."""
        kept = self._kept.get(key.id)
        return None if kept is None else kept.readers.get(key.message)

    def has_had(self, number: int | str) -> bool:
        """Return whether the registry has had an id, also if what reads it was forgotten."""
        return number in self._kept or number in self._forgotten

    def is_due(self, key: SchemaKey, now: float) -> bool:
        """Return whether a message is to be asked for; what could not be read is tried again after a while.

        Where a parser was at fault for want of memory or time, another try may succeed.
        """
        absent = self._absent.get(key.id)
        if absent is not None:
            return now >= absent.last + (ASKED_AGAIN if absent.certain else DOUBTED)
        kept = self._kept.get(key.id)
        if kept is None:
            return True
        if kept.messages is not None:
            if place_in(key.message, kept.messages) is None:
                return False
            learned = kept.readers.get(key.message)
            if learned is None or learned.reader is not None:
                return learned is None
        return now - kept.refused >= ASKED_AGAIN

    def take(self, keys: Sequence[SchemaKey], answer: LearnedSchema, size: int, now: float) -> LearnedSchema:
        """Keep what became known of one schema, and make room for it.

        Parameters
        ----------
        keys
            Its messages that were asked for.
        size
            Characters of the schema.

        Returns
        -------
        Answer
            What is kept: where there is no room for a schema beside those that are in use, it counts as unreadable.
        """
        number = keys[0].id
        self._absent.pop(number, None)
        self._forgotten.pop(number, None)
        kept = self._kept.pop(number, None) or _Kept()
        self._size -= kept.size
        if answer.messages is not None:
            kept.messages, kept.size = answer.messages, max(kept.size, size)
        elif kept.messages is not None:  # it was read before: what reads its other messages stays
            there = [key for key in keys if place_in(key.message, kept.messages) is not None]
            answer = LearnedSchema(kept.messages, dict.fromkeys(there, UNREADABLE))
        kept.readers |= {key.message: learned for key, learned in answer.learned.items()}
        kept.size = max(kept.size, _LEAST_KEPT * len(kept.readers))
        if not self._make_room(kept.size):
            answer = LearnedSchema(None, {SchemaKey(number): UNREADABLE})
            kept = _Kept()
        if any(learned.reader is None for learned in answer.learned.values()):
            kept.refused = now
        self._kept[number] = kept
        self._size += kept.size
        return answer

    def _make_room(self, size: int) -> bool:
        """Forget schemas that are not in use until there is room; return whether there is."""
        while self._size + size > MOST_KEPT and self._kept:
            oldest = next(iter(self._kept))
            if oldest in self._in_use:
                return False
            self._size -= self._kept.pop(oldest).size
            _put_last(self._forgotten, oldest, None, MOST_FORGOTTEN)
        return True

    def note_absent(self, number: int | str, now: float, *, certain: bool = False) -> bool:
        """Note that the registry does not know an id; return whether it counts as unknown.

        It does so after two answers that are some seconds apart, or at once if this is `certain`.
        """
        before = self._absent.pop(number, None)
        first = now if before is None else before.first
        certain = certain or (before is not None and before.certain) or now >= first + DOUBTED
        _put_last(self._absent, number, _Absent(first, now, certain), MOST_ABSENT)
        return certain

    def doubted(self, numbers: Iterable[int | str]) -> dict[int | str, float]:
        """Return the ids that the registry did not know when it was asked once, and when each is due again."""
        absent = {number: self._absent[number] for number in numbers if number in self._absent}
        return {number: each.last + DOUBTED for number, each in absent.items() if not each.certain}

    def use(self, numbers: Collection[int | str]) -> None:
        """Note that the records at hand name these schemas, which are not forgotten before the next call."""
        self._in_use = numbers
        for number in numbers:
            if number in self._kept:
                self._kept[number] = self._kept.pop(number)


def _put_last(held: dict[int | str, _Value], number: int | str, value: _Value, most: int) -> None:
    """Hold one more value, in place of the oldest if there are too many."""
    held[number] = value
    if len(held) > most:
        del held[next(iter(held))]
