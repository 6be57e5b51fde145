"""What the schemas that records name say about the fields that a policy declares, and which are not known."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SCHEMA_BYTES = 4 * 1024 * 1024
"""Of a schema and all that it refers to."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A schema appeared that no record named before, and it has other fields than the policy or other schemas.

    Parameters
    ----------
    schema
        Its id, as records name it.
    readable
        Whether it could be read; if not, its records are rejected.
    lacking
        Names of declared attributes that it has no field for.
    vanished, appeared, retyped
        Those of them that the schema before had, those that it has and the schema before had not, and those whose
        type is another.
    """

    schema: str
    readable: bool = True
    lacking: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()

    @property
    def tells(self) -> bool:
        """Return whether anybody must hear of it."""
        return not self.readable or bool(self.lacking or self.appeared or self.retyped)

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the attributes concerned by the kind of the change."""
        return {
            "lacking": self.lacking,
            "vanished": self.vanished,
            "appeared": self.appeared,
            "retyped": self.retyped,
        }


@dataclass(frozen=True, slots=True)
class UnknownSchemas:
    """Records name schemas that the registry does not know, or was not asked for: they become dead letters.

    Parameters
    ----------
    schemas
        Some of their ids, as records name them.
    others
        How many more there are.
    unasked
        How many ids the registry was not asked for, because it did not know too many others; an id counts again
        whenever records are read that name it.
    """

    schemas: tuple[str, ...]
    others: int = 0
    unasked: int = 0
