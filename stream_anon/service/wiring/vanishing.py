"""Tell when a field that came stops coming, and when it is back: once each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stream_anon.adapters.logs import Log
from stream_anon.ports.log_lines import LogLine

# A field that few records hold is often absent from a window. It has vanished if at its former share so many of the
# records since it came last should hold it: by chance none of them does in one of 150 cases.
EXPECTED = 5.0


@dataclass(slots=True)
class _FieldHistory:
    """How often a field came until it came last, and how many records have come since."""

    records: int = 0
    held: int = 0
    since: int = 0
    gone: bool = False

    @property
    def has_vanished(self) -> bool:
        return bool(self.held) and self.since * self.held >= EXPECTED * self.records


@dataclass(frozen=True, slots=True)
class Changed:
    """Attributes that have vanished in a window, and those that are back, in order."""

    vanished: tuple[str, ...]
    back: tuple[str, ...]


class Vanishing:
    """Follows the published attributes from window to window; it sees counts and no values."""

    def __init__(self) -> None:
        self._fields: dict[str, _FieldHistory] = {}

    def follow(self, attributes: Collection[str]) -> None:
        """Follow these attributes from now on; those that may be absent from every record are left out."""
        self._fields = {name: self._fields.get(name, _FieldHistory()) for name in attributes}

    def take(self, records: int, missing: Mapping[str, int]) -> Changed:
        """Take the counts of a window; return what has changed.

        Parameters
        ----------
        records
            Released and suppressed ones: those that fit the policy.
        missing
            How many of them have no value, by attribute.
        """
        vanished, back = [], []
        for name, own in self._fields.items():
            held = records - missing.get(name, 0)
            if held:
                if own.gone:
                    back.append(name)
                own.records, own.held = own.records + own.since + records, own.held + held
                own.since, own.gone = 0, False
            else:
                own.since += records
                if own.has_vanished and not own.gone:
                    own.gone = True
                    vanished.append(name)
        return Changed(tuple(vanished), tuple(back))


def write_changed(log: Log, fields: Changed) -> None:
    """Write a line on what has vanished, and one on what is back."""
    if fields.vanished:
        log.warning(LogLine.ATTRIBUTE_VANISHED, attributes=list(fields.vanished))
    if fields.back:
        log.info(LogLine.ATTRIBUTE_BACK, attributes=list(fields.back))
