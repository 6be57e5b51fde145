"""A registered schema with all that it refers to, however a registry tells of one; every walk has bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stream_anon.ports.schema_news import MOST_SCHEMA_BYTES

UNREADABLE = "unreadable"
UNTOLD = ""
"""The kind of a schema of which the registry does not tell it, as Apicurio by its own ids."""
MOST_REFERENCES, _MOST_NESTED = 64, 8


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as a registry gives it.

    Parameters
    ----------
    kind
        AVRO, JSON, PROTOBUF, `UNTOLD`, or `UNREADABLE` for a schema that is too large, or refers to others without
        bounds.
    references
        Other schemas that it names, those that they name before them, by name.
    """

    text: str
    kind: str
    references: tuple[tuple[str, str], ...] = ()
    id: int | None = None

    @property
    def size(self) -> int:
        """Return the characters of the schema and of all that it refers to."""
        return len(self.text) + sum(len(text) for _, text in self.references)


@dataclass(frozen=True, slots=True)
class Entry:
    """A schema by itself.

    Parameters
    ----------
    references
        What it refers to: names, and places to ask for in turn. A place is empty where the registry told none.
    """

    text: str
    kind: str
    references: tuple[tuple[str, str], ...] = ()
    id: int | None = None


Ask = Callable[[str], Awaitable[Entry | None]]
"""Returns the schema at a place, or None where there is none. Raises RegistryError."""


async def with_references(place: str, ask: Ask) -> RegisteredSchema | None:
    """Return the schema at a place with all that it refers to.

    None where the registry lacks the schema or a part of it, such as a follower that is seconds behind.

    Raises
    ------
    RegistryError
        From `ask`.
    """
    found = await ask(place)
    if found is None:
        return None
    texts: dict[str, str] = {}
    try:
        await _collect(found, ask, texts, set(), 0)
    except _Boundless:
        return RegisteredSchema("", UNREADABLE)
    except _MissingReference:
        return None
    return RegisteredSchema(found.text, found.kind, tuple(texts.items()), found.id)


async def _collect(found: Entry, ask: Ask, texts: dict[str, str], seen: set[str], depth: int) -> None:
    """Add what a schema refers to, the innermost first. Raises _Boundless and _Absent."""
    for name, place in found.references:
        if place in seen:
            continue
        seen.add(place)
        if not place or depth >= _MOST_NESTED or len(seen) > MOST_REFERENCES:
            raise _Boundless
        inner = await ask(place)
        if inner is None:
            raise _MissingReference
        await _collect(inner, ask, texts, seen, depth + 1)
        texts[name] = inner.text
        if sum(map(len, texts.values())) > MOST_SCHEMA_BYTES:
            raise _Boundless


class _Boundless(Exception):  # noqa: N818 - named after what is so
    """References are too many, too deep or too large, or name no version."""


class _MissingReference(Exception):  # noqa: N818
    """The registry lacks what a schema refers to."""
