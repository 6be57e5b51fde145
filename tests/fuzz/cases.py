"""What a target is given, what may go wrong, and how much it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Protocol


class Kind(StrEnum):
    """What an oracle found."""

    EXCEPTION = "an exception that is not declared"
    LOST = "a record is neither a row nor a reject, or is both"
    RANGE = "a column holds what it may not hold"
    NEIGHBOURS = "what becomes of a record depends on its neighbours"
    GARBAGE = "what becomes of a record depends on memory that nobody has written"
    REFERENCE = "a record means something else than the reference says"
    UNDECLARED = "the output is not what the policy publishes of the record"
    TIME = "it takes too long"
    TEXT = "its text is too long"
    MEMORY = "it takes too much memory"


class Fault(Exception):  # noqa: N818 - it is a result
    """An oracle failed."""

    def __init__(self, kind: Kind, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else str(kind))
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Case:
    """Records that are read together.

    Parameters
    ----------
    setting
        What they are read by, such as a schema; the target knows what it means.
    records
        None for a record without a value.
    """

    setting: bytes
    records: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading may cost.

    Parameters
    ----------
    seconds, seconds_a_record
        Of the processor, for a call and for each of its records.
    text, text_a_byte
        Bytes of the text that a record means, and those for each byte that it has.
    memory
        Bytes that the process takes at most.
    """

    seconds: float = 1.0
    seconds_a_record: float = 0.002
    text: int = 20_000
    text_a_byte: int = 128
    memory: int = 3_000_000_000


class Target(Protocol):
    """Something that reads bytes of others."""

    def draw(self, draws: Random, count: int) -> Case:
        """Return about so many records, many of them wrong."""
        ...

    def check(self, case: Case, limits: Limits) -> None:
        """Read the records and raise Fault if an oracle fails; a case is always judged alike."""
        ...
