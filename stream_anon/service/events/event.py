"""What all events have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from stream_anon.ports.log_lines import LogLine, Said

MOST_NAMED = 8  # places named in one line; a topic can have thousands


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a worker.

    It carries what is logged of it: an event with a `line` is logged as this line with all its fields, and one that
    is logged otherwise has `_lines` of its own.
    """

    line: ClassVar[LogLine | None] = None

    def lines(self) -> tuple[Said, ...]:
        """Return what is logged of it."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[Said]:
        if self.line is not None:
            yield self.line.said(**{field.name: getattr(self, field.name) for field in fields(self)})
