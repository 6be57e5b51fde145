"""Headers of a record that say what stands before its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REFUSED = 0xFF
"""The byte before a value whose headers say that it cannot be read. No frame begins with it."""


@dataclass(frozen=True, slots=True)
class HeaderPart:
    """A header whose value is put before the record's own.

    Parameters
    ----------
    least, most
        Bytes of its value; a header of another length is none that anybody wants.
    lead
        Bytes that are put before it. Of two numbers, the first and so many times the value's length as the second
        says are one byte.
    """

    name: bytes
    least: int
    most: int
    lead: tuple[tuple[int, int], ...] = ()

    def of(self, value: bytes) -> bytes:
        """Return the value behind its lead."""
        return bytes(fixed + times * len(value) for fixed, times in self.lead) + value


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """What headers put before a value. Of headers with one name, the last one counts.

    Parameters
    ----------
    parts
        In order; one counts only where those before it are there.
    refused
        Names of headers, and the only value of each with which a record can be read. Where a header has another
        value, `REFUSED` is put before the record's value, and nothing else.
    """

    parts: tuple[HeaderPart, ...] = ()
    refused: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def names(self) -> frozenset[bytes]:
        """Return the names of the headers that matter."""
        return frozenset([part.name for part in self.parts] + [name for name, _ in self.refused])

    @property
    def most(self) -> int:
        """Return how many bytes of a header's value matter; one that is longer may be cut one byte behind them."""
        return max([part.most for part in self.parts] + [len(value) for _, value in self.refused], default=0)

    def before(self, held: Mapping[bytes, bytes]) -> bytes:
        """Return what stands before a value, by the names and the values of its headers."""
        if any(held.get(name, value) != value for name, value in self.refused):
            return bytes([REFUSED])
        found = b""
        for part in self.parts:
            value = held.get(part.name)
            if value is None or not part.least <= len(value) <= part.most:
                break
            found += part.of(value)
        return found

    def value(self, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
        """Return a record's value behind what its headers put before it."""
        if value is None or not self.parts:
            return value
        return self.before({name.encode(): held or b"" for name, held in headers}) + value


NO_HEADERS = HeaderRule()
