"""Records that follow one another, as columns: what all of them have in common is looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

MOST = 5_000
"""Records that are looked at together; if one of them is odd, each is looked at alone."""


class Layout:
    """The fields of records, each by the keys that lead to it.

    Parameters
    ----------
    paths
        Of all fields, none of which begins with another one.
    """

    def __init__(self, paths: Sequence[tuple[str, ...]]) -> None:
        self.paths = tuple(paths)
        below: dict[str, list[int]] = {}
        for place, path in enumerate(self.paths):
            below.setdefault(path[0], []).append(place)
        self._fields = {key: places[0] for key, places in below.items() if len(self.paths[places[0]]) == 1}
        self._objects = {
            key: (Layout([self.paths[place][1:] for place in places]), places)
            for key, places in below.items()
            if key not in self._fields
        }

    def columns(self, records: Sequence[Any]) -> list[Sequence[Any]] | None:
        """Return the values of each field; None unless every record is an object of these fields and no other."""
        if set(map(type, records)) != {dict} or set(map(len, records)) != {len(self._fields) + len(self._objects)}:
            return None
        columns: list[Sequence[Any]] = [()] * len(self.paths)
        try:
            for key, place in self._fields.items():
                columns[place] = [record[key] for record in records]
            for key, (layout, places) in self._objects.items():
                inner = layout.columns([record[key] for record in records])
                if inner is None:
                    return None
                for place, column in zip(places, inner, strict=True):
                    columns[place] = column
        except KeyError:
            return None
        return columns


class Series(Protocol):
    """Released records that follow one another."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yield what each of them says, None for one that is no object."""
        ...

    def columns(self, layout: Layout) -> list[Sequence[Any]] | None:
        """Return the values of each field; None unless every record has these fields and no other."""
        ...


@dataclass(frozen=True, slots=True)
class ReadSeries:
    """Records without any fault.

    Parameters
    ----------
    keys
        Of each record its published tuple as JSON.
    tuples
        The values of each published tuple, by its JSON, in the order of their first records.
    passed
        Of each attribute that passes the values of all records.
    """

    keys: Sequence[bytes]
    tuples: Mapping[bytes, tuple[Any, ...]]
    passed: Sequence[Sequence[Any]]


class DecodedSeries:
    """A series of decoded records."""

    def __init__(self, records: Sequence[Any]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def columns(self, layout: Layout) -> list[Sequence[Any]] | None:
        """Return the values of each field; see `Series`."""
        return layout.columns(self._records)


def in_series(records: Sequence[Any]) -> Iterator[DecodedSeries]:
    """Yield decoded records in series of up to `MOST`."""
    for start in range(0, len(records), MOST):
        yield DecodedSeries(records[start : start + MOST])
