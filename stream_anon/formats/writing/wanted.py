"""Which fields of a record are read: a tree of keys, whatever the format."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Wants:
    """What is read of an object: by key what is read under it; everything if there are no keys.

    Two of them are equal only if they are one, so that a compiler may keep what it made of each.
    """

    keys: dict[str, Wants] | None

    def below(self, key: str) -> Wanted:
        """Return what is read under a key; None for nothing."""
        return EVERYTHING if self.keys is None else self.keys.get(key)


EVERYTHING = Wants(None)
TOLD = Wants(None)
"""Everything, and a default is a value only if the record tells it; for formats that leave defaults out."""
Wanted = Wants | None


def wanted_below(paths: Iterable[tuple[str, ...]], told: Collection[tuple[str, ...]] = ()) -> Wants:
    """Return what paths of keys ask for; a path asks for all that lies under its last key.

    Parameters
    ----------
    told
        Those of the paths whose defaults are values only if a record tells them.
    """
    groups: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        if not path:
            return TOLD if () in told else EVERYTHING
        groups.setdefault(path[0], []).append(path[1:])
    return Wants(
        {key: wanted_below(rest, [path[1:] for path in told if path[:1] == (key,)]) for key, rest in groups.items()}
    )
